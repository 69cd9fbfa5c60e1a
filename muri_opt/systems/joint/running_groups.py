"""Who shares GPUs now: a round says where jobs run, and not with whom."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.systems.joint.offers import Offers

Group = tuple[int, ...]


def running_groups(round_: Round, offers: Offers) -> dict[Group, int]:
    """Return running jobs in groups with their GPUs, such that all can go on where they are; none where they cannot.

    Jobs that fit side by side do not share. Where they do not, jobs of one placement are put together, first those
    that lose least by it for each GPU that it frees, until all fit.
    """
    groups: dict[Group, int] = {(job,): int(offers.held[job]) for job in np.flatnonzero(offers.place >= 0).tolist()}
    if not all(
        gpus < offers.rate.shape[1] and offers.rate[offers.kind[job], gpus] for (job, *_), gpus in groups.items()
    ):
        return {}
    over = _over(round_, groups)
    while over:
        merged = _cheapest(round_, offers, groups, over)
        if merged is None:
            return {}
        first, second = merged
        gpus = groups.pop(first)
        del groups[second]
        groups[tuple(sorted(first + second))] = gpus
        over = _over(round_, groups)
    return groups


def _over(round_: Round, groups: dict[Group, int]) -> set[str]:
    """Return the nodes that are too small for the groups side by side."""
    left = {node.id: node.gpus for node in round_.cluster.nodes}
    for group in groups:
        for node, gpus in (round_.jobs[group[0]].placement or {}).items():
            left[node] -= gpus
    return {node for node, gpus in left.items() if gpus < 0}


def _cheapest(round_: Round, offers: Offers, groups: dict[Group, int], over: set[str]) -> tuple[Group, Group] | None:
    """Return two groups of one place on such a node that lose least, for each GPU, by being one."""
    places: dict[int, list[Group]] = {}
    for group in groups:
        if over & set(round_.jobs[group[0]].placement or {}) and offers.shares[list(group)].all():
            places.setdefault(int(offers.place[group[0]]), []).append(group)
    pairs = [
        (first, second)
        for there in places.values()
        for first, second in combinations(there, 2)
        if len(first) + len(second) <= offers.most_jobs
    ]
    if not pairs:
        return None
    losses = [
        (
            _value(offers, first, groups[first])
            + _value(offers, second, groups[first])
            - _value(offers, tuple(sorted(first + second)), groups[first])
        )
        / groups[first]
        for first, second in pairs
    ]
    return pairs[int(np.argmin(losses))]


def _value(offers: Offers, group: Group, gpus: int) -> float:
    worth = offers.alone(np.array(group)) if len(group) == 1 else offers.groups(np.array([group]))
    return float(worth[0, gpus])
