"""What is known without a search: groups of jobs that may follow one another as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints


def components(before: Ints, order: Ints) -> list[Ints]:
    """Return groups of jobs, one after another, such that the best orders of the groups make a best order of all.

    The groups are the strongly connected parts of the relation "a strict majority puts a before b". No majority puts a
    job before one of an earlier group, so that any two jobs of different groups stand as well as they can. Jobs of a
    group, and groups that may change places, follow ``order``.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    majority = before > before.T
    count, label = connected_components(csr_matrix(majority), directed=True, connection="strong")
    follows = np.zeros((count, count), dtype=np.bool_)
    first, second = np.nonzero(majority)
    follows[label[first], label[second]] = True
    np.fill_diagonal(follows, False)
    by_part = order[np.argsort(label[order], kind="stable")]
    members = np.split(by_part, np.cumsum(np.bincount(label, minlength=count))[:-1])
    return [members[part] for part in _sorted(follows, _first_places(label, order, count))]


def _first_places(label: NDArray[np.int32], order: Ints, count: int) -> Ints:
    first = np.full(count, len(order), dtype=np.int64)
    np.minimum.at(first, label[order], np.arange(len(order)))
    return first


def _sorted(follows: NDArray[np.bool_], place: Ints) -> list[int]:
    """Return the parts such that none comes before one it follows; of those that may come next, the first by place."""
    waits = follows.sum(axis=0)
    found = []
    for _ in range(len(place)):
        part = int(np.argmin(np.where(waits == 0, place, len(waits) + place.max() + 1)))
        found.append(part)
        waits -= follows[part]
        waits[part] = -1
    return found
