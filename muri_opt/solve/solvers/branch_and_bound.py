"""The search behind the exhaustive backend: halving boxes of whole numbers, narrowed by every row.

Depth first. In every box each row narrows its columns (what a row leaves over, with all other columns at their best,
limits how far one column can be from its own best) until nothing moves; a box with an empty side is dropped. The cost
is one more row: at least one below the best so far. A box of single points is a solution, any other is halved.
All arithmetic is in Python's whole numbers, so nothing overflows and nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from muri_opt.modelling import Model, Rows
from muri_opt.rounds import Budget, Limit

Box = tuple[list[int], list[int]]
"""Lower and upper bound of every column."""

_PER_BOX, _PER_TERM = 2e-5, 5e-7
"""Work for a box: what it costs in any case, and for each term of a row."""
_VISITS = 50
"""How often a row is looked at in one box, on average: two rows can push each other up by 1 almost for ever."""


@dataclass(slots=True)
class Row:
    """``sum(coefficient * column) <= most``."""

    terms: list[tuple[int, int]]
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best point, if any, a cost no point is below, what stopped the search (``None``: its end), boxes opened."""

    point: list[int] | None
    least_cost: int | None
    limit: Limit | None
    boxes: int


class Search:
    """A minimisation over the whole points of a box; a maximisation is searched with its costs negated."""

    def __init__(self, model: Model) -> None:
        sign = -1 if model.maximise else 1
        self.costs: list[int] = [sign * weight for weight in model.objective.tolist()]
        self._whole: Box = (model.lower.tolist(), model.upper.tolist())
        self._rows = [row for family in model.rows for row in _at_most(family)]
        self._cost_row = Row([(weight, column) for column, weight in enumerate(self.costs) if weight], 0)
        self._rows_of: list[list[int]] = [[] for _ in self.costs]
        for at, row in enumerate([*self._rows, self._cost_row]):
            for _, column in row.terms:
                self._rows_of[column].append(at)
        self._cost_of_a_box = _PER_BOX + _PER_TERM * sum(len(row.terms) for row in self._rows)
        # Dear columns first: they move the cost row most, and with it the proof.
        self._order = sorted(range(len(self.costs)), key=lambda column: -abs(self.costs[column]))

    def cost(self, point: list[int]) -> int:
        """Return the cost of a point."""
        return sum(weight * value for weight, value in zip(self.costs, point, strict=True))

    def run(self, start: list[int] | None, *, gap: float, budget: Budget) -> Found:
        """Search until no box is left, the best point is within ``gap``, or ``budget`` is used up.

        The gap is looked at whenever a better point is found: a box is never given up because it is near enough.
        """
        best, boxes, limit = start, 0, None
        stack: list[Box] = [self._whole]
        improved = start is not None
        while stack:
            if budget.over():
                limit = budget.limit
                break
            if improved and best is not None and self._near_enough(best, stack, gap):
                limit = Limit.GAP
                break
            box = stack.pop()
            boxes += 1
            budget.spend(self._cost_of_a_box)
            improved = False
            if not self._narrow(box, None if best is None else self.cost(best) - 1):
                continue
            column = self._next_column(box)
            if column is not None:
                stack += self._halves(box, column)
            elif all(_least(row, box) <= row.most for row in self._rows):
                best, improved = list(box[0]), True
        known = [] if best is None else [self.cost(best)]
        least = min([*known, *(_least(self._cost_row, box) for box in stack)], default=None)
        return Found(point=best, least_cost=least, limit=limit, boxes=boxes)

    def _near_enough(self, best: list[int], stack: list[Box], gap: float) -> bool:
        """Return whether nothing in the boxes left is better than ``best`` by more than ``gap`` of its cost."""
        cost = self.cost(best)
        least = min(_least(self._cost_row, box) for box in stack)
        return cost - least <= Fraction(gap) * max(1, abs(cost))

    def _narrow(self, box: Box, most_cost: int | None) -> bool:
        """Narrow ``box`` in place by every row; return whether anything may be left in it."""
        rows = self._rows
        if most_cost is not None:
            self._cost_row.most = most_cost
            rows = [*rows, self._cost_row]
        waiting = list(range(len(rows)))
        queued = [True] * len(rows)
        for _ in range(_VISITS * len(rows)):
            if not waiting:
                break
            at = waiting.pop()
            queued[at] = False
            moved = _narrow_by(rows[at], box)
            if moved is None:
                return False
            for column in moved:
                for other in self._rows_of[column]:
                    if other < len(rows) and not queued[other]:
                        queued[other] = True
                        waiting.append(other)
        return True

    def _next_column(self, box: Box) -> int | None:
        """Return the next column to halve, or ``None`` in a single point."""
        low, high = box
        return next((column for column in self._order if low[column] < high[column]), None)

    def _halves(self, box: Box, column: int) -> tuple[Box, Box]:
        """Return both halves, the cheaper last, where the search takes it from."""
        low, high = box
        middle = (low[column] + high[column]) // 2
        below: Box = (list(low), list(high))
        above: Box = (list(low), list(high))
        below[1][column] = middle
        above[0][column] = middle + 1
        return (below, above) if self.costs[column] < 0 else (above, below)


def _at_most(family: Rows) -> list[Row]:
    rows = []
    for at, most in enumerate(family.rhs.tolist()):
        span = slice(family.starts[at], family.starts[at + 1])
        terms = list(zip(family.coefficients[span].tolist(), family.columns[span].tolist(), strict=True))
        if family.sense != ">=":
            rows.append(Row(terms, most))
        if family.sense != "<=":
            rows.append(Row([(-coefficient, column) for coefficient, column in terms], -most))
    return rows


def _least(row: Row, box: Box) -> int:
    low, high = box
    return sum(c * low[j] if c > 0 else c * high[j] for c, j in row.terms)


def _narrow_by(row: Row, box: Box) -> list[int] | None:
    """Narrow ``box`` by one row; return the columns that moved, ``None`` if the row cannot hold in it."""
    spare = row.most - _least(row, box)
    if spare < 0:
        return None
    low, high = box
    moved = []
    for c, j in row.terms:
        if c > 0:
            limit = low[j] + spare // c
            if limit < high[j]:
                high[j] = limit
                moved.append(j)
        else:
            limit = high[j] - spare // -c
            if limit > low[j]:
                low[j] = limit
                moved.append(j)
    return moved
