"""For each field of format 2 a small round that uses it and no other."""

from msgspec.structs import replace

from muri_opt.rounds import Cluster, Job, Node, NodeRange, Plan, Round, Tenant, Together, Within
from muri_opt.rounds.round import ROUND_FORMATS
from muri_opt.rounds.used_fields import FIELDS

NODES = (Node(id="n0", gpus=4, rack="r0"), Node(id="n1", gpus=4, rack="r1"))
TENANTS = (Tenant(id="t0", quota_gpus=8), Tenant(id="t1", quota_gpus=8))
KNOWN = {"remaining_iterations": 100, "iteration_seconds": 1.0, "attained_gpu_seconds": 0.0, "restart_seconds": 5.0}
JOBS = (
    Job(id="a", gpus=4, tenant="t0", state="running", placement={"n0": 4}, submitted=1.0, **KNOWN),
    Job(id="b", gpus=2, tenant="t1", submitted=2.0, **KNOWN),
    Job(id="c", gpus=4, tenant="t1", submitted=3.0, **KNOWN),
)
PLAIN = Round(name="plain", now=10.0, cluster=Cluster(nodes=NODES, tenants=TENANTS), jobs=JOBS)

NODE_VALUES = {"labels": ("nvlink",), "state": "drain", "available_until": 100.0}
TENANT_VALUES = {
    "parent": "t0",
    "weight": 2.0,
    "quota_by_type": {"a100": 4},
    "borrow_gpus": 4,
    "lend_gpus": 4,
    "used_gpu_seconds": 3600.0,
}
JOB_VALUES = {
    "priority": 5,
    "gpu_types": ("a100",),
    "nodes": NodeRange(least=1, most=1),
    "even": True,
    "requires": ("nvlink",),
    "excludes": ("spot",),
    "within": Within(level="rack"),
    "preemptible": False,
    "movable": False,
    "held": "asked",
    "not_before": 50.0,
    "deadline": 90.0,
    "time_limit_seconds": 60.0,
    "model": "bert",
}


def with_field(field: str, round_: Round = PLAIN) -> Round:
    """Return the round with one field of format 2 beside what it has; the last node, tenant or job says it."""
    kind, _, name = field.partition(".")
    cluster = round_.cluster
    if field == "cluster.levels":
        nodes = tuple(replace(node, levels={"block": "b0"}) for node in cluster.nodes)
        return replace(round_, cluster=replace(cluster, levels=("block", "rack"), nodes=nodes))
    if field == "node.gpu_type":
        nodes = tuple(replace(node, gpu_type=f"type-{place}") for place, node in enumerate(cluster.nodes))
        return replace(round_, format=ROUND_FORMATS[1], cluster=replace(cluster, nodes=nodes))
    if field == "round.together":
        return replace(round_, together=(Together(models=("bert", "gpt2"), rates=(0.8, 0.9)),))
    if field == "plan.gpu_types":
        plans = (Plan(name="dp4", gpus=4, throughput=1.0, gpu_types=("a100", "h100")),)
        return replace(round_, jobs=(*round_.jobs[:-1], replace(round_.jobs[-1], plans=plans)))
    if field == "plan.nodes":
        one, *_ = round_.jobs[-1].plans or (Plan(name="dp4", gpus=4, throughput=1.0),)
        plans = (replace(one, nodes=3),)
        return replace(round_, jobs=(*round_.jobs[:-1], replace(round_.jobs[-1], plans=plans)))
    if kind == "job":
        return replace(round_, jobs=(*round_.jobs[:-1], replace(round_.jobs[-1], **{name: JOB_VALUES[name]})))
    if kind == "node":
        nodes = (*cluster.nodes[:-1], replace(cluster.nodes[-1], **{name: NODE_VALUES[name]}))
        return replace(round_, cluster=replace(cluster, nodes=nodes))
    tenants = (*cluster.tenants[:-1], replace(cluster.tenants[-1], **{name: TENANT_VALUES[name]}))
    return replace(round_, cluster=replace(cluster, tenants=tenants))


ROUNDS = {field: with_field(field) for field in FIELDS}
