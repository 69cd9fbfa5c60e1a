"""Chapter *grouping*: which jobs interleave on the same GPUs.

Letters as in the chapter: types t of equal jobs, groups S of up to p jobs, as multisets of types; x_S how often
group S runs. Where jobs ask for certain nodes S is a group at a location, and columns f say where locations have their
GPUs (:mod:`.program_locations`). Groups that go on as they are have columns of their own (:mod:`.program_kept`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder, Relax, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Decision, Prices, Round
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.rounds.sharing_now import homes_now
from muri_opt.systems.capacity import Leftover, Placed, best_fit, group_decision, held_gpus
from muri_opt.systems.muri.group_locations import group_locations
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.group_worth import free_rates_of
from muri_opt.systems.muri.interleaving import SLOWDOWN, group_periods, slot_count
from muri_opt.systems.muri.periods import Group
from muri_opt.systems.muri.program_ascent import MOST_GROUPS, listed_prices
from muri_opt.systems.muri.program_columns import GroupColumns, many_groups, most_groups, refuse_too_many
from muri_opt.systems.muri.program_duals import matching_duals
from muri_opt.systems.muri.program_locations import Cells
from muri_opt.systems.muri.program_places import held_on, shares_anywhere, shares_at_locations
from muri_opt.systems.muri.program_prices import job_prices
from muri_opt.systems.muri.program_search import search_groups, seconds_to_check
from muri_opt.systems.muri.program_types import GroupTypes
from muri_opt.systems.muri.ways import freely
from muri_opt.systems.orders import priority_order
from muri_opt.systems.pooled_limits import Uses, add_limits, add_limits_beside_gpus, row_prices, whole_prices
from muri_opt.systems.program import Formulation, Searched

QUICK_JOBS: Final = 200
"""Jobs up to which a first bound on pairs is by matchings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingFormulation(Formulation):
    """Choose disjoint groups of jobs, so that their values add up to the most, those of the first priority first.

    >>> rules = GroupRules(order="srsf", largest_group=2, pattern="cyclic", slowdown="none")
    >>> len(GroupingFormulation(rules=rules).build(shipped_round("toy/eight-stages")).objective)
    36
    """

    rules: GroupRules

    chapter: ClassVar[str] = "grouping"
    late_imports: ClassVar[tuple[str, ...]] = ("scipy.optimize",)
    has_search: ClassVar[bool] = True

    def build(self, round_: Round) -> Model:
        """Return the program: every job in at most one group, groups within the GPUs, CPUs, memory and quotas."""
        return self.model_over(round_, GroupColumns.of(round_, self.rules))

    def model_over(self, round_: Round, columns: GroupColumns) -> Model:
        """Return the program over some groups."""
        builder = ModelBuilder("grouping")
        count = len(columns.value)
        x = builder.add_columns("x", np.arange(count), upper=columns.most)
        group, kind, times = columns.entries
        types = np.arange(len(columns.types.count))
        builder.add_rows("once", types, entries=(kind, x[group], times), sense="<=", rhs=columns.types.count)
        uses = Uses(
            columns=x[group],
            cpus=columns.types.c[kind] * times * columns.gpus[group],
            memory=columns.types.m[kind] * times * columns.gpus[group],
            tenant=columns.types.tenant[kind],
            held=times * columns.types.g[kind],
        )
        if group_locations(round_) is None:
            add_limits(builder, round_, x, columns.gpus, uses)
        else:
            _cells(round_, columns).add(builder, x, columns)
            add_limits_beside_gpus(builder, round_, uses)
        self._add_kept(round_, columns, builder, x)
        columns.classes.add(builder, x)
        return builder.finish(maximise=True, columns=x, coefficients=columns.value)

    def _add_kept(self, round_: Round, columns: GroupColumns, builder: ModelBuilder, x: Ints) -> None:
        """Add the rows of groups that go on as they are, the last columns."""
        if not len(columns.types.kept.placement):
            return
        first = len(x) - len(columns.types.kept.placement)
        group, kind, times = columns.entries
        last = group >= first
        y, entries = x[first:], (group[last] - first, kind[last], times[last])
        columns.types.kept.add(builder, y, columns.types.count, entries)
        if group_locations(round_) is None:
            columns.types.kept.add_nodes(builder, y, round_.amounts.G)

    def work(self, round_: Round) -> float:
        """Refuse a round of too many groups before it is handed to a solver; of others nothing is said."""
        if self.is_searched(round_):
            return 4 * seconds_to_check(GroupTypes.of(round_, self.rules))
        refuse_too_many(round_, self.rules)
        return 0.0

    def is_searched(self, round_: Round) -> bool:
        """Return whether groups are too many to list, and are priced instead."""
        return many_groups(round_, self.rules)

    def search(
        self, round_: Round, start: Decision | None, budget: Budget, relax: Relax, solve: SolveStages
    ) -> Searched | None:
        """Return what pricing groups on demand finds, where they are too many to list."""
        if not self.is_searched(round_):
            return None
        return search_groups(self, round_, GroupTypes.of(round_, self.rules), start, budget, relax, solve)

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return the stages of all classes of priority, from the first: what groups are worth to it; last, changes."""
        classes = GroupColumns.of(round_, self.rules).classes
        several = len(classes.weights) > 1
        return classes.stages(model.column_count) if several else Formulation.stages(self, round_, model)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: of equal jobs the first in the policy's order run; large groups are placed first.

        Groups that go on as they are stay where they are, and the others are placed around them. A group that CPUs or
        memory of single nodes keep from being placed is left out. Jobs in no group, or in one that was left out, run
        alone where there still is room.
        """
        return self.decision_over(round_, GroupColumns.of(round_, self.rules), values)

    def decision_over(self, round_: Round, columns: GroupColumns, values: Values) -> Decision:
        """Return the same for the values of some groups."""
        order = priority_order(round_, self.rules.order)
        stay, chosen = _jobs_of(columns, order, values)
        g, locations = round_.amounts.g, group_locations(round_)
        if locations is None:
            shares = shares_anywhere(round_, [jobs for jobs, _ in chosen], stay)
        else:
            shares = shares_at_locations(
                round_, chosen, columns.locations, _cells(round_, columns), values[len(columns.value) :]
            )
        left = Leftover(round_)
        for jobs, taken in shares.items():
            left.take(taken, *jobs)
        running = {job for jobs in shares for job in jobs}
        for job in order:
            if job not in running and left.within_quota(job):
                gpus = int(g[job])
                held = None if self.rules.horizon is None else held_gpus(round_, job)
                share = best_fit(left.room(job), gpus, held) if locations is None else locations.fit(left, gpus, job)
                if share is not None:
                    left.take(share, job)
                    shares[job,] = share
        rates = free_rates_of(round_, self.rules, [*shares])
        placed = [
            self._timed(round_, columns, jobs, share) if own is None else freely(jobs, share, own)
            for (jobs, share), own in zip(shares.items(), rates, strict=True)
        ]
        return group_decision(round_, placed, consolidate=False)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return how often each group runs in a decision, where locations have their GPUs, and what classes get."""
        columns = GroupColumns.of(round_, self.rules)
        values = np.zeros(len(columns.value), dtype=np.int64)
        cells = None if group_locations(round_) is None else _cells(round_, columns)
        flows = np.zeros(0 if cells is None else len(cells.pairs), dtype=np.int64)
        chosen = [[round_.job_index[job] for job in assignment.jobs] for assignment in decision.assignments]
        types = [tuple(sorted(columns.types.type_of[jobs].tolist())) for jobs in chosen]
        position = {
            (columns.members(group), int(columns.location[group]), int(columns.placement[group])): group
            for group in columns.beginning_as(types).tolist()
        }
        now = homes_now(round_)
        for assignment, jobs, kinds in zip(decision.assignments, chosen, types, strict=True):
            if len(columns.types.kept.placement) and now.goes_on(jobs, assignment.gpus):
                placement = int(columns.types.kept.of_job[jobs[0]])
                here = 0 if cells is None else columns.locations.index(columns.types.kept.location(placement))
                values[position[kinds, here, placement]] += 1
                continue
            location = 0
            if cells is not None:
                share = held_on(round_, assignment.gpus)
                able = [place for place in range(len(columns.locations)) if (kinds, place, -1) in position]
                location = next(place for place in able if columns.locations[place].takes(share))
                flows += cells.flows(location, share)
            values[position[kinds, location, -1]] += 1
        return np.concatenate([values, flows, columns.classes.encoded(values)])

    @property
    def has_duals(self) -> bool:
        """Jobs and everything that is limited have a price in the linear relaxation."""
        return True

    def quick_duals(self, round_: Round) -> Prices | None:
        """Return prices from a knapsack of single jobs, without a solver; of few groups, prices that cover them all.

        Of pairs they are the duals of a matching, of no more than ``QUICK_JOBS``, as it is made at several prices.
        """
        linear = job_prices(round_, self.rules)
        largest = min(self.rules.largest_group, slot_count(self.rules.pattern, len(round_.resources)))
        if linear is None or group_locations(round_) is not None:
            return linear
        if largest == 2 and len(round_.jobs) <= QUICK_JOBS:
            return matching_duals(round_, GroupColumns.of(round_, self.rules), linear) or linear
        if most_groups(round_, self.rules) > MOST_GROUPS:
            return linear
        return listed_prices(round_, GroupColumns.of(round_, self.rules), linear) or linear

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> Prices:
        """Return the prices of jobs, GPUs, CPUs, memory and quotas from the duals of the linear relaxation.

        They are for what groups are worth to the first class of priority. A group that runs as often as it can may be
        worth more than its rows charge; the type that it uses up is charged the rest. Where groups are pairs, odd sets
        of jobs have prices too, and where jobs ask for certain nodes the GPUs of each node have a price of their own.
        """
        columns = GroupColumns.of(round_, self.rules)
        prices = whole_prices(self.prices_over(round_, columns, model, row_duals), always=("once", "gpus"))
        if group_locations(round_) is not None:
            return prices
        return matching_duals(round_, columns, prices) or prices

    def prices_over(
        self, round_: Round, columns: GroupColumns, model: Model, row_duals: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the prices by label that duals of the program over some groups stand for."""
        matrix = model.matrix
        duals = np.maximum(0.0, row_duals)
        charged = np.repeat(duals, np.diff(matrix.starts)) * matrix.coefficients
        rest = np.maximum(0.0, model.objective - np.bincount(matrix.columns, charged, minlength=model.column_count))
        group, kind, times = columns.entries
        short = np.flatnonzero((columns.jobs_of(group, kind) // times == model.upper[group]) & (rest[group] > 0))
        short = short[np.unique(group[short], return_index=True)[1]]
        stays = columns.placement[group[short]] >= 0
        kept, short = short[stays], short[~stays]
        extra = np.zeros(len(columns.types.count))
        np.maximum.at(extra, kind[short], rest[group[short]] / times[short])
        prices = row_prices(round_, model, duals)
        for label in ("spread", "high", "low"):
            prices.pop(label, None)
        prices["once"] = (prices["once"] + extra)[columns.types.type_of]
        if len(columns.types.kept.placement):
            more = np.zeros(columns.types.kept.inside.shape)
            np.maximum.at(more, (kind[kept], columns.placement[group[kept]]), rest[group[kept]] / times[kept])
            prices |= columns.types.kept.prices(columns.types.count, columns.types.type_of, prices, more)
        if group_locations(round_) is not None:
            prices["gpus"] = prices["gpus"][_cells(round_, columns).of_node]
        return prices

    def _timed(self, round_: Round, columns: GroupColumns, jobs: tuple[int, ...], share: Ints) -> Placed:
        if len(jobs) == 1:
            return Placed(jobs=jobs, share=share, period_seconds=round_.jobs[jobs[0]].iteration_seconds)
        rules = self.rules
        found = group_periods(
            columns.types.stages[columns.types.type_of[list(jobs)]][None], rules.pattern, worst=rules.worst_order
        )
        period = int(found.microseconds[0]) / MICROSECONDS_PER_SECOND * SLOWDOWN[rules.slowdown][len(jobs)]
        return Placed(jobs=jobs, share=share, order=tuple(found.orders[0].tolist()), period_seconds=period)


def _cells(round_: Round, columns: GroupColumns) -> Cells:
    return Cells.of(columns.locations, round_.amounts.G)


def _jobs_of(
    columns: GroupColumns, order: Sequence[int], values: Values
) -> tuple[dict[Group, Ints], list[tuple[Group, int]]]:
    """Return the groups that go on as they are with their GPUs per node, and all groups with their locations.

    Of equal jobs the first in the order are taken; groups that go on have the first choice, as they need certain ones.
    """
    queues: dict[tuple[int, int], deque[int]] = {}
    for job in order:
        queues.setdefault((int(columns.types.type_of[job]), int(columns.types.kept.of_job[job])), deque()).append(job)
    runs = np.flatnonzero(values[: len(columns.value)])
    stay, chosen = dict[Group, Ints](), list[tuple[Group, int]]()
    for group in runs[columns.placement[runs] >= 0].tolist():
        placement = int(columns.placement[group])
        for _ in range(int(values[group])):
            jobs = tuple(queues[kind, placement].popleft() for kind in columns.members(group))
            stay[jobs] = columns.types.kept.shares[placement]
            chosen.append((jobs, int(columns.location[group])))
    taken = {job for jobs in stay for job in jobs}
    rest: list[deque[int]] = [deque() for _ in columns.types.count]
    for job in order:
        if job not in taken:
            rest[columns.types.type_of[job]].append(job)
    for group in runs[columns.placement[runs] < 0].tolist():
        for _ in range(int(values[group])):
            jobs = tuple(rest[kind].popleft() for kind in columns.members(group))
            chosen.append((jobs, int(columns.location[group])))
    return stay, chosen
