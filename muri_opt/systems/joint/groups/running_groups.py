"""Who shares GPUs now: a round says where jobs run, and not with whom.

Jobs of one placement are taken to be in as many groups as find GPUs on their nodes, and those to share for whom that is
worth most. Groups so found go on as they are, by the reading of :mod:`muri_opt.rounds.sharing_now`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import chain, combinations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import Held, Home, SharingNow
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.job_model import Floats

Group = tuple[int, ...]
Partition = tuple[Group, ...]
_MOST_PARTITIONS = 400
"""Ways to divide the jobs of a placement that are all looked at."""
_MOST_JOBS = 9
_EXCHANGES = 3
"""How often each member of a group is given out anew."""


def running_groups(round_: Round, offers: Offers, now: SharingNow) -> dict[Group, Held]:
    """Return running jobs in groups with their GPUs, such that all can go on where they are.

    Jobs that cannot run with the GPUs they hold are left out; so are all where they do not find room in groups of at
    most ``offers.most_jobs``.
    """
    homes = _able(offers, [home for home in now.homes if home.held])
    divided = _Divided(offers, homes)
    counts = _group_counts(round_, divided)
    if counts is None:
        return {}
    divided.look_at([(place, count) for place, count in enumerate(counts) if count > 1])
    return {
        group: home.held
        for place, (home, count) in enumerate(zip(homes, counts, strict=True))
        for group in divided.groups(place, count)
    }


def _able(offers: Offers, homes: list[Home]) -> list[Home]:
    """Return the placements of which all jobs can run with the GPUs they hold."""
    if not homes:
        return []
    gpus = np.array([sum([gpus for _, gpus in home.held]) for home in homes], dtype=np.int64)
    sizes = np.array([len(home.jobs) for home in homes], dtype=np.int64)
    jobs = np.fromiter(chain.from_iterable([home.jobs for home in homes]), dtype=np.int64, count=int(sizes.sum()))
    runs = offers.rate[offers.kind[jobs], np.repeat(offers.position(gpus), sizes)] > 0
    able = np.logical_and.reduceat(runs, np.cumsum(sizes) - sizes)
    return [home for home, well in zip(homes, able.tolist(), strict=True) if well]


def _group_counts(round_: Round, divided: _Divided) -> list[int] | None:
    """Return in how many groups the jobs of each placement are; ``None`` where there is no room for all.

    One more goes where it adds most for a GPU, as long as there is room.
    """
    homes, counts = divided.homes, divided.fewest.copy()
    left = {node.id: node.gpus for node in round_.cluster.nodes}
    for home, count in zip(homes, counts, strict=True):
        for node, gpus in home.held:
            left[node] -= count * gpus
    if min(left.values(), default=0) < 0:
        return None
    most = [
        _room(left, home, len(home.jobs) - count) if len(home.jobs) > count else 0
        for home, count in zip(homes, counts, strict=True)
    ]
    wanted = Counter(node for home, more in zip(homes, most, strict=True) if more for node, _ in home.held)
    shared = [
        place for place, home in enumerate(homes) if most[place] and max(wanted[node] for node, _ in home.held) > 1
    ]
    divided.look_at([(place, counts[place] + more) for place in shared for more in range(most[place] + 1)])
    line = [(-divided.gain(place, counts[place]), place) for place in shared]
    for place in set(range(len(homes))).difference(shared):
        counts[place] += most[place]
    heapify(line)
    while line:
        _, place = heappop(line)
        home = homes[place]
        if _room(left, home, 1):
            for node, gpus in home.held:
                left[node] -= gpus
            counts[place] += 1
            if counts[place] < divided.fewest[place] + most[place]:
                heappush(line, (-divided.gain(place, counts[place]), place))
    return counts


def _room(left: Mapping[str, int], home: Home, most: int) -> int:
    """Return how many more groups, ``most`` at most, find GPUs."""
    return max(0, min(most, *(left[node] // gpus for node, gpus in home.held if gpus)))


class _Divided:
    """The jobs of placements in groups, as is worth most for each number of groups."""

    def __init__(self, offers: Offers, homes: list[Home]) -> None:
        self._offers, self.homes = offers, homes
        self.fewest = [-(-len(home.jobs) // min(home.largest, offers.most_jobs)) for home in homes]
        self._gpus = [sum(gpus for _, gpus in home.held) for home in homes]
        self._known: dict[tuple[int, int], tuple[float, Partition]] = {}

    def groups(self, place: int, count: int) -> Partition:
        """Return the jobs of a placement in so many groups."""
        return (self.homes[place].jobs,) if count == 1 else self._known[place, count][1]

    def gain(self, place: int, count: int) -> float:
        """Return what one group more adds for each of its GPUs."""
        return (self._known[place, count + 1][0] - self._known[place, count][0]) / self._gpus[place]

    def look_at(self, asked: list[tuple[int, int]]) -> None:
        """Learn the best way to divide placements, each into so many groups: alike ones together."""
        alike: dict[tuple[int, int], list[int]] = {}
        for place, count in asked:
            if (place, count) in self._known:
                continue
            alike.setdefault((len(self.homes[place].jobs), count), []).append(place)
        for (_, count), places in alike.items():
            members = np.array([self.homes[place].jobs for place in places])
            at = self._offers.position(np.array([self._gpus[place] for place in places]))
            value, ways = _divide(self._offers, members, at, count)
            for row, place in enumerate(places):
                self._known[place, count] = float(value[row]), ways[row]


def _divide(offers: Offers, members: Ints, at: Ints, count: int) -> tuple[Floats, list[Partition]]:
    """Return the jobs of each row in so many groups on the GPUs at such places among the counts, with their value."""
    jobs = members.shape[1]
    ways = partitions(jobs, count, offers.most_jobs) if jobs <= _MOST_JOBS else ()
    if not ways:
        return _exchanged(offers, members, at, count)
    parts, index = _parts_of(jobs, count, offers.most_jobs)
    worth = np.empty((len(members), len(parts)))
    for size in {len(part) for part in parts}:
        places = [place for place, part in enumerate(parts) if len(part) == size]
        groups = members[:, [parts[place] for place in places]].reshape(-1, size)
        worth[:, places] = offers.groups_on(groups, np.repeat(at, len(places))).reshape(len(members), -1)
    total = worth[:, index].sum(axis=2)
    best = total.argmax(axis=1)
    rows = members.tolist()
    named = [
        tuple(tuple(row[job] for job in part) for part in ways[way])
        for row, way in zip(rows, best.tolist(), strict=True)
    ]
    return total.max(axis=1), named


@lru_cache(maxsize=256)
def _parts_of(jobs: int, count: int, most: int) -> tuple[list[Group], Ints]:
    """Return all groups of the ways to divide so many jobs, and ``[w, i]``, the place of the i-th group of way w."""
    ways = partitions(jobs, count, most)
    parts = sorted({part for way in ways for part in way})
    place = {part: at for at, part in enumerate(parts)}
    return parts, np.array([[place[part] for part in way] for way in ways])


@lru_cache(maxsize=256)
def partitions(jobs: int, groups: int, most: int) -> tuple[Partition, ...]:
    """Return all ways to divide so many jobs into groups of at most so many; none where there are very many.

    >>> partitions(3, 2, 3)
    (((0,), (1, 2)), ((0, 1), (2,)), ((0, 2), (1,)))
    """
    found: list[Partition] = []
    for way in _divided(tuple(range(jobs)), groups, most):
        found.append(way)
        if len(found) > _MOST_PARTITIONS:
            return ()
    return tuple(found)


def _divided(jobs: Group, groups: int, most: int) -> Iterator[Partition]:
    if not groups:
        if not jobs:
            yield ()
        return
    if not groups <= len(jobs) <= groups * most:
        return
    first, *rest = jobs
    for size in range(min(most, len(jobs))):
        for others in combinations(rest, size):
            taken = (first, *others)
            for way in _divided(tuple(job for job in rest if job not in others), groups - 1, most):
                yield taken, *way


def _exchanged(offers: Offers, members: Ints, at: Ints, count: int) -> tuple[Floats, list[Partition]]:
    """Return the jobs of each row in so many groups of nearly one size, with their value.

    Those of similar periods begin together; then one of each group is taken out, and all those are given out anew as is
    worth most, again and again.
    """
    from scipy.optimize import linear_sum_assignment

    slow_first = np.argsort(offers.rate[offers.kind[members], at[:, None]], axis=1, kind="stable")
    line = np.take_along_axis(members, slow_first, axis=1)
    size, larger = divmod(members.shape[1], count)
    cut = larger * (size + 1)
    parts = [line[:, :cut].reshape(len(line), larger, size + 1), line[:, cut:].reshape(len(line), count - larger, size)]
    parts = [part for part in parts if part.size]
    total = np.zeros(len(line))
    for turn in range(_EXCHANGES * parts[0].shape[2]):
        out = np.concatenate([part[:, :, turn % part.shape[2]] for part in parts], axis=1)
        cores = [np.delete(part, turn % part.shape[2], axis=2) for part in parts]
        worth = np.concatenate([_with(offers, core, out, at) for core in cores], axis=1)
        for row, own in enumerate(worth):
            group, job = linear_sum_assignment(own, maximize=True)
            total[row] = own[group, job].sum()
            out[row] = out[row, job]
        first = np.cumsum([0, *(part.shape[1] for part in parts)])
        parts = [
            np.concatenate([core, out[:, begin : begin + core.shape[1], None]], axis=2)
            for core, begin in zip(cores, first, strict=False)
        ]
    rows = [[group for part in parts for group in part[row].tolist()] for row in range(len(line))]
    return total, [tuple(tuple(sorted(group)) for group in row) for row in rows]


def _with(offers: Offers, cores: Ints, others: Ints, at: Ints) -> Floats:
    """Return ``[row, c, o]``, what each group and each other job of a row are worth together on the GPUs of the row."""
    if cores.shape[2]:
        return offers.joined(cores, others, np.broadcast_to(at[:, None, None], (*cores.shape[:2], 1)))[:, :, 0]
    alone = np.take_along_axis(offers.alone(others), at[:, None, None], axis=2)[..., 0]
    return np.broadcast_to(alone[:, None, :], (*cores.shape[:2], others.shape[1]))
