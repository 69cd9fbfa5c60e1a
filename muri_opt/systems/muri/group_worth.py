"""What groups of jobs of a round are worth, to all classes of priority together, with and without a restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import mul

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.muri.group_values import GroupRules, Members, after_restart, class_values, running
from muri_opt.systems.muri.job_weights import job_weights, times_alone
from muri_opt.systems.muri.mean_value import MILLION
from muri_opt.systems.muri.periods import Group, stages_in
from muri_opt.systems.muri.priority_classes import class_ranges, class_weights
from muri_opt.systems.priority_levels import levels_of


def restarts_of(round_: Round) -> Ints:
    """Return what a change costs each job, in microseconds: 0 for one that does not run."""
    return np.where([job.state == "running" for job in round_.jobs], _costs(round_), 0)


def _costs(round_: Round) -> Ints:
    """Return what a change would cost each job, if it ran."""
    seconds = np.array([job.restart_seconds or 0.0 for job in round_.jobs], dtype=np.float64)
    return np.rint(seconds * MICROSECONDS_PER_SECOND).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupWorth:
    """Jobs by position with all that their worth in a group depends on; class c of priority counts ``weights[c]``.

    ``costs`` is the restart of each job, and ``restart`` of each that runs.
    """

    rules: GroupRules
    members: Members
    level: Ints
    costs: Ints
    restart: Ints
    weights: tuple[int, ...]
    known: dict[tuple[Group, bool], int] = field(init=False, default_factory=dict)
    """What groups were found to be worth, kept as they are or not: they are looked at many times in a round."""

    @classmethod
    def of(cls, round_: Round, rules: GroupRules) -> GroupWorth:
        """Return the jobs of a round."""
        rules = rules.for_round(round_)
        level = levels_of(round_)
        weight = job_weights(round_, rules.objective, rules.order)
        alone = times_alone(round_, rules.objective)
        gpus = np.asarray(round_.amounts.g)
        stages = stages_in(round_)
        single = Members(stages=stages[:, None], alone=alone[:, None], gpus=gpus[:, None], weight=weight[:, None])
        ranges = class_ranges(rules, single, level, round_.cluster.total_gpus) if level.any() else [0]
        return cls(
            rules=rules,
            members=Members(
                stages=stages, alone=alone, gpus=gpus, weight=weight, models=rules.ways.numbers(round_.jobs)
            ),
            level=level,
            costs=_costs(round_),
            restart=restarts_of(round_),
            weights=tuple(class_weights(ranges)),
        )

    def of_groups(self, groups: Sequence[Group], kept: Sequence[bool]) -> list[int]:
        """Return what each group is worth; those that are not kept as they are lose their longest restart."""
        asked = [*zip(groups, kept, strict=True)]
        found = [*map(self.known.get, asked)]
        if None in found:
            self._learn([one for one, value in zip(asked, found, strict=True) if value is None])
        return [self.known[one] if value is None else value for one, value in zip(asked, found, strict=True)]

    def _learn(self, asked: Iterable[tuple[Group, bool]]) -> None:
        """Work out what some groups are worth."""
        alike: dict[int, list[tuple[Group, bool]]] = {}
        for one in dict.fromkeys(asked):
            alike.setdefault(len(one[0]), []).append(one)
        for some in alike.values():
            stays = np.fromiter((stay for _, stay in some), dtype=np.bool_, count=len(some))
            values = self._of_rows(rows_of([group for group, _ in some]), stays).tolist()
            self.known.update(zip(some, values, strict=True))

    def of_unions(self, groups: Sequence[Group], first: Ints, second: Ints) -> Ints:
        """Return what the union of each group of ``first`` with that of ``second``, by their places, is worth."""
        sizes = np.fromiter(map(len, groups), dtype=np.int64, count=len(groups))
        table = np.zeros((len(groups), int(sizes.max(initial=0))), dtype=np.int64)
        for size in np.unique(sizes).tolist():
            at = np.flatnonzero(sizes == size)
            table[at, :size] = rows_of([groups[place] for place in at.tolist()])
        found, both = self._nothing(len(first)), sizes[first] * (table.shape[1] + 1) + sizes[second]
        for p, q in (divmod(key, table.shape[1] + 1) for key in np.unique(both).tolist()):
            at = np.flatnonzero((sizes[first] == p) & (sizes[second] == q))
            jobs = np.hstack([table[first[at], :p], table[second[at], :q]])
            found[at] = self._of_rows(jobs, np.zeros(len(at), dtype=np.bool_))
        return found

    def _nothing(self, groups: int) -> Ints:
        """Return as many noughts as there are groups: in machine words, unless several classes are counted."""
        return np.zeros(groups, dtype=np.int64 if self.weights == (1,) else object)

    def _of_rows(self, jobs: Ints, stays: NDArray[np.bool_]) -> Ints:
        """Return what groups of one size are worth, a row of jobs each; who does not stay loses the longest restart."""
        parts = class_values(self.rules, self.members.of(jobs), self.level[jobs], len(self.weights))
        if self.rules.horizon is not None:
            lost = np.where(stays, 0, self.restart[jobs].max(axis=1))
            parts = [after_restart(part, lost, self.rules.horizon) for part in parts]
        if self.weights == (1,):
            return parts[0]
        each = zip(*(part.tolist() for part in parts), strict=True)
        return np.array([sum(map(mul, self.weights, values)) for values in each], dtype=object)

    def free_rates(self, groups: Sequence[Group]) -> list[tuple[float, ...] | None]:
        """Return the rates, against running alone, of the jobs of each group that runs freely; ``None`` for others."""
        found: list[tuple[float, ...] | None] = [None] * len(groups)
        for size in sorted(set(map(len, groups))):
            at = [place for place, group in enumerate(groups) if len(group) == size]
            jobs = np.array([groups[place] for place in at], dtype=np.int64)
            for place, rates in zip(at, running(self.rules, self.members.of(jobs)).rates(), strict=True):
                found[place] = None if rates is None else tuple(rate / MILLION for rate in rates)
        return found


def rows_of(groups: Sequence[Group]) -> Ints:
    """Return groups of one size as an array, a row of jobs each."""
    size = len(groups[0]) if groups else 0
    flat = np.fromiter(chain.from_iterable(groups), dtype=np.int64, count=size * len(groups))
    return flat.reshape(len(groups), size)


def free_rates_of(round_: Round, rules: GroupRules, groups: Sequence[Group]) -> list[tuple[float, ...] | None]:
    """Return the same of groups of a round."""
    return [None] * len(groups) if rules.run == "lock-step" else GroupWorth.of(round_, rules).free_rates(groups)
