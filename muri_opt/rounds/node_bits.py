"""Sets of nodes as the bits of whole numbers: node s is bit s. What is asked of sets is then one step for all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Bits = int
EVERY_NODE: Final[Bits] = -1
"""All nodes, however many there are."""


def bits_of(nodes: NDArray[np.bool_]) -> Bits:
    """Return nodes as bits.

    >>> bits_of(np.array([True, False, True]))
    5
    """
    return int.from_bytes(np.packbits(nodes, bitorder="little").tobytes(), "little")


def bits_of_each(rows: NDArray[np.bool_]) -> list[Bits]:
    """Return the nodes of each row as bits.

    >>> bits_of_each(np.array([[True, False, True], [False, True, False]]))
    [5, 2]
    """
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=1, bitorder="little")]


def rows_of_bits(sets: Sequence[Bits], nodes: int) -> NDArray[np.bool_]:
    """Return a row for each of the sets that says which of so many nodes are in it; any others are left out.

    >>> rows_of_bits([5, 2, -1], 3).astype(int).tolist()
    [[1, 0, 1], [0, 1, 0], [1, 1, 1]]
    """
    size, every = -(-nodes // 8), (1 << nodes) - 1
    written = b"".join([(one & every).to_bytes(size, "little") for one in sets])
    packed = np.frombuffer(written, dtype=np.uint8).reshape(len(sets), size)
    return np.unpackbits(packed, axis=1, count=nodes, bitorder="little").astype(np.bool_)


def nodes_of(some: Bits, nodes: int) -> NDArray[np.int64]:
    """Return which of so many nodes are in a set; any others are left out.

    >>> nodes_of(5, 4).tolist(), nodes_of(EVERY_NODE, 2).tolist()
    ([0, 2], [0, 1])
    """
    written = (some & (1 << nodes) - 1).to_bytes(-(-nodes // 8), "little")
    return np.unpackbits(np.frombuffer(written, dtype=np.uint8), bitorder="little").nonzero()[0]


def words_of(rows: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return ``[w, u]``, the w-th 64 nodes of row u as the bits of a word.

    >>> words_of(np.array([[True, False, True], [False, True, False]])).shape
    (1, 2)
    """
    packed = np.packbits(rows, axis=1)
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(padded.view(np.uint64).T)
