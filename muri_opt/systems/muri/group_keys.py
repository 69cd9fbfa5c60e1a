"""Groups of types as numbers, so that those that are there twice are found."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints


def different(groups: Ints) -> Ints:
    """Return groups without those that are there twice."""
    return groups[np.unique(keys(groups, int(groups.max(initial=0)) + 1), return_index=True)[1]]


def keys(groups: Ints, kinds: int) -> Ints:
    """Return a number for each group of so many kinds that no other has."""
    key = np.zeros(len(groups), dtype=np.int64)
    for member in groups.T:  # at most four, of types that are fewer than the fourth root of what a word holds
        key = key * (kinds + 1) + member + 1
    return key
