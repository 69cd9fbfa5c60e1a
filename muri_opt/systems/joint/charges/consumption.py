"""What jobs or groups consume with each of their GPUs, where each takes something of few of very many things."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.jobs.group_value import Group
from muri_opt.systems.joint.jobs.job_model import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consumption:
    """With each GPU row ``row[e]``, a job or a group, takes ``each[e]`` of thing ``what[e]``.

    There are so many ``rows`` and ``things``. Entries are in the order of rows; of a thing a row may have several.
    """

    rows: int
    things: int
    row: Ints
    what: Ints
    each: Floats

    @classmethod
    def nothing(cls, rows: int) -> Consumption:
        """Return a consumption of no things."""
        none = np.zeros(0, dtype=np.int64)
        return cls(rows=rows, things=0, row=none, what=none, each=np.zeros(0))

    @classmethod
    def of_one(cls, need: Ints) -> Consumption:
        """Return what rows take of one thing.

        >>> Consumption.of_one(np.array([0, 5, 2])).total(np.array([1, 1, 3])).tolist()
        [11.0]
        """
        row = np.flatnonzero(need)
        return cls(rows=len(need), things=1, row=row, what=np.zeros_like(row), each=need[row].astype(np.float64))

    @classmethod
    def of_lines(cls, lines: Iterable[tuple[int, ...]], things: int) -> Consumption:
        """Return that rows take one of each thing in their line.

        >>> Consumption.of_lines([(0, 2), (), (2,)], things=3).total(np.array([4, 1, 8])).tolist()
        [4.0, 0.0, 12.0]
        """
        members, sizes = members_of(lines)
        row = np.repeat(np.arange(len(sizes)), sizes)
        return cls(rows=len(sizes), things=things, row=row, what=members, each=np.ones(len(members)))

    def and_of(self, other: Consumption) -> Consumption:
        """Return what the same rows take of these things and then of others."""
        row = np.concatenate([self.row, other.row])
        line = np.argsort(row, kind="stable")
        what = np.concatenate([self.what, self.things + other.what])[line]
        each = np.concatenate([self.each, other.each])[line]
        return Consumption(rows=self.rows, things=self.things + other.things, row=row[line], what=what, each=each)

    def of_groups(self, members: Ints, sizes: Ints) -> Consumption:
        """Return what groups take together: so many of the rows that are ``members`` each, one group after another."""
        start = np.searchsorted(self.row, np.arange(self.rows + 1))
        count = start[members + 1] - start[members]
        at = np.repeat(start[members] + count - np.cumsum(count), count) + np.arange(int(count.sum()))
        row = np.repeat(np.repeat(np.arange(len(sizes)), sizes), count)
        return Consumption(rows=len(sizes), things=self.things, row=row, what=self.what[at], each=self.each[at])

    def things_of_each(self) -> list[list[int]]:
        """Return which things each row takes.

        >>> Consumption.of_lines([(0, 2), (), (2,)], things=3).things_of_each()
        [[0, 2], [], [2]]
        """
        start, what = np.searchsorted(self.row, np.arange(self.rows + 1)).tolist(), self.what.tolist()
        return [what[first:end] for first, end in pairwise(start)]

    def cost(self, price: Floats) -> Floats:
        """Return what each row pays for all that it takes with a GPU."""
        cost: Floats = np.bincount(self.row, weights=self.each * price[self.what], minlength=self.rows).astype(
            np.float64
        )
        return cost

    def total(self, gpus: Ints | Floats) -> Floats:
        """Return what rows with so many GPUs take of each thing in all."""
        total: Floats = np.bincount(self.what, weights=self.each * gpus[self.row], minlength=self.things).astype(
            np.float64
        )
        return total


def members_of(groups: Iterable[Group]) -> tuple[Ints, Ints]:
    """Return the members of groups one after another, and how many each has.

    >>> [some.tolist() for some in members_of([(3, 1), (2,)])]
    [[3, 1, 2], [2, 1]]
    """
    every = list(groups)
    members = np.fromiter(chain.from_iterable(every), dtype=np.int64)
    return members, np.array([len(group) for group in every], dtype=np.int64)
