"""The linear program of the elastic optimum: least total completion time over the share vectors of given alive sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np

from muri_opt.systems.afs.optimum.jobs import Alive, ElasticJobs
from muri_opt.systems.afs.optimum.simplex import Column, ExactSimplex, reduced_cost

Shares = tuple[int, ...]
Held = tuple[Alive, Shares]
"""A share vector held while some jobs are alive."""
_PENALTY_GROWTH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramAnswer:
    """An exact optimum: amounts of time per alive set and share vector, and the prices that prove it."""

    value: Fraction
    feasible: bool
    """Whether all work gets done; if not, the value is at least the limit given."""
    times: tuple[tuple[Alive, Shares, Fraction], ...]
    work_prices: tuple[Fraction, ...]
    time_prices: tuple[Fraction, ...]


@dataclass(slots=True)
class ElasticProgram:
    """The program for any choice of alive sets. Columns found for one choice serve the next."""

    jobs: ElasticJobs
    columns: dict[Alive, dict[Shares, Column[Held]]] = field(default_factory=dict)

    def solve(self, alive: Sequence[Alive], limit: Fraction | None) -> ProgramAnswer:
        """Return the optimum over schedules that spend time in the given alive sets only.

        Work that cannot be done costs a penalty. It grows until all work is done, or the value reaches the limit.
        """
        penalty = [Fraction(2 * self.jobs.count, max(row)) for row in self.jobs.speed]
        while True:
            answer = self._solve(alive, penalty)
            if answer.feasible or (limit is not None and answer.value >= limit):
                return answer
            penalty = [_PENALTY_GROWTH * each for each in penalty]

    def _solve(self, alive: Sequence[Alive], penalty: Sequence[Fraction]) -> ProgramAnswer:
        jobs = self.jobs
        missing = [self._unit(j, 1, cost=penalty[j]) for j in range(jobs.count)]
        surplus = [self._unit(j, -1) for j in range(jobs.count)]
        waiting = [self._idle(alive, period) for period in range(len(jobs.lengths))]
        simplex = ExactSimplex([*missing, *waiting], [*jobs.work, *jobs.lengths])
        while True:
            known = [column for place in alive for column in self.columns.get(place, {}).values()]
            simplex.improve(_proposed([*known, *surplus, *missing, *waiting], simplex.right))
            prices = simplex.prices()
            better = [column for column in surplus if reduced_cost(column, prices) < 0]
            better += self._priced(alive, prices)
            if not better:
                break
            simplex.enter(min(better, key=lambda column: reduced_cost(column, prices)))
        used = [(column, amount) for column, amount in simplex.amounts if amount]
        return ProgramAnswer(
            value=simplex.value,
            feasible=not any(column in missing for column, _ in used),
            times=tuple((*column.label, amount) for column, amount in used if column.label is not None),
            work_prices=tuple(price * by for price, by in zip(prices, jobs.scale, strict=False)),
            time_prices=tuple(prices[jobs.count :]),
        )

    def _unit(self, row: int, entry: int, *, cost: Fraction = Fraction(0), label: Held | None = None) -> Column[Held]:
        size = self.jobs.count + len(self.jobs.lengths)
        return Column(cost, tuple(Fraction(entry if r == row else 0) for r in range(size)), label)

    def _idle(self, alive: Sequence[Alive], period: int) -> Column[Held]:
        """Return the cheapest way to let time pass in a period."""
        place = min((place for place in alive if place[0] == period), key=lambda place: place[1].bit_count())
        label = (place, (0,) * self.jobs.count)
        return self._unit(self.jobs.count + period, 1, cost=Fraction(place[1].bit_count()), label=label)

    def _column(self, place: Alive, shares: Shares) -> Column[Held]:
        period, mask = place
        speeds = [Fraction(self.jobs.speed[j][k]) for j, k in enumerate(shares)]
        ticks = [Fraction(int(period == p)) for p in range(len(self.jobs.lengths))]
        return Column(Fraction(mask.bit_count()), (*speeds, *ticks), (place, shares))

    def _priced(self, alive: Sequence[Alive], prices: Sequence[Fraction]) -> list[Column[Held]]:
        """Return, for every alive set that has one, the column of the lowest reduced cost below 0.

        All share vectors are looked at, by dynamic programming over the jobs in whole numbers.
        """
        count = self.jobs.count
        common = lcm(*(price.denominator for price in prices[:count]))
        worth = [[int(price * common) * p for p in row] for price, row in zip(prices, self.jobs.speed, strict=False)]
        tables: dict[int, tuple[list[int], list[Shares]]] = {
            0: ([0] * (self.jobs.gpus + 1), [()] * (self.jobs.gpus + 1))
        }
        found = []
        for place in alive:
            period, mask = place
            most, shares = _best_shares(mask, worth, tables)
            spent = prices[count + period] if period < len(self.jobs.lengths) else 0
            if mask.bit_count() - Fraction(most[-1], common) - spent < 0:
                chosen = list(shares[-1])
                vector = tuple(chosen.pop() if mask >> j & 1 else 0 for j in range(count))
                column = self._column(place, vector)
                self.columns.setdefault(place, {})[vector] = column
                found.append(column)
        return found


def _best_shares(
    mask: int, worth: Sequence[Sequence[int]], tables: dict[int, tuple[list[int], list[Shares]]]
) -> tuple[list[int], list[Shares]]:
    """Return for every number of GPUs the most the jobs of a set are worth with at most so many, and their shares.

    Shares are those of the jobs of the set from the last to the first.
    """
    if mask not in tables:
        job = (mask & -mask).bit_length() - 1
        most, shares = _best_shares(mask & (mask - 1), worth, tables)
        own = worth[job]
        values, vectors = [], []
        for free in range(len(most)):
            best = max(range(min(free, len(own) - 1) + 1), key=lambda k: own[k] + most[free - k])
            values.append(own[best] + most[free - best])
            vectors.append((*shares[free - best], best))
        tables[mask] = (values, vectors)
    return tables[mask]


def _proposed(columns: Sequence[Column[Held]], right: Sequence[Fraction]) -> list[Column[Held]]:
    """Return the columns HiGHS has in its optimal basis: a proposal only, so it matters little should HiGHS fail."""
    from highspy import Highs, HighsBasisStatus, HighsLp, MatrixFormat

    scale = np.array([float(1 / r) if r else 1.0 for r in right])
    matrix = np.array([[float(entry) for entry in column.entries] for column in columns]).T * scale[:, None]
    largest = np.abs(matrix).max(axis=0)  # a unit of a column fills some row: coefficients up to 1
    matrix /= largest
    program = HighsLp()
    program.num_col_, program.num_row_ = len(columns), len(right)
    program.col_cost_ = np.array([float(column.cost) for column in columns]) / largest
    program.col_lower_, program.col_upper_ = np.zeros(len(columns)), np.full(len(columns), np.inf)
    program.row_lower_ = program.row_upper_ = np.array([float(bool(r)) for r in right])
    program.a_matrix_.format_ = MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.arange(len(right) + 1, dtype=np.int32) * len(columns)
    program.a_matrix_.index_ = np.tile(np.arange(len(columns), dtype=np.int32), len(right))
    program.a_matrix_.value_ = matrix.ravel()
    solver = Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")
    solver.passModel(program)
    solver.run()
    status = solver.getBasis().col_status
    return [column for column, state in zip(columns, status, strict=False) if state == HighsBasisStatus.kBasic]
