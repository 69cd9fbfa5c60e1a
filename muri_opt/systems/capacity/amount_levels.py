"""Which nodes may have so much left of CPUs or memory, as bit sets: few others have to be looked at one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.rounds.node_bits import Bits, bits_of_each

_STEPS: Final = 12
"""Steps in which the largest amount that is limited is told."""


class AmountLevels:
    """An amount that is ``left`` on each node, in steps; it only shrinks.

    >>> levels = AmountLevels([64, 3, 40])
    >>> levels.nodes_with(40), levels.nodes_with(1)
    (5, 7)
    """

    def __init__(self, left: Sequence[int]) -> None:
        self._left = left
        self._step = max(1, -(-max([amount for amount in left if amount < UNLIMITED], default=0) // _STEPS))
        level = np.clip(np.array(left, dtype=np.int64) // self._step, 0, _STEPS)
        self._level: list[int] = level.tolist()
        self._sets = bits_of_each(level >= np.arange(_STEPS + 1)[:, np.newaxis])

    def nodes_with(self, amount: int) -> Bits:
        """Return the nodes that have so much left, with some that lack less than a step."""
        return self._sets[min(amount // self._step, _STEPS)]

    def look_at(self, nodes: Sequence[int]) -> None:
        """Read what is left on some nodes now."""
        for node in nodes:
            before, now = self._level[node], max(0, min(self._left[node] // self._step, _STEPS))
            if now < before:
                self._level[node] = now
                for level in range(now + 1, before + 1):
                    self._sets[level] ^= 1 << node
