"""Stages of the chapter *sharing* where jobs have priorities: what a class is worth, in digits that solvers can hold.

A class that was decided is held at its value while the next is, by a row. Values of nine digits and more are too large
for the rows of solvers that count in floating point, so such a value is written with two digits of a large base:
letters as in the chapter, q_c the first digit of class c, r_c the second, and o_c what is carried over from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.modelling import Ints, ModelBuilder, Stage
from muri_opt.systems.afs.priority_classes import PriorityClass

BASE: Final = 1 << 16
LARGEST: Final = 1_000_000
"""Values up to which the row of a class has the values themselves."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassColumns:
    """The classes of a round over ``value``, what each column of its shares is worth, and ``owner``, its job."""

    classes: Sequence[PriorityClass]
    owner: Ints
    value: Ints

    @property
    def split(self) -> list[int]:
        """The classes that are written in digits: those that are held, and have large values."""
        held = range(len(self.classes) - 1)
        return [place for place in held if int(np.abs(self.objective(place)).max(initial=0)) > LARGEST]

    def objective(self, place: int) -> Ints:
        """Return what each column is worth in one class."""
        return np.where(np.isin(self.owner, self.classes[place].jobs), self.value, 0)

    def add(self, builder: ModelBuilder) -> None:
        """Add the columns and rows of the digits, after those of the shares."""
        split = np.array(self.split, dtype=np.int64)
        if not len(split):
            return
        high, low = self._digits()
        jobs = np.array([len(self.classes[place].jobs) for place in split], dtype=np.int64)
        least, most = np.minimum(high, 0).sum(axis=1), np.maximum(high, 0).sum(axis=1) + jobs
        q = builder.add_columns("q", split, lower=least, upper=most)
        r = builder.add_columns("r", split, upper=BASE - 1)
        o = builder.add_columns("o", split, upper=jobs)
        rows, ones = np.arange(len(split)), np.ones_like(split)
        for label, digits, first, second in (
            ("high", high, (o, ones), (q, -ones)),
            ("low", low, (o, -BASE * ones), (r, -ones)),
        ):
            row, column = np.nonzero(digits)
            entries = (
                np.concatenate([row, rows, rows]),
                np.concatenate([column, first[0], second[0]]),
                np.concatenate([digits[row, column], first[1], second[1]]),
            )
            builder.add_rows(label, split, entries=entries, sense="=", rhs=0)

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage for each class, or two where it is written in digits."""
        split, shares = self.split, len(self.owner)
        stages = []
        for place, one in enumerate(self.classes):
            if place not in split:
                objective = np.append(self.objective(place), np.zeros(3 * len(split), dtype=np.int64))
                stages.append(Stage(objective=objective, weight=one.weight, best=one.best))
                continue
            at = shares + split.index(place)
            for column, weight, best in (
                (at, one.weight * BASE, one.best // BASE),
                (at + len(split), one.weight, BASE - 1),
            ):
                objective = np.zeros(shares + 3 * len(split), dtype=np.int64)
                objective[column] = 1
                stages.append(Stage(objective=objective, weight=weight, best=best))
        return tuple(stages)

    def written(self, shares: Ints) -> Ints:
        """Return the values of all columns for those of the shares."""
        worth = np.array([int(self.objective(place) @ shares) for place in self.split], dtype=np.int64)
        high, _ = self._digits()
        return np.concatenate([shares, worth // BASE, worth % BASE, worth // BASE - high @ shares])

    def _digits(self) -> tuple[Ints, Ints]:
        """Return the first and the second digit of what each column is worth, by class."""
        values = np.array([self.objective(place) for place in self.split], dtype=np.int64)
        values = values.reshape(len(self.split), len(self.owner))
        return values // BASE, values % BASE
