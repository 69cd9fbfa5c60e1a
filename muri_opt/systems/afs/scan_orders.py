"""Orders in which the pair rule visits jobs; the answer depends on them, because the rule is not transitive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.error_text import shown
from muri_opt.systems.curves import Ints

_ORDERS: Final[dict[str, Callable[[Ints], Ints]]] = {
    "longest": lambda alone: np.argsort(-alone, kind="stable"),
    "arrival": lambda alone: np.arange(len(alone)),
    "shortest": lambda alone: np.argsort(alone, kind="stable"),
}
SCANS: Final = tuple(_ORDERS)
"""``longest`` (on one GPU) first; ``arrival``, the given order, as the authors' code scans; ``shortest`` first."""


def scan_order(name: str, time: Ints) -> Ints:
    """Return job positions in the order ``name``, from ``time[j, k]``; equal times keep the given order.

    >>> scan_order("longest", np.array([[NEVER, 10], [NEVER, 30]]))
    array([1, 0])
    """
    if name not in _ORDERS:
        raise unknown_name("scan", name, SCANS)
    return _ORDERS[name](time[:, 1]).astype(np.int64)


def checked_scan(scan: ArrayLike, jobs: int) -> Ints:
    """Return ``scan`` as an array, or refuse it: every job position must be in it once."""
    places = np.asarray(scan)
    whole = places.ndim == 1 and (np.issubdtype(places.dtype, np.integer) or not places.size)
    if not whole or not np.array_equal(np.sort(places), np.arange(jobs)):
        raise InputError("scan", shown(scan), f"each of the {jobs:,} job positions once")
    return places.astype(np.int64)
