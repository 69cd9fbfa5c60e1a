"""What was worked out of objects that do not change, kept by the very object from round to round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Generic, TypeVar

V = TypeVar("V")
_Identities = tuple[int, *tuple[Hashable, ...]]
_Key = int | _Identities
"""The identity of an object, with what stands beside it if that is anything."""
Read = Callable[[Sequence[int]], Iterable[V]]
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
        return [None if one is None else one[1] for one in self._found(keys)]

    def all_of(self, keys: Sequence[_Identities], things: Sequence[object], read: Read[V]) -> list[V]:
        """Return the values of many things by keys; ``read`` has those of the things at places where none is known.

        A key begins with the identity of an object that its thing keeps alive, and has all else that a value depends
        on. Of things of one key the first is read.

        >>> plans, kept = [(1, 2), (3, 4)], KeptByObject[int]()
        >>> every = [*plans, plans[0]]
        >>> kept.all_of([(id(own),) for own in every], every, lambda places: [sum(plans[place]) for place in places])
        [3, 7, 3]
        """
        found = self._found(keys)
        unknown = [place for place, one in enumerate(found) if one is None]
        if unknown:
            first = _first_places(keys, unknown)
            if not first and len(unknown) == len(keys):  # as in a first round
                return self._new(keys, things, list(read(unknown)))
            places = sorted(first.values()) if first else unknown
            new = list(zip([things[place] for place in places], read(places), strict=True))
            for place, one in zip(places, new, strict=True):
                found[place] = one
            for place in unknown if first else ():
                found[place] = found[first[keys[place]]]
            self._make_room(len(new))
            self._used.update(zip([keys[place] for place in places], new, strict=True))
        return [one[1] for one in found if one is not None]

    def _new(self, keys: Sequence[_Identities], things: Sequence[object], values: list[V]) -> list[V]:
        """Keep the values of things of which none was known, all of different keys, and return them."""
        self._make_room(len(keys))
        self._used.update(zip(keys, zip(things, values, strict=True), strict=True))
        return values

    def _make_room(self, more: int) -> None:
        """Count what was used so far as used before, if with so many ``more`` it is too much."""
        if len(self._used) + more > self._most:
            self._before, self._used = self._used, {}

    def _found(self, keys: Sequence[_Key]) -> list[tuple[object, V] | None]:
        """Return what is kept by keys; what was kept before is used again."""
        found = list(map(self._used.get, keys))
        if self._before and None in found:
            for place, again in enumerate(map(self._before.get, keys)):
                if again is not None and found[place] is None:
                    found[place] = again
                    self._keep(keys[place], again)
        return found

    def put(self, thing: object, beside: Hashable, value: V) -> None:
        """Keep a value."""
        self._keep(id(thing) if beside is None else (id(thing), beside), (thing, value))

    def _keep(self, key: _Key, found: tuple[object, V]) -> None:
        if len(self._used) >= self._most:
            self._before, self._used = self._used, {}
        self._used[key] = found


def _first_places(keys: Sequence[_Identities], places: Sequence[int]) -> dict[_Key, int]:
    """Return the first of some places of each key, or nothing where all objects are different: that is told sooner."""
    if len({keys[place][0] for place in places}) == len(places):
        return {}
    return {keys[place]: place for place in reversed(places)}
