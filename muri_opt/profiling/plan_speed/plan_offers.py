"""Placed plans with their throughput: what a job can be offered, without what no round needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from muri_opt.errors import unknown_name
from muri_opt.profiling.plan_speed.enumeration import PlacedPlan, enumerate_plans
from muri_opt.profiling.plan_speed.performance import PerformanceModel
from muri_opt.rounds import Cluster, Plan


class Offer(NamedTuple):
    """A placed plan and its throughput in samples a second."""

    placed: PlacedPlan
    throughput: float


def offers(performance: PerformanceModel, placed: Iterable[PlacedPlan]) -> tuple[Offer, ...]:
    """Return the placed plans with their throughput, in the same order."""
    found = []
    for item in placed:
        shape = performance.shape(item.nodes, item.gpus_per_node, item.cpus_per_gpu)
        found.append(Offer(item, performance.throughput(item.plan, shape)))
    return tuple(found)


def without_dominated(given: Iterable[Offer]) -> tuple[Offer, ...]:
    """Return the offers without those that are dominated, smallest demand first.

    One offer dominates another if it runs on some of the other's nodes within the GPUs, CPUs and memory the other has
    on each, and is not slower. Whatever nodes host the dominated one host the other too, so in any placement of any
    round it can take its place: the best throughput for every amount of resources is unchanged. Of equals one is kept.
    """
    # A dominating offer comes first in this order, and dominance is transitive: looking at those kept is enough.
    ordered = sorted(given, key=lambda offer: (_demand(offer.placed), -offer.throughput, offer.placed.name))
    kept: list[Offer] = []
    for offer in ordered:
        demand = _demand(offer.placed)
        if not any(o.throughput >= offer.throughput and _within(_demand(o.placed), demand) for o in kept):
            kept.append(offer)
    return tuple(kept)


def best_within(
    given: Iterable[Offer], *, nodes: int, gpus_per_node: int, cpus_per_node: float, memory_gib_per_node: float
) -> Offer | None:
    """Return the fastest offer that runs on ``nodes`` nodes with these amounts on each, or ``None``.

    Of equally fast ones it is the one with the smallest demand.
    """
    amounts = (nodes, gpus_per_node, cpus_per_node, memory_gib_per_node)
    fitting = [offer for offer in given if _within(_demand(offer.placed), amounts)]
    return min(fitting, key=lambda o: (-o.throughput, _demand(o.placed), o.placed.name), default=None)


def job_plans(
    performance: PerformanceModel,
    cluster: Cluster,
    *,
    gpu_memory_gib: float,
    gpu_type: str | None = None,
    keep: Iterable[str] = (),
) -> tuple[Plan, ...]:
    """Return the plans of a job that trains the model on the cluster, as a round holds them.

    Dominated plans are left out, but for those named in ``keep``: what a job runs with now, or was promised. A model
    that fits no plan is refused, and so are links that do not say a bandwidth some plan needs.
    """
    every = offers(
        performance, enumerate_plans(performance.model, cluster, gpu_memory_gib=gpu_memory_gib, gpu_type=gpu_type)
    )
    names = {offer.placed.name: offer for offer in every}
    for name in keep:
        if name not in names:
            raise unknown_name("keep", name, names)
    chosen = {offer.placed.name: offer for offer in without_dominated(every)}
    return as_plans({**chosen, **{name: names[name] for name in keep}}.values(), gpu_type=gpu_type)


def as_plans(given: Iterable[Offer], *, gpu_type: str | None = None) -> tuple[Plan, ...]:
    """Return offers as a round holds them: totals over nodes, and throughput in samples a second."""
    return tuple(
        Plan(
            name=item.name,
            gpus=item.plan.gpus,
            nodes=item.nodes,
            gpu_type=gpu_type,
            cpus=item.cpus_per_node * item.nodes,
            memory_gib=item.memory_gib_per_node * item.nodes,
            throughput=throughput,
        )
        for item, throughput in given
    )


def _demand(placed: PlacedPlan) -> tuple[int, int, int, float]:
    return placed.nodes, placed.gpus_per_node, placed.cpus_per_node, placed.memory_gib_per_node


def _within(small: tuple[float, ...], large: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(small, large, strict=True))
