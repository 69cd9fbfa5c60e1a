"""One block of jobs whose majorities run in circles: the steps from a good order to the best one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.ranking.disagreement import order_cost
from muri_opt.algorithms.ranking.insertion import improved, kicked
from muri_opt.algorithms.ranking.program import decoded, pair_program, pair_table, pair_values
from muri_opt.algorithms.ranking.subset_dp import MOST_JOBS, best_order
from muri_opt.algorithms.ranking.triangles import Packing, broken, greedy_packing, spread_out
from muri_opt.errors import RefusalError
from muri_opt.modelling import Ints, Relax, Solve
from muri_opt.rounds import Budget, Limit, Limits

CHECKED_JOBS = 12
"""Jobs up to which a proof needs no triangles, because its reader can go through all orders."""
_KICKS = 40
_PER_SIDE = 2
_GREEDY = 200_000
_TOLERANCE = 1e-4
_SLACK = 0.3
"""Rows that a relaxation leaves with more room than this are dropped, as long as its value rises."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockAnswer:
    """An order of the jobs of a block, a bound, the triangles that prove as much of it as they can, and what was done.

    ``packing`` is ``None`` where the orders of the block can be gone through by anybody.
    """

    order: Ints
    bound: int
    packing: Packing | None
    detail: str
    limit: Limit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a search may use: a solver of programs, one of relaxations, and a budget."""

    solve: Solve | None
    relax: Relax | None
    budget: Budget

    @classmethod
    def of(cls, solve: Solve | None, relax: Relax | None, limits: Limits) -> Means:
        """Return the means of a search that begins now."""
        return cls(solve=solve, relax=relax, budget=Budget(limits=limits))


def solve_block(before: Ints, agreed: NDArray[np.bool_], means: Means) -> BlockAnswer:
    """Return the best order of a block, whose jobs come in a good order, as far as the time allows."""
    jobs = len(before)
    if jobs <= CHECKED_JOBS:
        order = np.arange(jobs) if jobs <= 1 else best_order(before)
        return BlockAnswer(order=order, bound=order_cost(before, order), packing=None, detail="all sets")
    search = BlockSearch(before, agreed, means)
    if means.relax is not None:
        search.cut(means.relax)
    if jobs <= MOST_JOBS:
        search.enumerate()
    if means.solve is not None:
        search.branch(means.solve)
    return BlockAnswer(
        order=search.order, bound=search.bound, packing=search.packing, detail=search.detail, limit=search.limit
    )


class BlockSearch:
    """The best order and the best bound so far; each step does nothing once they meet."""

    def __init__(self, before: Ints, agreed: NDArray[np.bool_], means: Means) -> None:
        self.before = before
        self.agreed = agreed
        self.means = means
        start = improved(before, np.arange(len(before)))
        self.order = kicked(before, start, kicks=_KICKS, budget=means.budget)
        self.value = order_cost(before, self.order)
        self.packing = greedy_packing(before, agreed, _GREEDY)
        self.bound = self.packing.bound
        self.rows = self.packing.triangles
        self.detail = "greedy triangles"
        self.limit = Limit.HEURISTIC

    def enumerate(self) -> None:
        """Find the best order by going through all sets."""
        if self.bound < self.value:
            self._found(best_order(self.before))
            self.bound = self.value
            self.detail = "all sets"

    def cut(self, relax: Relax) -> None:
        """Solve relaxations with ever more triangles: those that the one before breaks."""
        last = -np.inf
        while self.bound < self.value:
            program = pair_program(self.before, self.rows, self.agreed)
            found = None if self.means.budget.over() else relax(program.model, self.means.budget)
            if found is None:
                self.limit = self.means.budget.limit
                return
            packing = Packing.of(self.before, self.agreed, program.triangles, np.abs(found.duals))
            if packing.proves_more(self.packing):
                self.packing = packing
                self.bound = packing.bound
                self.detail = "triangles of a relaxation"
            table = pair_table(len(self.before), found.values)
            self._found(improved(self.before, decoded(table)))
            fresh = spread_out(broken(table, _TOLERANCE), _PER_SIDE)
            if not len(fresh):
                self.limit = Limit.RELAXATION
                return
            reached = float(program.model.objective @ found.values)
            a, b, c = program.triangles.T
            tight = table[a, b] + table[b, c] + table[c, a] > 2 - _SLACK
            kept = program.triangles[tight] if reached > last else program.triangles
            self.rows = np.concatenate([kept, fresh])
            last = max(last, reached + _TOLERANCE)

    def branch(self, solve: Solve) -> None:
        """Solve programs with ever more triangles, until an optimum breaks none.

        Pairs that the triangles known so far decide are fixed; the order at hand stays possible.
        """
        while self.bound < self.value:
            fixed = self.agreed | self.packing.decided(self.value)
            program = pair_program(self.before, self.rows, fixed)
            try:
                found = solve(program.model, self.means.budget.left(), pair_values(self.order))
            except RefusalError as refusal:
                self.limit, self.detail = Limit.SIZE, f"{self.detail}; refused: {refusal}"
                return
            self.means.budget.spend(found.work)
            said = found.termination
            self.detail = f"{program.model.row_count} rows; solver said: {said.detail}"
            self.limit = said.limit or Limit.FAULT
            if found.values is None or found.bound is None or said.limit is Limit.FAULT:
                return
            table = pair_table(len(self.before), found.values)
            self._found(improved(self.before, decoded(table)))
            self.bound = min(self.value, max(self.bound, int(found.bound) + program.constant))
            fresh = spread_out(broken(table, 0.5), _PER_SIDE)
            if not len(fresh) or said.limit is not None:
                return
            self.rows = np.concatenate([program.triangles, fresh])

    def _found(self, order: Ints) -> None:
        value = order_cost(self.before, order)
        if value < self.value:
            self.order, self.value = order, value
