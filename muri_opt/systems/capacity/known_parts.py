"""The nodes and GPUs of shares, worked out once: a schedule asks for those of the same shares again and again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Entries
from muri_opt.systems.capacity.held_parts import Parts, held_parts


class KnownParts:
    """The parts of GPUs per node, by the very array: whoever asks does not change one that was asked for.

    >>> KnownParts().of(np.array([0, 2, 1]))
    [(1, 2), (2, 1)]
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Ints, Parts]] = {}
        """By the identity of the array, which is kept, or another could have it later."""

    def of(self, share: Ints) -> Parts:
        """Return the nodes of which a share has GPUs, in their order, and how many."""
        known = self._known.get(id(share))
        if known is not None:
            return known[1]
        nodes = share.nonzero()[0]
        return self.keep(share, list(zip(nodes.tolist(), share[nodes].tolist(), strict=True)))

    def keep(self, share: Ints, parts: Parts) -> Parts:
        """Remember the parts of a share, in the order of the nodes; return them."""
        self._known[id(share)] = share, parts
        return parts

    def share(self, parts: Parts, nodes: int) -> Ints:
        """Return the GPUs per node of so many that parts are, and remember them."""
        share = np.zeros(nodes, dtype=np.int64)
        for node, gpus in parts:
            share[node] = gpus
        self.keep(share, sorted(parts))
        return share

    def held(self, round_: Round, job: int) -> Ints | None:
        """Return the GPUs per node a running job holds now, or ``None``, as :func:`.gang_fit.held_gpus` does."""
        parts = held_parts(round_)[job]
        return None if parts is None else self.share(parts, len(round_.cluster.nodes))

    def entries(self, shares: Iterable[Ints]) -> Entries:
        """Return who has GPUs where, as :func:`.free_capacity.entries` does."""
        every = [self.of(share) for share in shares]
        group = np.repeat(np.arange(len(every), dtype=np.int64), [len(parts) for parts in every])
        node = np.array([node for parts in every for node, _ in parts], dtype=np.int64)
        return group, node, np.array([gpus for parts in every for _, gpus in parts], dtype=np.int64)
