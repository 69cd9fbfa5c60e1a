"""All the ways to train a model on a cluster that divide evenly and fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.node_capacity import Room
from muri_opt.profiling.plan_speed.number_checks import within
from muri_opt.profiling.plan_speed.plan_memory import memory
from muri_opt.profiling.plan_speed.transformer import Model
from muri_opt.rounds import Cluster

CPU_LEVELS: Final = (1, 2, 4, 8, 16)
"""CPU threads with each GPU that an offloading plan may use; all other plans take the first."""
_MOST_GPU_GIB: Final = 100_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPlan:
    """A plan with what it takes on each of ``nodes`` distinct nodes: GPUs, CPUs and host memory."""

    plan: ExecutionPlan
    nodes: int
    gpus_per_node: int
    cpus_per_gpu: int
    memory_gib_per_node: float

    @property
    def cpus_per_node(self) -> int:
        """CPU threads on each node."""
        return self.gpus_per_node * self.cpus_per_gpu

    @property
    def name(self) -> str:
        """A name that tells placed plans of one model apart: ``offload-dp2@1x2c4`` is 1 node, 2 GPUs, 4 CPUs each."""
        return f"{self.plan.name}@{self.nodes}x{self.gpus_per_node}c{self.cpus_per_gpu}"


def enumerate_plans(
    model: Model, cluster: Cluster, *, gpu_memory_gib: float, gpu_type: str | None = None
) -> tuple[PlacedPlan, ...]:
    """Return every plan that fits, on every even split over nodes; a model that fits no plan is refused.

    Tensor parallelism stays inside a node. Degrees divide heads, layers and the batch evenly. Of a cluster whose nodes
    differ a shape needs enough nodes that are large enough. With ``gpu_type`` only nodes of that type count.
    """
    limit = within("gpu_memory_gib", gpu_memory_gib, 0.0, _MOST_GPU_GIB)
    room = Room.of(cluster, gpu_type)
    if not room.gpus:
        kind = "" if gpu_type is None else f" of type {gpu_type!r}"
        raise InputError("cluster.nodes", f"no GPU{kind}", f"a node with GPUs{kind}")
    lean: list[tuple[float, str]] = []
    short: dict[str, list[PlacedPlan]] = {"memory_gib": [], "cpus": []}
    found: list[PlacedPlan] = []
    for plan in _plans(model, room):
        need = memory(model, plan)
        if need.gpu_gib > limit:
            lean.append((need.gpu_gib, plan.name))
            continue
        for placed in _placed(plan, room, need.host_gib):
            lacks = room.lacks(placed.nodes, placed.gpus_per_node, placed.cpus_per_node, placed.memory_gib_per_node)
            (found if lacks is None else short[lacks]).append(placed)
    if not found:
        raise _first_limit(model, limit, lean, short)
    return tuple(found)


def _plans(model: Model, room: Room) -> Iterator[ExecutionPlan]:
    """Yield the plans whose degrees divide the model, in the order of their degrees."""
    for tp in _divisors(model.heads, room.widest):
        for pp in _divisors(model.layers, room.gpus // tp):
            for dp in _divisors(model.batch, room.gpus // (tp * pp)):
                states = ("replicated",) if tp * pp > 1 else ("replicated", "zero", "offload")
                for state in states:
                    if state == "zero" and dp == 1:  # nothing to split: the replicated plan under another name
                        continue
                    for steps in _divisors(model.batch // dp, model.batch):
                        for again in (False, True):
                            yield ExecutionPlan(
                                gpus=tp * pp * dp,
                                pp=pp,
                                tp=tp,
                                dp=dp,
                                states=state,
                                accumulation=steps,
                                checkpointing=again,
                            )


def _placed(plan: ExecutionPlan, room: Room, host_gib: float) -> Iterator[PlacedPlan]:
    """Yield the plan on every even split over nodes, with every number of CPUs that is of use to it."""
    for width in _divisors(plan.gpus, room.widest):
        nodes = plan.gpus // width
        if width % plan.tp or nodes > room.nodes_with(width):
            continue
        for cpus in CPU_LEVELS if plan.states == "offload" else CPU_LEVELS[:1]:
            yield PlacedPlan(
                plan=plan, nodes=nodes, gpus_per_node=width, cpus_per_gpu=cpus, memory_gib_per_node=host_gib * width
            )


def _divisors(number: int, most: int) -> list[int]:
    return [d for d in range(1, min(number, most) + 1) if number % d == 0]


def _first_limit(
    model: Model, limit: float, lean: list[tuple[float, str]], short: dict[str, list[PlacedPlan]]
) -> InputError:
    """Return the error that names the first limit no plan gets past: GPU memory, then host memory, then CPUs."""
    if short["cpus"]:
        placed = min(short["cpus"], key=lambda p: (p.cpus_per_node, p.nodes, p.name))
        need = f"at least {placed.cpus_per_node} beside {placed.memory_gib_per_node:.1f} GiB"
        return _too_little("cpus", f"too few for any plan of {model.name}", need, placed)
    if short["memory_gib"]:
        placed = min(short["memory_gib"], key=lambda p: (p.memory_gib_per_node, p.nodes, p.name))
        found = f"too little for any plan of {model.name} that fits its GPUs"
        return _too_little("memory_gib", found, f"at least {placed.memory_gib_per_node:.1f} GiB", placed)
    least, name = min(lean)
    return InputError(
        "gpu_memory_gib",
        f"{limit:g}, where the leanest plan of {model.name}, {name}, needs {least:.1f}",
        f"at least {least:.1f} GiB on each GPU, or GPUs enough to split the model further",
    )


def _too_little(field: str, found: str, need: str, placed: PlacedPlan) -> InputError:
    where = "a node" if placed.nodes == 1 else f"{placed.nodes} nodes"
    return InputError(f"cluster.nodes.{field}", found, f"{need} on {where}, for {placed.plan.name}")
