"""Strategies that are made once: making one anew for every draw takes several times as long as drawing from it.

What is drawn is the same either way.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
_MOST = 4096
"""How many strategies of values are kept."""


def value_of(*values: T) -> st.SearchStrategy[T]:
    """Return the strategy of one of the values, which can be hashed.

    >>> value_of(1, 2) is value_of(1, 2)
    True
    >>> value_of(1, 2) is value_of(1.0, 2.0)
    False
    """
    return _value_of(*values)


@lru_cache(maxsize=_MOST, typed=True)
def _value_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@cache
def orders(count: int) -> st.SearchStrategy[list[int]]:
    """Return the strategy of the numbers below ``count`` in any order."""
    return st.permutations(range(count))


@cache
def number_or_none(most: int) -> st.SearchStrategy[int | None]:
    """Return the strategy of none, or a whole number up to ``most``."""
    return st.none() | st.integers(0, most)
