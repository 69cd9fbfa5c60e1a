"""What was worked out of objects that do not change, kept by the very object from round to round."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, Generic, TypeVar

V = TypeVar("V")
_Key = int | tuple[int, Hashable]
"""The identity of an object, with what stands beside it if that is anything."""
LEAST: Final = 64
"""Values that are kept however few things there are."""


class KeptByObject(Generic[V]):
    """Values by object and whatever else they depend on; at most twice ``most`` of them are kept.

    Whether an object is known is told without comparing it: jobs of a session keep their plans, thousands of them, as
    the same objects. An object is kept alive with its value. When ``most`` values were used since the last time, those
    that were not are forgotten; :meth:`expect` sets how many that are.

    >>> kept, plans = KeptByObject[int](), (1, 2, 3)
    >>> kept.put(plans, "sum", 6)
    >>> kept.get(plans, "sum"), kept.get((1, 2), "sum")
    (6, None)
    """

    def __init__(self, least: int = LEAST) -> None:
        self._least = self._most = least
        self._used: dict[_Key, tuple[object, V]] = {}
        self._before: dict[_Key, tuple[object, V]] = {}

    def __len__(self) -> int:
        return len(self._used.keys() | self._before.keys())

    def expect(self, things: int) -> None:
        """Say how many things there are now: as many again are kept that were there before."""
        self._most = max(self._least, 2 * things)

    def get(self, thing: object, beside: Hashable) -> V | None:
        """Return what is known of the very object."""
        key: _Key = id(thing) if beside is None else (id(thing), beside)
        found = self._used.get(key)
        if found is None:
            found = self._before.get(key)
            if found is None:
                return None
            self._keep(key, found)
        return found[1]

    def get_all(self, things: Sequence[object], besides: Iterable[Hashable] | None = None) -> list[V | None]:
        """Return what is known of each of many objects, sooner than one by one; by default ``None`` is beside each."""
        ids = map(id, things)
        keys: list[_Key] = list(ids) if besides is None else list(zip(ids, besides, strict=True))
        found = list(map(self._used.get, keys))
        for place, one in enumerate(found):
            if one is None:
                found[place] = known = self._before.get(keys[place])
                if known is not None:
                    self._keep(keys[place], known)
        return [None if one is None else one[1] for one in found]

    def put(self, thing: object, beside: Hashable, value: V) -> None:
        """Keep a value."""
        self._keep(id(thing) if beside is None else (id(thing), beside), (thing, value))

    def put_all(self, things: Sequence[object], besides: Iterable[Hashable], values: Iterable[V]) -> None:
        """Keep the values of many objects, sooner than one by one."""
        if len(self._used) + len(things) > self._most:
            for thing, beside, value in zip(things, besides, values, strict=True):
                self.put(thing, beside, value)
            return
        keys = [
            id(thing) if beside is None else (id(thing), beside) for thing, beside in zip(things, besides, strict=True)
        ]
        self._used.update(zip(keys, zip(things, values, strict=True), strict=True))

    def _keep(self, key: _Key, found: tuple[object, V]) -> None:
        if len(self._used) >= self._most:
            self._before, self._used = self._used, {}
        self._used[key] = found
