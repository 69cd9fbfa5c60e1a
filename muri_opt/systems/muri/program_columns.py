"""The groups of the chapter *grouping*: multisets of equal jobs, with their values.

Columns x_S of the set packing program in the chapter *grouping*: instead of Muri's rounds of pairwise matching (SIGCOMM
2022), every group is enumerated once per multiset of types, n_St and e_S being ``entries`` and ``value``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.muri.group_spots import GroupSpots, Spot, group_spots
from muri_opt.systems.muri.group_values import GroupRules, Members, after_restart, class_values
from muri_opt.systems.muri.group_worth import restarts_of
from muri_opt.systems.muri.interleaving import slot_count
from muri_opt.systems.muri.job_weights import job_weights, times_alone
from muri_opt.systems.muri.priority_classes import class_ranges, class_weights
from muri_opt.systems.muri.program_classes import ClassColumns
from muri_opt.systems.muri.program_homes import HomeColumns
from muri_opt.systems.priority_levels import levels_of

MOST_COLUMNS = 400_000
"""Groups beyond which the program is refused: more of them do not fit a solver's time or memory."""
MOST_FOR_CHANGES = 2_000
"""Groups up to which changes are counted after the value, too."""
_TRAITS = 11  # columns of the table of types before the stage times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupColumns:
    """Types of equal jobs, and every group of up to p of them.

    Two jobs are of one type if they have the same GPUs, stage times, CPUs, memory, tenant and priority, may be on the
    same nodes, lose the same by a change, are of the same model where that was measured, and agree in whatever else the
    objective looks at. ``groups[i]`` are the types of group i in ascending order, filled up with -1; ``gpus[i]`` are
    the GPUs it takes, those of its largest job. ``g`` are the GPUs of each type, ``restart`` what a change costs it.
    ``value`` is what a group is worth to the first class of priority, and ``lower`` what it is to the others;
    ``weights`` says how often each class counts.

    Where jobs ask for certain nodes, a group is there once for each of the ``spots`` where it may be: ``spot[i]``. The
    last groups are those that go on as they are: group i at ``home[i]`` of ``homes``, which is -1 for all others.
    """

    type_of: Ints
    count: Ints
    stages: Ints
    g: Ints
    c: Ints
    m: Ints
    tenant: Ints
    groups: Ints
    gpus: Ints
    value: Ints
    lower: tuple[Ints, ...]
    weights: tuple[int, ...]
    spot: Ints
    spots: tuple[Spot, ...]
    home: Ints
    homes: HomeColumns
    restart: Ints

    @classmethod
    def of(cls, round_: Round, rules: GroupRules) -> GroupColumns:
        """Return types and groups of a round, from the last call if it was the same."""
        return _columns(round_, rules)

    @property
    def classes(self) -> ClassColumns:
        """What groups are worth to all classes, of no more groups than there are jobs.

        Of equal values the one that changes the least counts: as a last class, which adds nothing to the value. A
        program that is so large that its columns have to be priced has one objective only.
        """
        values, weights = (self.value, *self.lower), self.weights
        if len(self.homes.home) and len(self.value) <= MOST_FOR_CHANGES:
            cost = np.zeros_like(self.value)
            cost[self.home >= 0] = self.homes.costs(self.restart)
            values, weights = (*values, cost), (*weights, 0)
        return ClassColumns(values=values, weights=weights, most=len(self.type_of))

    @property
    def most(self) -> Ints:
        """How often each group can run at most."""
        group, kind, times = self.entries
        result = np.full(len(self.groups), np.iinfo(np.int64).max)
        np.minimum.at(result, group, self.jobs_of(group, kind) // times)
        return result

    def jobs_of(self, group: Ints, kind: Ints) -> Ints:
        """Return how many jobs of a type there are for a group: all, or those that run where the group goes on."""
        if not len(self.homes.home):
            return self.count[kind]
        home = self.home[group]
        return np.where(home >= 0, self.homes.inside[kind, home], self.count[kind])

    @property
    def entries(self) -> tuple[Ints, Ints, Ints]:
        """Group, type and number of jobs of that type in it, one row per pair of group and type."""
        group = np.repeat(np.arange(len(self.groups)), self.groups.shape[1])
        kind = self.groups.ravel()
        used = kind >= 0
        key, times = np.unique(group[used] * len(self.count) + kind[used], return_counts=True)
        return key // max(1, len(self.count)), key % max(1, len(self.count)), times.astype(np.int64)

    def members(self, group: int) -> tuple[int, ...]:
        """Return the types of a group, as often as they occur."""
        return tuple(kind for kind in self.groups[group].tolist() if kind >= 0)


@last_recalled
def _columns(round_: Round, rules: GroupRules) -> GroupColumns:
    rules = rules.for_round(round_)
    kinds, type_of, count = np.unique(_traits(round_, rules), axis=0, return_inverse=True, return_counts=True)
    g, c, m, tenant, _, alone, weight, priority, place, restart, model = kinds[:, :_TRAITS].T
    stages = np.ascontiguousarray(kinds[:, _TRAITS:])
    largest = min(rules.largest_group, slot_count(rules.pattern, len(round_.resources)))
    able = np.where(g <= round_.cluster.total_gpus, count, 0)  # a job larger than the cluster is in no group
    spots = group_spots(round_)
    bucket = g if rules.sizes == "equal" else np.zeros_like(g)
    groups = _all_groups(bucket if spots is None else _apart(bucket, spots.parts[place]), able, largest)
    gpus = np.where(groups >= 0, g[groups], 0).max(axis=1, initial=0) if len(g) else np.zeros(0, dtype=np.int64)
    spot, where = np.zeros(len(groups), dtype=np.int64), tuple[Spot, ...]()
    if spots is not None:
        chosen, spot, where = _at_spots(groups, gpus, place, spots)
        groups, gpus = groups[chosen], gpus[chosen]
    homes = HomeColumns.none(round_, len(g), largest)
    if rules.horizon is not None and any(job.state == "running" for job in round_.jobs):
        homes = HomeColumns.of(round_, type_of.ravel(), g, largest, _all_groups, mixed=rules.sizes == "mixed")
        told = {one: homes.spot(one) for one in np.unique(homes.home).tolist()}
        where = tuple(dict.fromkeys((*where, *told.values()))) if spots is not None else where
        number = {one: where.index(spot) if spots is not None else 0 for one, spot in told.items()}
        spot = np.append(spot, np.array([number[one] for one in homes.home.tolist()], dtype=np.int64))
        gpus = np.append(gpus, homes.shares.sum(axis=1)[homes.home])
        groups = np.concatenate([groups, homes.groups])
        _check_number(len(groups), "groups, some of them where they run now")
    home = np.append(np.full(len(groups) - len(homes.home), -1), homes.home)
    ranges = [0]
    if priority.any():  # the range of the only class does not matter
        members = Members(stages=stages[:, None], alone=alone[:, None], gpus=g[:, None], weight=weight[:, None])
        jobs = type_of.ravel()
        ranges = class_ranges(rules, members.of(jobs), priority[jobs], round_.cluster.total_gpus)
    values = np.zeros((len(ranges), len(groups)), dtype=np.int64)
    sizes = (groups >= 0).sum(axis=1)
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        of = groups[at, :size]
        these = Members(stages=stages[of], alone=alone[of], gpus=g[of], weight=weight[of], models=model[of])
        values[:, at] = class_values(rules, these, priority[of], len(ranges))
        if rules.horizon is not None:
            lost = np.where(home[at] >= 0, 0, restart[of].max(axis=1))
            values[:, at] = after_restart(values[:, at], lost, rules.horizon)
    return GroupColumns(
        type_of=type_of.ravel(),
        count=count.astype(np.int64),
        stages=stages,
        g=g,
        c=c,
        m=m,
        tenant=tenant,
        groups=groups,
        gpus=gpus,
        value=values[0],
        lower=tuple(values[1:]),
        weights=tuple(class_weights(ranges)),
        spot=spot,
        spots=where,
        home=home,
        homes=homes,
        restart=restart,
    )


def most_groups(round_: Round, rules: GroupRules) -> int:
    """Return how many groups there are at most if every job is different."""
    sizes = Counter(job.gpus if rules.sizes == "equal" else 0 for job in round_.jobs)
    return _number(sizes, round_, rules)


def refuse_too_many(round_: Round, rules: GroupRules) -> None:
    """Refuse a round of which as many groups as there are could not be listed, from a count of different jobs alone."""
    if group_spots(round_) is not None:  # not all may share
        return
    different = {(job.gpus, job.stage_seconds) for job in round_.jobs}
    kinds = Counter(gpus if rules.sizes == "equal" else 0 for gpus, _ in different)
    what = f"groups of {max(kinds.values(), default=0)} types of jobs that may share"
    _check_number(_number(kinds, round_, rules), what)


def _number(kinds: Counter[int], round_: Round, rules: GroupRules) -> int:
    """Return how many groups there are of so many types of each GPU count."""
    largest = min(rules.largest_group, slot_count(rules.pattern, len(round_.resources)))
    return sum(comb(number + size - 1, size) for number in kinds.values() for size in range(1, largest + 1))


def _check_number(groups: int, what: str) -> None:
    """Refuse a program of too many groups."""
    if groups > MOST_COLUMNS:
        allowed = f"at most {MOST_COLUMNS:,}; take smaller groups, or the heuristic"
        raise RefusalError("grouping", f"{groups:,} {what}", allowed)


def _apart(bucket: Ints, part: Ints) -> Ints:
    """Return buckets of types that may share: equal ones, in one part of the cluster."""
    return np.unique(np.column_stack([bucket, part]), axis=0, return_inverse=True)[1].reshape(-1)


def _at_spots(groups: Ints, gpus: Ints, place: Ints, spots: GroupSpots) -> tuple[Ints, Ints, tuple[Spot, ...]]:
    """Return, for each group and spot where it may be, which group and which of all the spots."""
    looks = np.column_stack([np.sort(np.where(groups >= 0, place[groups], -1), axis=1), gpus])
    combinations, of = np.unique(looks, axis=0, return_inverse=True)
    known: dict[Spot, int] = {}
    found = []
    for *kinds, size in combinations.tolist():
        here = spots.of(frozenset(kind for kind in kinds if kind >= 0), size)
        found.append([known.setdefault(spot, len(known)) for spot in here])
    numbers = np.array([len(some) for some in found], dtype=np.int64)[of.reshape(-1)]
    _check_number(int(numbers.sum()), "groups on nodes where they may be")
    flat = [spot for combination in of.reshape(-1).tolist() for spot in found[combination]]
    return np.repeat(np.arange(len(groups)), numbers), np.array(flat, dtype=np.int64), tuple(known)


def _traits(round_: Round, rules: GroupRules) -> Ints:
    """Return what makes jobs equal, a row per job: what they ask, what the objective looks at, their stage times."""
    amounts, jobs = round_.amounts, np.arange(len(round_.jobs))
    same = np.zeros_like(jobs)
    weight = job_weights(round_, rules.objective, rules.order)
    alone = times_alone(round_, rules.objective)
    stages = np.array([_stages(job) for job in round_.jobs], dtype=np.int64)
    position = jobs if rules.distinct else same
    spots = group_spots(round_)
    place = same if spots is None else spots.kind
    restart = same if rules.horizon is None else restarts_of(round_)
    asked = [amounts.g, amounts.c, amounts.m, amounts.tenant, position, alone, weight, levels_of(round_), place]
    asked += [restart, rules.ways.numbers(round_.jobs)]
    return np.column_stack([*asked, stages.reshape(len(jobs), len(round_.resources))])


def _stages(job: Job) -> list[int]:
    return [microseconds(seconds) for seconds in job.stage_seconds or ()]


def _all_groups(bucket_of: Ints, count: Ints, largest: int) -> Ints:
    """Return all multisets of up to ``largest`` types of one bucket, none more often than it has jobs."""
    buckets = [np.flatnonzero(bucket_of == bucket) for bucket in np.unique(bucket_of)]
    total = sum(comb(len(bucket) + size - 1, size) for bucket in buckets for size in range(1, largest + 1))
    _check_number(total, f"groups of {max(map(len, buckets), default=0)} types of jobs that may share")
    parts = [np.zeros((0, largest), dtype=np.int64)]
    for bucket in buckets:
        for size in range(1, largest + 1):
            number = comb(len(bucket) + size - 1, size)
            flat = (kind for group in combinations_with_replacement(range(len(bucket)), size) for kind in group)
            chosen = bucket[np.fromiter(flat, dtype=np.int64, count=number * size).reshape(number, size)]
            used = (chosen[:, :, None] == chosen[:, None, :]).sum(axis=2)
            chosen = chosen[(used <= count[chosen]).all(axis=1)]
            parts.append(np.pad(chosen, ((0, 0), (0, largest - size)), constant_values=-1))
    return np.concatenate(parts)
