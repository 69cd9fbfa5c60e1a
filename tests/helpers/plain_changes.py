"""What changes cost, and the cheapest of all decisions of the best value: the words of the definition, tried out."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from asked_brute_force import asked_decisions
from msgspec.structs import replace

from muri_opt import Decision, Job, Round

RESTARTS = (None, 0.0, 0.5, 10.0, 10.0, 30.0, 60.0)


def with_restarts(round_: Round, seed: int) -> Round:
    """Return the round with restarts that the seed draws; some jobs do not say how long theirs takes."""
    draw = Random(f"restarts/{seed}")
    jobs = tuple(replace(job, restart_seconds=draw.choice(RESTARTS)) for job in round_.jobs)
    return replace(round_, jobs=jobs)


def plain_cost(round_: Round, places: Mapping[str, Mapping[str, int]]) -> int:
    """Return what it costs that jobs have these GPUs per node, and the others none, in GPU-microseconds."""
    return sum(
        _cost(job) for job in round_.jobs if job.state == "running" and dict(job.placement or {}) != places.get(job.id)
    )


def places_of(decision: Decision) -> dict[str, dict[str, int]]:
    """Return the GPUs per node of every job that runs."""
    return {job: dict(one.gpus) for one in decision.assignments for job in one.jobs}


def cheapest(round_: Round, order: str, **settings: bool) -> tuple[int, int, int]:
    """Return the best value of all decisions, the least cost of changes of those, and the fewest nodes of those."""
    names = [node.id for node in round_.cluster.nodes]
    ranks = []
    for value, runs in asked_decisions(round_, order, **settings):
        places = {
            job: {name: gpus for name, gpus in zip(names, split, strict=True) if gpus} for job, split in runs.items()
        }
        nodes = sum(map(len, places.values()))
        ranks.append((-value, plain_cost(round_, places), nodes))
    value, cost, nodes = min(ranks)
    return -value, cost, nodes


def _cost(job: Job) -> int:
    seconds = job.restart_seconds or 0.0
    return max(1, round(seconds * 1_000_000)) * sum((job.placement or {}).values())
