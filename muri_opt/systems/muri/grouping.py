"""Rounds of matching and merging until the groups fit the GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, pairwise

import numpy as np

from muri_opt.algorithms.matching import Matching, match_each, match_types, max_weight_matching
from muri_opt.rounds import Job
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.muri.excess import Excess, PartExcess, TotalExcess
from muri_opt.systems.muri.group_locations import GroupLocations
from muri_opt.systems.muri.interleaving import slot_count
from muri_opt.systems.muri.options import PAPER, GroupingOptions
from muri_opt.systems.muri.pair_weights import (
    PAIR_WEIGHTS,
    PARTS_PER_BILLION,
    sizes_of,
    stages_of,
    weights_in_blocks,
)
from muri_opt.systems.muri.periods import Group, stage_times

MANY, ALIKE = 300, 8
"""So many groups, so many of a type on average, are matched type by type, which is faster from there on."""
MOST_EXACT, BLOCK = 1000, 48
"""More groups than this that are not mostly alike are matched in blocks of so many."""
MATCHINGS = 256
"""Matchings that are kept, as many as two rounds ask for: each holds the stage times of all its groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketMatching:
    """One matching of one round: GPUs per job, groups that were matched, pairs found and their efficiency in all.

    >>> group_jobs(shipped_round("toy/eight-stages").jobs, 2).rounds[0]
    (BucketMatching(gpus=1, nodes=8, pairs=4, weight=1.732142857),)
    """

    gpus: int
    nodes: int
    pairs: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """Groups of job positions, bucket by bucket, and the matchings of every round that led to them.

    >>> group_jobs(shipped_round("toy/eight-stages").jobs, 2).groups
    ((0, 4, 1, 6), (3, 5, 2, 7))
    """

    groups: tuple[Group, ...]
    rounds: tuple[tuple[BucketMatching, ...], ...]

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)


def group_jobs(
    jobs: Sequence[Job],
    gpus: int,
    options: GroupingOptions = PAPER,
    locations: GroupLocations | None = None,
    start: Sequence[Group] = (),
    stages: Ints | None = None,
) -> Grouping:
    """Return the groups of jobs, given in queue order, whose GPUs together fit ``gpus`` if merging can reach that.

    Jobs of equal GPU count form a bucket. Each round matches the groups of every bucket by the efficiency of their
    union and merges matched pairs while the groups ask for more GPUs than there are. There are at most
    ``largest_group`` rounds, and always one. No group has more jobs than its pattern has slots. ``locations`` says
    where jobs may be, ``None`` if anywhere: between groups that could be nowhere together there is no edge, and those
    are merged that have to be in a part of the cluster of which too much is asked. Groups of the ``start`` are there
    before the first round, instead of their jobs one by one. ``stages`` are the stage times of the jobs in
    microseconds, a row each, where they are known.

    >>> group_jobs(shipped_round("toy/eight-stages").jobs, 4).groups
    ((0, 4), (3, 5), (1, 6), (2, 7))
    """
    if not jobs:
        return Grouping(groups=(), rounds=())
    stages = stage_times(jobs) if stages is None else stages
    slots = slot_count(options.pattern, stages.shape[1])
    stages = options.ways.with_models(stages, options.ways.numbers(jobs))
    options = replace(options, largest_group=min(options.largest_group, slots))
    sizes = [job.gpus for job in jobs]
    excess: Excess = TotalExcess(sizes, gpus) if locations is None else PartExcess(sizes, locations)
    buckets: dict[int, list[Group]] = {}
    first = {group[0]: group for group in start}
    inside = {job for group in start for job in group[1:]}
    for position, job in enumerate(jobs):
        if position not in inside:
            buckets.setdefault(job.gpus, []).append(first.get(position, (position,)))
    for group in first.values():
        for size in range(1, len(group)):
            excess.merge(group[:size], group[size : size + 1], jobs[group[0]].gpus)
    if not options.matching:
        return Grouping(groups=tuple(_in_queue_order(buckets, excess, options.largest_group, locations)), rounds=())
    rounds = []
    for _ in range(options.largest_group):
        look_at_clock()
        found = {
            size: _match(
                _times_of(stages, groups),
                stages.shape[1],
                options,
                None if locations is None else _apart(groups, size, locations),
            )
            for size, groups in buckets.items()
        }
        rounds.append(tuple(_record(size, buckets[size], found[size]) for size in buckets))
        _merge(buckets, found, excess, options.merge_order)
        if not excess.left():
            break
    return Grouping(groups=tuple(chain.from_iterable(buckets.values())), rounds=tuple(rounds))


def _times_of(stages: Ints, groups: Sequence[Group]) -> tuple[bytes, ...]:
    """Return the stage times of each group, job after job."""
    every = np.fromiter(chain.from_iterable(groups), dtype=np.int64)
    times, width = stages[every].tobytes(), stages.shape[1] * stages.itemsize
    ends = [*accumulate(map(len, groups), initial=0)]
    return tuple(times[start * width : end * width] for start, end in pairwise(ends))


@dataclass(frozen=True, slots=True)
class _Apart:
    """Which groups of a bucket may be merged: group v is of place ``of[v]``, and ``may[p][q]`` says if two may."""

    of: tuple[int, ...]
    may: tuple[tuple[bool, ...], ...]

    def edges(self, weights: Ints, of: Sequence[int]) -> Ints:
        """Return the weights of groups of these places, with no edge between those that may not be merged."""
        return np.where(np.array(self.may, dtype=np.bool_)[np.ix_(of, of)], weights, 0)


def _apart(groups: Sequence[Group], gpus: int, locations: GroupLocations) -> _Apart:
    """Return which groups of so many GPUs can be somewhere together."""
    kinds = [locations.kinds(group) for group in groups]
    places = {kind: at for at, kind in enumerate(dict.fromkeys(kinds))}
    may = locations.pairs([*places], gpus)
    return _Apart(tuple(places[kind] for kind in kinds), tuple(map(tuple, may.tolist())))


@lru_cache(maxsize=MATCHINGS)
def _match(
    members: tuple[bytes, ...], stages: int, options: GroupingOptions, apart: _Apart | None = None
) -> tuple[Ints, Ints]:
    """Return the partner of each group (-1: none) and the efficiency of the union, in parts per billion.

    ``members`` are the stage times of each group. From one round to the next most buckets are as they were, so answers
    are kept. Of many groups that are mostly alike only their types are matched, and of more than can be matched at once
    those of one block after another.
    """
    places = (0,) * len(members) if apart is None else apart.of
    looks = tuple(zip(members, places, strict=True))
    types = list(dict.fromkeys(looks))
    many = len(members) >= MANY and len(types) * ALIKE <= len(members)
    if not many and len(members) > MOST_EXACT:
        return _matched_in_blocks(members, stages, options, apart)
    times, at = zip(*(types if many else looks), strict=True)
    weights = PAIR_WEIGHTS.of(times, stages, options)
    if apart is not None:
        weights = apart.edges(weights, at)
    if many:
        place = {look: kind for kind, look in enumerate(types)}
        of = np.array([place[look] for look in looks])
        mate = _mates_by_type(of, match_types(weights, np.bincount(of)).pairs(len(types)))
        return mate, np.where(mate >= 0, weights[of, of[mate]], 0)
    np.fill_diagonal(weights, 0)
    mate = _first_of_equals(looks, max_weight_matching(weights))
    return mate, _of_pairs(weights, mate)


def _matched_in_blocks(
    members: Sequence[bytes], stages: int, options: GroupingOptions, apart: _Apart | None
) -> tuple[Ints, Ints]:
    """Return the same of groups that are matched block by block.

    Groups share well if they take about as long: they are sorted by where they may be, by size and by their time, and
    a block has those next to each other.
    """
    mate, weight = np.full(len(members), -1, dtype=np.int64), np.zeros(len(members), dtype=np.int64)
    line = _by_time(members, stages, apart)
    blocks = [np.sort(line[start : start + BLOCK]) for start in range(0, len(line), BLOCK)]
    edges = weights_in_blocks(members, blocks, stages, options)
    if apart is not None:
        edges = [apart.edges(one, [apart.of[place] for place in some]) for one, some in zip(edges, blocks, strict=True)]
    for some, one, matching in zip(blocks, edges, match_each(edges), strict=True):
        look_at_clock()
        looks = [(members[place], 0 if apart is None else apart.of[place]) for place in some.tolist()]
        found = _first_of_equals(looks, matching)
        mate[some], weight[some] = np.where(found >= 0, some[found], -1), _of_pairs(one, found)
    return mate, weight


def _by_time(members: Sequence[bytes], stages: int, apart: _Apart | None) -> Ints:
    """Return groups sorted by place, size and the time of all their stages."""
    sizes = sizes_of(members, stages)
    place = np.zeros(len(sizes), dtype=np.int64) if apart is None else np.array(apart.of, dtype=np.int64)
    time = np.add.reduceat(stages_of(members, stages).sum(axis=1), np.cumsum(sizes) - sizes)
    return np.lexsort((time, sizes, place))


def _mates_by_type(of: Ints, pairs: Ints) -> Ints:
    """Return the partner of each group, given the number of pairs of each two types; of equals the first have one."""
    waiting = [iter(np.flatnonzero(of == kind).tolist()) for kind in range(len(pairs))]
    mate = np.full(len(of), -1, dtype=np.int64)
    for s, t in np.argwhere(np.triu(pairs)).tolist():
        for _ in range(int(pairs[s, t])):
            u, v = next(waiting[s]), next(waiting[t])
            mate[u], mate[v] = v, u
    return mate


def _of_pairs(weights: Ints, mate: Ints) -> Ints:
    """Return the weight of the pair of each group, 0 for one without a partner."""
    return np.where(mate >= 0, weights[np.arange(len(mate)), mate], 0)


def _first_of_equals(looks: Sequence[tuple[bytes, int]], matching: Matching) -> Ints:
    """Return the partners of a matching in which no group stays alone while an equal one after it is matched."""
    mate = matching.mate.copy()
    for alone in np.flatnonzero(mate < 0).tolist():
        later = [v for v in range(alone + 1, len(mate)) if mate[v] >= 0 and looks[v] == looks[alone]]
        if later:
            partner = mate[later[-1]]
            mate[[alone, partner, later[-1]]] = partner, alone, -1
    return mate


def _record(size: int, groups: list[Group], found: tuple[Ints, Ints]) -> BucketMatching:
    mate, efficiency = found
    pairs = int(np.count_nonzero(mate >= 0)) // 2
    return BucketMatching(
        gpus=size, nodes=len(groups), pairs=pairs, weight=int(efficiency.sum()) / 2 / PARTS_PER_BILLION
    )


def _merge(buckets: dict[int, list[Group]], found: dict[int, tuple[Ints, Ints]], excess: Excess, order: str) -> None:
    """Merge matched pairs while GPUs are asked for beyond what there is."""
    pairs = [(size, int(u), v) for size, (mate, _) in found.items() for v, u in enumerate(mate.tolist()) if 0 <= u < v]
    if order == "least-waste":
        pairs.sort(key=lambda pair: (PARTS_PER_BILLION - int(found[pair[0]][1][pair[2]])) * pair[0])
    merged: dict[int, dict[int, int]] = {size: {} for size in buckets}
    for size, u, v in pairs:
        first, second = buckets[size][u], buckets[size][v]
        if excess.asks(first, second, size):
            merged[size][v] = u
            excess.merge(first, second, size)
    for size, groups in buckets.items():
        taken = set(merged[size].values())
        buckets[size] = [
            groups[merged[size][v]] + group if v in merged[size] else group
            for v, group in enumerate(groups)
            if v not in taken
        ]


def _in_queue_order(
    buckets: dict[int, list[Group]], excess: Excess, largest: int, locations: GroupLocations | None
) -> Iterator[Group]:
    """Yield groups of neighbours in the queue, each member added while too many GPUs are asked for, where it may be."""
    for size, singles in buckets.items():
        for start in range(0, len(singles), largest):
            group: Group = ()
            for single in singles[start : start + largest]:
                apart = locations is not None and not locations.of(locations.kinds(group + single), size)
                if group and (apart or not excess.asks(group, single, size)):
                    yield group
                    group = ()
                if group:
                    excess.merge(group, single, size)
                group += single
            yield group
