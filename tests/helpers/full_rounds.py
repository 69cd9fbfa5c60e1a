"""Rounds with any of the fields of the format, of any legal value: for tests of files and schema."""

from hypothesis import strategies as st
from running_states import settled

from muri_opt.rounds import Cluster, Guarantee, Job, Node, Plan, Round, Tenant
from muri_opt.rounds.quantities import MAX_CPUS, MAX_GPUS, MAX_ITERATIONS, MAX_MEMORY_GIB, MAX_RATE, MAX_SECONDS

text = st.text(max_size=8)
name = st.text(min_size=1, max_size=8)
seconds = st.floats(0, MAX_SECONDS) | st.integers(0, 2 * 10**15).map(lambda microseconds: microseconds / 10**6)
rates = st.floats(0, MAX_RATE, exclude_min=True)
shares = st.integers(1, MAX_GPUS)
RESOURCES = st.lists(text, max_size=4).map(tuple)

NODE_FIELDS = {
    "gpus": st.integers(0, MAX_GPUS),
    "cpus": st.none() | st.floats(0, MAX_CPUS),
    "memory_gib": st.none() | st.floats(0, MAX_MEMORY_GIB),
    "rack": st.none() | text,
    "gpu_type": st.none() | text,
}
TENANT_FIELDS = {"quota_gpus": st.none() | st.integers(0, MAX_GPUS)}
PLAN_FIELDS = {
    "name": name,
    "gpu_type": st.none() | text,
    "cpus": st.none() | st.floats(0, MAX_CPUS),
    "memory_gib": st.none() | st.floats(0, MAX_MEMORY_GIB),
    "throughput": rates,
}


@st.composite
def plans(draw):
    nodes, each = draw(st.integers(1, 1000)), draw(st.integers(1, 1000))
    return Plan(gpus=nodes * each, nodes=nodes, **draw(st.fixed_dictionaries(PLAN_FIELDS)))


# Fields of a job that no other part of the round limits.
JOB_FIELDS = {
    "user": st.none() | text,
    "gpus": st.integers(0, MAX_GPUS),
    "cpus": st.none() | st.floats(0, MAX_CPUS),
    "memory_gib": st.none() | st.floats(0, MAX_MEMORY_GIB),
    "state": st.sampled_from(["waiting", "running"]),
    "remaining_iterations": st.none() | st.integers(0, MAX_ITERATIONS),
    "restarts": st.none() | st.integers(0, 10**9),
    "scaling": st.none()
    | st.dictionaries(shares, rates, min_size=1, max_size=3).map(lambda t: dict(sorted(t.items()))),
    "guarantee": st.none() | rates.map(lambda rate: Guarantee(throughput=rate)),
    "predictable": st.none() | st.booleans(),
    **{
        field: st.none() | seconds
        for field in (
            "submitted",
            "iteration_seconds",
            "attained_gpu_seconds",
            "executed_seconds",
            "waiting_seconds",
            "restart_seconds",
        )
    },
}


def job_fields(cluster, resources):
    """Return the strategy of every field of a job but its id, in a round with this cluster and these resources."""
    tenants = [tenant.id for tenant in cluster.tenants]
    nodes = {node.id: st.integers(1, node.gpus) for node in cluster.nodes if node.gpus}
    stages = st.tuples(*[seconds for _ in resources])
    return {
        **JOB_FIELDS,
        "tenant": st.sampled_from([None, *tenants]) if tenants else st.none() | text,
        "stage_seconds": st.none() | stages,
        "placement": st.none() | st.fixed_dictionaries({}, optional=nodes),
        "plans": st.none() | st.lists(plans(), max_size=2).map(tuple),
        "plan": st.none(),
    }


@st.composite
def full_rounds(draw):
    node_ids = draw(st.lists(name, max_size=3, unique=True))
    tenant_ids = draw(st.lists(name, max_size=2, unique=True))
    cluster = Cluster(
        nodes=[Node(id=i, **draw(st.fixed_dictionaries(NODE_FIELDS))) for i in node_ids],
        tenants=[Tenant(id=i, **draw(st.fixed_dictionaries(TENANT_FIELDS))) for i in tenant_ids],
    )
    resources = draw(RESOURCES)
    jobs = []
    for job_id in draw(st.lists(name, max_size=3, unique=True)):
        fields = draw(st.fixed_dictionaries(job_fields(cluster, resources)))
        fields["plan"] = draw(st.sampled_from([None, *(plan.name for plan in fields["plans"] or ())]))
        jobs.append(Job(id=job_id, **fields))
    return Round(name=draw(text), now=draw(seconds), resources=resources, cluster=cluster, jobs=settled(cluster, jobs))
