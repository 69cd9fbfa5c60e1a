"""Priorities in an exact program: what groups are worth to one of them after another, in numbers that stay small.

What all groups are worth to a class is held while the next class is optimised. As one row that would have coefficients
in the millions, at which solvers that compute in floating point err. So it is held by digits: it is at least
1000 h_c + l_c, where l_c is below 1000 and k_c what the last three digits of all groups together carry over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.modelling import ModelBuilder, Stage
from muri_opt.rounds.amounts import Ints

_DIGITS = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorityDigits:
    """``values[c]`` is what each group is worth to class c, ``weights[c]`` how often that counts.

    There are at most ``most`` groups. All classes but the last have columns h, l and k.
    """

    values: Sequence[Ints]
    weights: Sequence[int]
    most: int

    @property
    def _held(self) -> range:
        return range(len(self.values) - 1)

    def add(self, builder: ModelBuilder, x: Ints) -> None:
        """Add the columns, and the rows ``high`` and ``low`` that tie them to the columns x of the groups."""
        if not self._held:
            return
        tops = np.array([self._top(one) // _DIGITS + 1 for one in self._held], dtype=np.int64)
        h = builder.add_columns("h", self._held, lower=-tops, upper=tops)
        l = builder.add_columns("l", self._held, upper=_DIGITS - 1)  # noqa: E741 - its letter
        k = builder.add_columns("k", self._held, upper=self.most)
        every = np.arange(len(self._held))
        rows = np.repeat(every, len(x))
        groups = np.tile(x, len(every))
        high = np.concatenate([self.values[one] // _DIGITS for one in self._held])
        low = np.concatenate([self.values[one] % _DIGITS for one in self._held])
        for label, parts, carried, rest in (("high", high, 1, h), ("low", low, -_DIGITS, l)):
            columns = np.concatenate([groups, k, rest])
            numbers = np.concatenate([-parts, np.full_like(k, -carried), np.ones_like(rest)])
            entries = (np.concatenate([rows, every, every]), columns, numbers)
            builder.add_rows(label, self._held, entries=entries, sense="<=", rhs=0)

    def encoded(self, x: Ints) -> Ints:
        """Return the columns h, l and k that go with how often groups run."""
        worth = np.array([int(self.values[one] @ x) for one in self._held], dtype=np.int64)
        last = np.array([int(self.values[one] % _DIGITS @ x) for one in self._held], dtype=np.int64)
        return np.concatenate([worth // _DIGITS, worth % _DIGITS, last // _DIGITS])

    def stages(self, columns: int) -> tuple[Stage, ...]:
        """Return the stages of a program of so many columns, the last of which are h, l and k: one for each class."""
        first, held = columns - 3 * len(self._held), len(self._held)
        stages = []
        for one, (value, weight) in enumerate(zip(self.values, self.weights, strict=True)):
            objective = np.append(value, np.zeros(columns - len(value), dtype=np.int64))
            digits = ((first + one, _DIGITS), (first + held + one, 1)) if one in self._held else ()
            stages.append(Stage(objective=objective, weight=weight, best=self._top(one), digits=digits))
        return tuple(stages)

    def _top(self, one: int) -> int:
        return self.most * int(np.abs(self.values[one]).max(initial=0))
