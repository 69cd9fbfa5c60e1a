"""Rounds with any of the fields of both formats, of any legal value: for tests of files and schema."""

from hypothesis import strategies as st
from msgspec.structs import replace
from running_states import settled

from muri_opt.rounds import Cluster, Guarantee, Job, Node, NodeRange, Plan, Round, Tenant, Together, Within
from muri_opt.rounds.job_demands import MAX_PRIORITY
from muri_opt.rounds.quantities import MAX_CPUS, MAX_GPUS, MAX_ITERATIONS, MAX_MEMORY_GIB, MAX_RATE, MAX_SECONDS
from muri_opt.rounds.round import ROUND_FORMATS

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
    "labels": st.just(()) | st.lists(name, max_size=3),
    "state": st.sampled_from(["up", "up", "drain", "down"]),
    "available_until": st.none() | seconds,
}
TENANT_FIELDS = {
    "quota_gpus": st.none() | st.integers(0, MAX_GPUS),
    "weight": st.just(1.0) | rates,
    "quota_by_type": st.none() | st.dictionaries(name, st.integers(0, MAX_GPUS), max_size=2),
    "used_gpu_seconds": st.none() | seconds,
}
LOANS = {field: st.none() | st.integers(0, MAX_GPUS) for field in ("borrow_gpus", "lend_gpus")}
LABELS = st.lists(name, max_size=2)
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
    said = draw(st.fixed_dictionaries(PLAN_FIELDS))
    if said["gpu_type"] is None:
        said["gpu_types"] = draw(st.none() | st.lists(name, min_size=1, max_size=2))
    return Plan(gpus=nodes * each, nodes=nodes, **said)


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
            "not_before",
            "time_limit_seconds",
        )
    },
    "priority": st.just(0) | st.integers(-MAX_PRIORITY, MAX_PRIORITY),
    "gpu_types": st.none() | st.lists(name, min_size=1, max_size=2),
    "even": st.booleans(),
    "nodes": st.none() | st.builds(NodeRange, most=st.none() | shares),
    "requires": LABELS.map(lambda labels: ["has " + label for label in labels]),
    "excludes": LABELS.map(lambda labels: ["no " + label for label in labels]),
    "held": st.none() | text,
    "model": st.none() | text,
    "movable": st.none() | st.booleans(),
    "preemptible": st.none() | st.booleans(),
}


def job_fields(cluster, resources, now):
    """Return the strategy of every field of a job but its id, in a round with this cluster and these resources."""
    levels = st.sampled_from(cluster.level_names) if cluster.level_names else st.nothing()
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
        "within": st.none() | st.builds(Within, level=levels, required=st.booleans()),
        "deadline": st.none() | st.floats(0.0, MAX_SECONDS) | st.floats(now, MAX_SECONDS),
    }


@st.composite
def units(draw, levels, nodes):
    """Return the units of so many nodes: all of the first, and all or none of each other, each inside a wider one."""
    named = [position == 0 or draw(st.booleans()) for position in range(nodes)]
    widths = range(len(levels) - 1, -1, -1)
    every = [
        {level: f"{level}{at >> width}" for level, width in zip(levels, widths, strict=True)} for at in range(nodes)
    ]
    return [one if named[at] else {} for at, one in enumerate(every)]


@st.composite
def tenants(draw, ids):
    """Return tenants of these ids, some below an earlier one, those with a quota with loans."""
    found = []
    for position, tenant_id in enumerate(ids):
        fields = draw(st.fixed_dictionaries(TENANT_FIELDS))
        if fields["quota_gpus"] is not None:
            fields |= draw(st.fixed_dictionaries(LOANS))
        parent = draw(st.sampled_from([None, *ids[:position]]))
        found.append(Tenant(id=tenant_id, parent=parent, **fields))
    return draw(st.permutations(found))


@st.composite
def shaped(draw, job):
    """Return the job on at least and at most so many nodes as can hold its GPUs."""
    counts = NodeRange(most=min(max(job.gpus, 1), 100)).counts(max(job.gpus, 1), even=job.even)
    count = draw(st.sampled_from(counts))
    least, most = draw(st.integers(1, count)), draw(st.none() | st.integers(count, MAX_GPUS))
    return replace(job, nodes=NodeRange(least=least, most=most))


def lost(cluster, job):
    """Return the job as one that may be stopped, if it is on a node that is down."""
    down = {node.id for node in cluster.nodes if node.state == "down"}
    return replace(job, preemptible=None) if down & set(job.placement or ()) else job


@st.composite
def full_rounds(draw):
    node_ids = draw(st.lists(name, max_size=3, unique=True))
    tenant_ids = draw(st.lists(name, max_size=2, unique=True))
    levels = draw(st.lists(name, max_size=2, unique=True)) if node_ids else []
    rows = [draw(st.fixed_dictionaries(NODE_FIELDS)) for _ in node_ids]
    if levels:
        for row, unit in zip(rows, draw(units(levels, len(rows))), strict=True):
            row |= {"levels": unit, "rack": None}
    cluster = Cluster(
        levels=levels,
        nodes=[Node(id=i, **row) for i, row in zip(node_ids, rows, strict=True)],
        tenants=draw(tenants(tenant_ids)),
    )
    resources = draw(RESOURCES)
    now = draw(seconds)
    models = st.lists(name, min_size=2, max_size=3)
    measured = draw(st.lists(models, max_size=2, unique_by=lambda group: tuple(sorted(group))))
    jobs = []
    for job_id in draw(st.lists(name, max_size=3, unique=True)):
        fields = draw(st.fixed_dictionaries(job_fields(cluster, resources, now)))
        fields["plan"] = draw(st.sampled_from([None, *(plan.name for plan in fields["plans"] or ())]))
        job = lost(cluster, Job(id=job_id, **fields))
        jobs.append(draw(shaped(job)) if draw(st.booleans()) else job)
    return Round(
        name=draw(text),
        now=now,
        resources=resources,
        cluster=cluster,
        jobs=settled(cluster, jobs),
        together=[Together(models=group, rates=[draw(rates) for _ in group]) for group in measured],
        format=draw(st.sampled_from(ROUND_FORMATS)),
    )
