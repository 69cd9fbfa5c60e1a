"""Arrays of many things one below the other, made from those of the last time: most things are still the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Stacked:
    """The arrays of some things, each thing with ``sizes`` rows of its own in every one of them.

    An array is made when it is asked for, from that of the things ``before`` if they had it. Things are known by the
    very object, and do not change.
    """

    def __init__(self, things: Sequence[object], sizes: Sequence[int], before: Stacked | None) -> None:
        self.things, self._before = things, before
        self.ends: Ints = np.cumsum(sizes, dtype=np.int64)
        self.made: dict[str, NDArray[Any]] = {}
        """The arrays that were asked for."""

    @property
    def begins(self) -> Ints:
        """Where the rows of each thing begin, and in the end where the last ones end."""
        return np.append(0, self.ends)

    def column(self, name: str, nothing: NDArray[Any]) -> NDArray[Any]:
        """Return the arrays of one name of all things; ``nothing`` is that of none."""
        found = self.made.get(name)
        if found is None:
            before = self._before
            known = None if before is None else before.made.get(name)
            if known is None:
                found = np.concatenate([nothing, *(getattr(thing, name) for thing in self.things)])
            else:
                new = (getattr(self.things[place], name) for place in self._new)
                found = np.concatenate([known, *new])[self._rows]
            self.made[name] = found
        return found

    def forget(self) -> None:
        """Make no more arrays from those before."""
        self._before = None

    @cached_property
    def place(self) -> dict[int, int]:
        """Where each thing is, by its identity."""
        return {id(thing): place for place, thing in enumerate(self.things)}

    @cached_property
    def _known(self) -> Ints:
        """The place of each thing among those before, -1 for a new one."""
        places = {} if self._before is None else self._before.place
        return np.array([places.get(id(thing), -1) for thing in self.things], dtype=np.int64)

    @cached_property
    def _new(self) -> list[int]:
        found: list[int] = np.flatnonzero(self._known < 0).tolist()
        return found

    @cached_property
    def _rows(self) -> Ints:
        """Where the rows of all things are among those before with the rows of the new ones below."""
        sizes = np.diff(self.begins)
        old = np.zeros(1, dtype=np.int64) if self._before is None else self._before.begins
        start = old[self._known]
        start[self._new] = old[-1] + np.cumsum(sizes[self._new]) - sizes[self._new]
        return np.repeat(start - self.begins[:-1], sizes) + np.arange(self.begins[-1])


class RowStack:
    """What stacks the arrays of things, and remembers the last ones.

    >>> class Thing:
    ...     def __init__(self, *numbers: int) -> None:
    ...         self.numbers = np.array(numbers)
    >>> stack, (one, two, three) = RowStack(), (Thing(1), Thing(2, 2), Thing(3))
    >>> stack.of([one, two], [1, 2]).column("numbers", np.zeros(0, dtype=np.int64)).tolist()
    [1, 2, 2]
    >>> stack.of([two, three], [2, 1]).column("numbers", np.zeros(0, dtype=np.int64)).tolist()
    [2, 2, 3]
    """

    def __init__(self) -> None:
        self._last: Stacked | None = None

    def of(self, things: Sequence[object], sizes: Sequence[int]) -> Stacked:
        """Return the arrays of some things, each with so many rows."""
        last, found = self._last, Stacked(things, sizes, self._last)
        if last is not None:
            last.forget()
        self._last = found
        return found
