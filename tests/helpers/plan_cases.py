"""Models, clusters and coefficients that several tests of plans use."""

from muri_opt.profiling.plan_speed import (
    COEFFICIENTS,
    Coefficients,
    ExecutionPlan,
    Links,
    Model,
    PerformanceModel,
    Shape,
)
from muri_opt.rounds import Cluster, Node

LLAMA = Model(name="llama-2-7b", parameters=6_738_423_808, layers=32, heads=32, hidden=4096, sequence=2048, batch=16)
SMALL = Model(name="small", parameters=350_000_000, layers=24, heads=16, hidden=1024, sequence=512, batch=8)
LINKS = Links(intra_gb_s=100.0, inter_gb_s=10.0, host_gb_s=8.0)
USUAL = (2.0, 1.7, 0.05, 3.0, 10.0, 1.5, 1.4)


def coefficients(values=USUAL, **changes):
    return Coefficients(**(dict(zip(COEFFICIENTS, values, strict=True)) | changes))


def data_plan(gpus, states="replicated", **fields):
    return ExecutionPlan(gpus=gpus, dp=gpus, states=states, **fields)


def grid_plan(pp, tp, dp, **fields):
    return ExecutionPlan(gpus=pp * tp * dp, pp=pp, tp=tp, dp=dp, **fields)


def shape(gpus_per_node, nodes=1, cpus_per_gpu=1.0, links=LINKS):
    return Shape(nodes=nodes, gpus_per_node=gpus_per_node, cpus_per_gpu=cpus_per_gpu, links=links)


def cluster(*nodes):
    """A cluster of (gpus, cpus, memory_gib) nodes."""
    return Cluster(nodes=tuple(Node(id=f"n{i}", gpus=g, cpus=c, memory_gib=m) for i, (g, c, m) in enumerate(nodes)))


def performance(model=SMALL, **fields):
    given = {"links": LINKS, "coefficients": coefficients(), "forward_ms": {1: 400.0}}
    return PerformanceModel(model=model, **(given | fields))
