"""The groups that run, as far as a round tells: which jobs share GPUs is known by placement only.

Jobs of one placement are grouped anew, in as many groups as there may be: those that the published algorithm would make
come first, and the others are paired by efficiency. The same jobs at the same placement are thus always read alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from itertools import combinations
from typing import NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.node_places import Places, asks_of_jobs
from muri_opt.systems.muri.periods import Group
from muri_opt.systems.muri.running_now import RunningNow

Efficiency = Callable[[Ints], Ints]
"""From groups of one size, a row of jobs each, to how well they share."""


class _Part(NamedTuple):
    """Jobs of one placement that are to be in so many groups."""

    placement: int
    groups: list[Group]
    number: int


def running_groups(
    round_: Round,
    now: RunningNow,
    among: AbstractSet[int],
    line: Sequence[int],
    first: Iterable[Group],
    largest: int,
    efficiency: Efficiency,
) -> dict[Group, Places]:
    """Return groups of the running jobs ``among`` all, with their GPUs of nodes.

    ``line`` are these jobs, or more, in the order of the queue, and the groups ``first`` are read as such where they
    may be. Only jobs with the GPUs they ask for are in a group, and only groups that may be those that run, of
    ``largest`` jobs at most.
    """
    members, made = _members(round_, now, among, line), _made(now, among, first)
    left = [node.gpus for node in round_.cluster.nodes]
    fewest = {at: min(now.most[at], -(-len(jobs) // largest)) for at, jobs in members.items()}
    for placement, number in fewest.items():
        _take(left, now.places[placement], number)
    found, parts = list[tuple[Group, int]](), list[_Part]()
    for placement, jobs in members.items():
        places, number = now.places[placement], fewest[placement]
        more = min(len(jobs), now.most[placement]) - number
        if more > 0:  # as many more as there are GPUs left for
            more = max(0, min([more, *[left[node] // gpus for node, gpus in places]]))
            _take(left, places, more)
            number += more
        rest = dict.fromkeys(jobs)
        for group in made.get(placement, ()):
            after = len(rest) - len(group)
            if -(-after // largest) <= number - 1 <= after and rest.keys() >= set(group):
                found.append((group, placement))
                number -= 1
                for job in group:
                    del rest[job]
        if rest:
            parts.append(_Part(placement, [(job,) for job in rest], number))
    rank = {job: turn for turn, job in enumerate(line)}
    found += _paired(parts, largest, efficiency, rank)
    return {
        group: now.places[placement]
        for group, placement in found
        if now.least[placement] <= len(group) <= min(largest, now.largest[placement])
    }


def _members(round_: Round, now: RunningNow, among: AbstractSet[int], line: Sequence[int]) -> dict[int, list[int]]:
    """Return by placement the jobs that have there the GPUs they ask for, in the order of the queue."""
    found: dict[int, list[int]] = {}
    of, gpus, asks = now.of, now.gpus, asks_of_jobs(round_.amounts)
    for job in line:
        placement = of[job]
        if placement >= 0 and job in among and asks[job] == gpus[placement]:
            found.setdefault(placement, []).append(job)
    return found


def _made(now: RunningNow, among: AbstractSet[int], groups: Iterable[Group]) -> dict[int, list[Group]]:
    """Return by placement the groups of which all jobs run there."""
    found: dict[int, list[Group]] = {}
    of = now.of
    for group in groups:
        placement = of[group[0]]
        if placement < 0 or group[0] not in among:
            continue
        if len(group) == 1 or all(of[job] == placement and job in among for job in group):
            found.setdefault(placement, []).append(group)
    return found


def _take(left: list[int], places: Places, number: int) -> None:
    """Take the GPUs of so many groups from what nodes have left."""
    for node, gpus in places:
        left[node] -= number * gpus


def _paired(
    parts: Sequence[_Part], largest: int, efficiency: Efficiency, rank: Mapping[int, int]
) -> list[tuple[Group, int]]:
    """Return the groups of each part: pairs of the best efficiency first, and unions of these where they are too many.

    What is left alone, and the order of equals, follows the queue.
    """
    found = [(group, part.placement) for part in parts if len(part.groups) <= part.number for group in part.groups]
    parts = [part for part in parts if len(part.groups) > part.number]
    for least in (2, 3):  # two jobs, or a pair with others
        unions = [_unions(part.groups, least, largest, rank) for part in parts]
        weights = _weighed([group for some in unions for group in some], efficiency)
        start = 0
        for place, (part, some) in enumerate(zip(parts, unions, strict=True)):
            end = start + len(some)
            enough = part.number if largest == 3 else len(part.groups)  # so that each pair can have a third job
            parts[place] = _merged(part, some, weights[start:end], rank, enough if least == 2 else len(part.groups))
            start = end
    return [*found, *((group, part.placement) for part in parts for group in part.groups)]


def _unions(groups: Sequence[Group], least: int, largest: int, rank: Mapping[int, int]) -> list[Group]:
    """Return the unions of two groups that have at least and at most so many jobs, each in the order of the queue."""
    if least == 2 <= largest and all(len(group) == 1 for group in groups):  # in the order of the queue already
        return [*combinations([job for (job,) in groups], 2)]
    both = ((one, other) for at, one in enumerate(groups) for other in groups[at + 1 :])
    fits = (one + other for one, other in both if least <= len(one) + len(other) <= largest)
    return [tuple(sorted(union, key=rank.__getitem__)) for union in fits]


def _weighed(groups: Sequence[Group], efficiency: Efficiency) -> list[int]:
    weights = [0] * len(groups)
    for size in sorted(set(map(len, groups))):
        at = [place for place, group in enumerate(groups) if len(group) == size]
        found = efficiency(np.array([groups[place] for place in at])).tolist()
        for place, weight in zip(at, found, strict=True):
            weights[place] = weight
    return weights


def _merged(
    part: _Part, unions: Sequence[Group], weights: Sequence[int], rank: Mapping[int, int], enough: int
) -> _Part:
    """Return the part with the best disjoint unions in place of their groups, as many as it must be fewer."""
    spent, made = set[int](), list[Group]()
    most = min(len(part.groups) - part.number, enough)
    for place in sorted(range(len(unions)), key=lambda place: -weights[place]):
        if len(made) == most:
            break
        if spent.isdisjoint(unions[place]):
            made.append(unions[place])
            spent.update(unions[place])
    rest = (group for group in part.groups if spent.isdisjoint(group))
    groups = sorted((*made, *rest), key=lambda group: rank[group[0]])
    return part._replace(groups=groups)
