"""The simplex method in exact rationals, for programs of a few rows whose columns are made as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeVar

Label = TypeVar("Label")


@dataclass(frozen=True, slots=True)
class Column(Generic[Label]):
    """A column: its cost, its coefficient in every row, and what it stands for."""

    cost: Fraction
    entries: tuple[Fraction, ...]
    label: Label | None


@dataclass(slots=True)
class ExactSimplex(Generic[Label]):
    """A basis of minimise cost, columns times amounts equal to ``right``, amounts >= 0, with its exact inverse.

    It begins with one unit column per row. A leaving row is chosen by the smallest ratio in lexicographic order, which
    keeps the method from cycling, whatever columns enter, as long as their reduced cost is below 0.
    """

    basis: list[Column[Label]]
    right: Sequence[Fraction]
    tableau: list[list[Fraction]] = field(init=False)
    """One line per row: the amount of its basic column, then its line of the inverse."""

    def __post_init__(self) -> None:
        rows = range(len(self.right))
        self.tableau = [[Fraction(self.right[r]), *(Fraction(int(r == c)) for c in rows)] for r in rows]

    @property
    def amounts(self) -> list[tuple[Column[Label], Fraction]]:
        """Return the basic columns with their amounts."""
        return [(column, line[0]) for column, line in zip(self.basis, self.tableau, strict=True)]

    @property
    def value(self) -> Fraction:
        """Return the cost of the basic solution."""
        return sum((column.cost * amount for column, amount in self.amounts), Fraction(0))

    def prices(self) -> list[Fraction]:
        """Return the dual value of every row."""
        lines = [(column.cost, line) for column, line in zip(self.basis, self.tableau, strict=True) if column.cost]
        return [sum((cost * line[r + 1] for cost, line in lines), Fraction(0)) for r in range(len(self.right))]

    def enter(self, column: Column[Label]) -> None:
        """Take a column into the basis. Some row must limit it, as where all costs are at least 0."""
        used = [(r, entry) for r, entry in enumerate(column.entries) if entry]
        change = [sum((line[r + 1] * entry for r, entry in used), Fraction(0)) for line in self.tableau]
        ratios = {r: [x / d for x in self.tableau[r]] for r, d in enumerate(change) if d > 0}
        leaves = min(ratios, key=ratios.__getitem__)
        pivot = ratios[leaves]
        for r, d in enumerate(change):
            if r != leaves and d:
                self.tableau[r] = [x - d * p for x, p in zip(self.tableau[r], pivot, strict=True)]
        self.tableau[leaves] = pivot
        self.basis[leaves] = column

    def improve(self, columns: Sequence[Column[Label]]) -> None:
        """Take in columns of these, the lowest reduced cost first, until none has one below 0."""
        while True:
            prices = self.prices()
            best = min(columns, key=lambda column: reduced_cost(column, prices), default=None)
            if best is None or reduced_cost(best, prices) >= 0:
                return
            self.enter(best)


def reduced_cost(column: Column[Label], prices: Sequence[Fraction]) -> Fraction:
    """Return the cost of a column less what its entries are worth."""
    worth = (price * entry for price, entry in zip(prices, column.entries, strict=True) if entry)
    return column.cost - sum(worth, Fraction(0))
