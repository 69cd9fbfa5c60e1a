"""The groups of the chapter *grouping*: multisets of equal jobs, with their values.

Columns x_S of the set packing program in the chapter *grouping*: instead of Muri's rounds of pairwise matching (SIGCOMM
2022), every group is enumerated once per multiset of types, n_St and e_S being ``entries`` and ``value``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.muri.group_locations import GroupLocations, Location, group_locations
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.interleaving import slot_count
from muri_opt.systems.muri.program_types import MOST_COLUMNS, GroupTypes, all_groups, check_number
from muri_opt.systems.priority_digits import PriorityDigits

MOST_FOR_CHANGES = 2_000
"""Groups up to which changes are counted after the value, too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupColumns:
    """The groups of up to p jobs that a program chooses from.

    ``groups[i]`` are the types of group i in ascending order, filled up with -1; ``gpus[i]`` are the GPUs it takes,
    those of its largest job. ``value`` is what a group is worth to the first class of priority, and ``lower`` what it
    is to the others.

    Where jobs ask for certain nodes, a group is there once for each of the ``locations`` where it may be:
    ``location[i]``. The last groups are those that go on as they are: group i at ``placement[i]`` of ``types.kept``,
    which is -1 for all others.
    """

    types: GroupTypes
    groups: Ints
    gpus: Ints
    value: Ints
    lower: tuple[Ints, ...]
    location: Ints
    locations: tuple[Location, ...]
    placement: Ints

    @classmethod
    def of(cls, round_: Round, rules: GroupRules) -> GroupColumns:
        """Return types and groups of a round, from the last call if it was the same."""
        return _columns(round_, rules)

    @classmethod
    def of_types(cls, types: GroupTypes, groups: Ints) -> GroupColumns:
        """Return some groups of types, and after them all that go on as they are."""
        location = np.zeros(len(groups) + len(types.kept.placement), dtype=np.int64)
        return _valued(types, groups, types.gpus_of(groups), location, ())

    @property
    def classes(self) -> PriorityDigits:
        """What groups are worth to all classes, of no more groups than there are jobs.

        Of equal values the one that changes the least counts: as a last class, which adds nothing to the value. A
        program that is so large that its columns have to be priced has one objective only.
        """
        values, weights = (self.value, *self.lower), self.types.weights
        if len(self.types.kept.placement) and len(self.value) <= MOST_FOR_CHANGES:
            cost = np.zeros_like(self.value)
            cost[self.placement >= 0] = self.types.kept.costs(self.types.restart)
            values, weights = (*values, cost), (*weights, 0)
        return PriorityDigits(values=values, weights=weights, most=len(self.types.type_of))

    @property
    def most(self) -> Ints:
        """How often each group can run at most."""
        group, kind, times = self.entries
        result = np.full(len(self.groups), np.iinfo(np.int64).max)
        np.minimum.at(result, group, self.jobs_of(group, kind) // times)
        return result

    def jobs_of(self, group: Ints, kind: Ints) -> Ints:
        """Return how many jobs of a type there are for a group: all, or those that run where the group goes on."""
        if not len(self.types.kept.placement):
            return self.types.count[kind]
        placement = self.placement[group]
        return np.where(placement >= 0, self.types.kept.inside[kind, placement], self.types.count[kind])

    @property
    def entries(self) -> tuple[Ints, Ints, Ints]:
        """Group, type and number of jobs of that type in it, one row per pair of group and type."""
        group = np.repeat(np.arange(len(self.groups)), self.groups.shape[1])
        kind = self.groups.ravel()
        used = kind >= 0
        # Types of a group are in ascending order, so that equal ones are beside each other.
        key = group[used] * len(self.types.count) + kind[used]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        times = np.diff(first, append=len(key))
        return group[used][first], kind[used][first], times

    def beginning_as(self, kinds: Iterable[Sequence[int]]) -> Ints:
        """Return the groups whose first two types are those of one of these, given in ascending order."""
        heads = np.full((len(self.groups), 2), -1, dtype=np.int64)
        heads[:, : self.groups.shape[1]] = self.groups[:, :2]
        base = len(self.types.count) + 1
        wanted = [base * (first + 1) + (rest[0] + 1 if rest else 0) for first, *rest in kinds]
        return np.flatnonzero(np.isin((heads + 1) @ [base, 1], wanted))

    def members(self, group: int) -> tuple[int, ...]:
        """Return the types of a group, as often as they occur."""
        return tuple(kind for kind in self.groups[group].tolist() if kind >= 0)


@last_recalled
def _columns(round_: Round, rules: GroupRules) -> GroupColumns:
    types = GroupTypes.of(round_, rules)
    g, place, locations = types.g, types.place, group_locations(round_)
    bucket = g if rules.sizes == "equal" else np.zeros_like(g)
    bucket = bucket if locations is None else _apart(bucket, locations.parts[place])
    groups = all_groups(bucket, types.able(round_), types.largest)
    gpus = types.gpus_of(groups)
    location, where = np.zeros(len(groups), dtype=np.int64), tuple[Location, ...]()
    if locations is not None:
        chosen, location, where = _at_locations(groups, gpus, place, locations)
        groups, gpus = groups[chosen], gpus[chosen]
    kept = types.kept
    told = {one: kept.location(one) for one in np.unique(kept.placement).tolist()}
    where = tuple(dict.fromkeys((*where, *told.values()))) if locations is not None else where
    number = {one: where.index(location) if locations is not None else 0 for one, location in told.items()}
    location = np.append(location, np.array([number[one] for one in kept.placement.tolist()], dtype=np.int64))
    if len(kept.placement):
        check_number(len(groups) + len(kept.placement), "groups, some of them where they run now")
    return _valued(types, groups, gpus, location, where)


def _valued(types: GroupTypes, groups: Ints, gpus: Ints, location: Ints, where: tuple[Location, ...]) -> GroupColumns:
    """Return groups, and after them those that go on as they are, with what they are worth."""
    kept = types.kept
    gpus = np.append(gpus, kept.shares.sum(axis=1)[kept.placement])
    placement = np.append(np.full(len(groups), -1), kept.placement)
    groups = np.concatenate([groups, kept.groups])
    values = types.values(groups, placement)
    return GroupColumns(
        types=types,
        groups=groups,
        gpus=gpus,
        value=values[0],
        lower=tuple(values[1:]),
        location=location,
        locations=where,
        placement=placement,
    )


def many_groups(round_: Round, rules: GroupRules) -> bool:
    """Return whether there are more groups than are listed, so that they have to be priced."""
    if group_locations(round_) is not None or most_groups(round_, rules) <= MOST_COLUMNS:
        return False
    types = GroupTypes.of(round_, rules)
    kinds = Counter(types.g.tolist() if rules.sizes == "equal" else [0] * len(types.g))
    return _number(kinds, round_, rules) > MOST_COLUMNS


def most_groups(round_: Round, rules: GroupRules) -> int:
    """Return how many groups there are at most if every job is different."""
    sizes = Counter(job.gpus if rules.sizes == "equal" else 0 for job in round_.jobs)
    return _number(sizes, round_, rules)


def refuse_too_many(round_: Round, rules: GroupRules) -> None:
    """Refuse a round of which as many groups as there are could not be listed, from a count of different jobs alone."""
    if group_locations(round_) is not None:  # not all may share
        return
    kinds = _different(round_, rules)
    what = f"groups of {max(kinds.values(), default=0)} types of jobs that may share"
    check_number(_number(kinds, round_, rules), what)


def _different(round_: Round, rules: GroupRules) -> Counter[int]:
    """Return how many jobs are different at least, by their GPUs if only equal ones may share."""
    different = {(job.gpus, job.stage_seconds) for job in round_.jobs}
    return Counter(gpus if rules.sizes == "equal" else 0 for gpus, _ in different)


def _number(kinds: Counter[int], round_: Round, rules: GroupRules) -> int:
    """Return how many groups there are of so many types of each GPU count."""
    largest = min(rules.largest_group, slot_count(rules.pattern, len(round_.resources)))
    return sum(comb(number + size - 1, size) for number in kinds.values() for size in range(1, largest + 1))


def _apart(bucket: Ints, part: Ints) -> Ints:
    """Return buckets of types that may share: equal ones, in one part of the cluster."""
    return np.unique(np.column_stack([bucket, part]), axis=0, return_inverse=True)[1].reshape(-1)


def _at_locations(
    groups: Ints, gpus: Ints, place: Ints, locations: GroupLocations
) -> tuple[Ints, Ints, tuple[Location, ...]]:
    """Return, for each group and location where it may be, which group and which of all the locations."""
    looks = np.column_stack([np.sort(np.where(groups >= 0, place[groups], -1), axis=1), gpus])
    combinations, of = np.unique(looks, axis=0, return_inverse=True)
    known: dict[Location, int] = {}
    found = []
    for *kinds, size in combinations.tolist():
        here = locations.of(frozenset(kind for kind in kinds if kind >= 0), size)
        found.append([known.setdefault(location, len(known)) for location in here])
    numbers = np.array([len(some) for some in found], dtype=np.int64)[of.reshape(-1)]
    check_number(int(numbers.sum()), "groups on nodes where they may be")
    flat = [location for combination in of.reshape(-1).tolist() for location in found[combination]]
    return np.repeat(np.arange(len(groups)), numbers), np.array(flat, dtype=np.int64), tuple(known)
