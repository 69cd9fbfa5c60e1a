"""Groups that are worth more than they pay at given prices, found among more groups than can be listed.

In lock step a group is worth what its jobs add, over its period. Two jobs half a cycle apart are looked at first: what
they are above their prices at their own period. The best of these pairs are filled up by the third and the fourth job
that are above theirs by most, each at the period of the pair with it. That is column generation's pricing problem by
bounds; which pairs are looked at decides whether it is quick or finds nearly all there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Budget, unlimited
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.group_keys import different
from muri_opt.systems.muri.group_looks import PER_STEP, Bucket, Reach
from muri_opt.systems.muri.interleaving import slot_count
from muri_opt.systems.muri.interleaving.patterns import pattern_named
from muri_opt.systems.muri.pair_meetings import PairTree
from muri_opt.systems.muri.program_prices import adds_alone
from muri_opt.systems.muri.program_types import GroupTypes

Floats = NDArray[np.float64]
TINY: Final = 1e-6
_STEPS_OF_SEEN: Final = 40
_AT_ONCE: Final = 500
"""Groups that are looked through between two looks at which types have enough."""


class Seen(NamedTuple):
    """Groups as types, filled up with -1, and by how much each is above what it pays."""

    groups: Ints
    profit: Floats

    def equal_rise(self, kinds: int) -> Floats:
        """Return by how much prices of so many types rise so that each group pays, all its jobs the same part."""
        above = np.maximum(0.0, self.profit) / np.maximum(1, (self.groups >= 0).sum(axis=1))
        raised = np.zeros(kinds + 1)
        np.maximum.at(raised, self.groups, above[:, None])  # the last is for no job
        return raised[:-1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Charges:
    """What jobs of each type pay for themselves (``job``) and for each GPU of their group, and what a GPU costs."""

    job: Floats
    per_gpu: Floats
    gpu: float

    def of(self, types: GroupTypes, groups: Ints) -> Floats:
        """Return what groups pay."""
        gpus, used = types.gpus_of(groups), groups >= 0
        each = self.job[groups] + gpus[:, None] * self.per_gpu[groups]
        paid: Floats = np.where(used, each, 0.0).sum(axis=1) + gpus * self.gpu
        return paid


class GroupPricing:
    """The types of a round, of which groups of two and more are looked for."""

    def __init__(self, types: GroupTypes, able: Ints) -> None:
        self.types, self.able = types, able
        self.spent, self.budget, self.complete, self.turn = 0.0, unlimited(), True, 0
        rules = types.rules
        self.rule, self.slots = pattern_named(rules.pattern), slot_count(rules.pattern, types.stages.shape[1])
        amount = adds_alone(rules, types.members(np.arange(len(types.g))))
        left = 1.0 if rules.horizon is None else np.maximum(0, rules.horizon - types.restart) / rules.horizon
        self.adds = np.where(types.priority == 0, amount, 0.0) * left
        unit = 1e-6 if self.rule.in_seconds else 1.0
        self.times = [np.ascontiguousarray(types.stages[:, stage] * unit) for stage in range(types.stages.shape[1])]
        self.unit = unit
        line = np.argsort(types.stages, axis=1, kind="stable")
        self.alike = line @ line.shape[1] ** np.arange(line.shape[1])
        """Jobs whose longest stages are the same have the same number: to look at them together takes less time."""
        self._trees: dict[bytes, PairTree] = {}

    def look(
        self, charges: Charges, reach: Reach, budget: Budget, *, least: float = 0.0, among: Ints | None = None
    ) -> Seen:
        """Return groups and their profits; with those ``among`` so many jobs of each type, all if not said.

        A full look finds, of every two jobs half a cycle apart, the groups with most profit, if that is the ``least``.
        The best pairs come first, and when the budget is over it ends: then it is not ``complete``. ``spent`` is the
        work of the last look.
        """
        self.spent, self.budget, self.complete = 0.0, budget, True
        self.turn += 1
        able = self.able if among is None else among
        parts = [groups for bucket in self._buckets(charges, least, able) for groups in bucket.groups(reach)]
        none = np.zeros((0, self.types.largest), dtype=np.int64)
        groups = different(np.concatenate([none, *parts]))
        self.spend(_STEPS_OF_SEEN * len(groups))
        values = self.types.values(groups, np.full(len(groups), -1))[0]
        return Seen(groups, values - charges.of(self.types, groups))

    @property
    def is_quick_in_full(self) -> bool:
        """Whether full looks are by trees of pairs, and take no longer than wide ones."""
        free = np.zeros(len(self.types.g))
        charges = Charges(job=free, per_gpu=free, gpu=1.0)
        return all(bucket.meets for bucket in self._buckets(charges, 0.0, self.able))

    def full_work(self, charges: Charges, budget: Budget) -> float:
        """Return about how much work a full look is that finds few groups, from some of its pairs."""
        self.spent, self.budget = 0.0, budget
        return sum(bucket.full_work() for bucket in self._buckets(charges, 0.0, self.able))

    def _buckets(self, charges: Charges, least: float, able: Ints) -> Iterator[Bucket]:
        """Yield the jobs that may share, by the GPUs of their largest."""
        for gpus in np.unique(self.types.g[able > 0]).tolist():
            fits = (self.types.g == gpus) if self.types.rules.sizes == "equal" else (self.types.g <= gpus)
            kinds = np.flatnonzero(fits & (able > 0))
            kinds = kinds[np.argsort(self.alike[kinds], kind="stable")]
            units = np.repeat(kinds, np.minimum(able[kinds], self.types.largest))
            yield Bucket(self, units, gpus, charges, least)

    def tree(self, units: Ints, times: Sequence[NDArray[np.floating[Any]]]) -> PairTree:
        """Return all pairs of jobs by their times, which are the same at all prices."""
        key = units.tobytes()
        if key not in self._trees:
            self._trees[key] = PairTree(times)
        return self._trees[key]

    def spend(self, steps: float) -> None:
        """Count steps of a look."""
        self.spent += PER_STEP * steps
        self.budget.spend(PER_STEP * steps)


def best_of_types(seen: Seen, kinds: int, most: int, least: float) -> list[int]:
    """Return the places of the best groups above the least, so many with every type."""
    able = np.flatnonzero(seen.profit > least + TINY * max(1.0, float(np.abs(seen.profit).max(initial=0.0))))
    able = able[np.argsort(-seen.profit[able], kind="stable")]
    taken, kept = np.zeros(kinds + 1, dtype=np.int64), list[int]()
    taken[-1] = most  # of no job there are enough
    for begin in range(0, len(able), _AT_ONCE):
        some = able[begin : begin + _AT_ONCE]
        some = some[(taken[seen.groups[some]] < most).any(axis=1)]
        for place, row in zip(some.tolist(), seen.groups[some].tolist(), strict=True):
            of = [kind for kind in row if kind >= 0]
            if (taken[of] < most).any():
                taken[of] += 1
                kept.append(place)
    return kept
