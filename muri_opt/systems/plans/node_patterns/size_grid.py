"""The room of a node as a grid of whole units, so that a dynamic programme can go through it.

Scaling of a knapsack: sizes are rounded up where a pattern is looked for, which then fits, and down where a bound is,
which then holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds.amounts import UNLIMITED, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Sizes of items, and the extent of the node, in units per resource; resources that cannot bind are left out.

    ``exact`` says that no size was rounded.
    """

    sizes: Ints
    extent: tuple[int, ...]
    exact: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each resource: from nothing used to all of it."""
        return tuple(size + 1 for size in self.extent)

    @classmethod
    def of(cls, use: Ints, capacity: Ints, *, cells: int, up: bool) -> Grid:
        """Return a grid of at most about ``cells`` cells for items that each fit the capacity.

        The unit is the largest that divides all sizes, or a multiple of it where that gives too many cells. Sizes are
        then rounded ``up``, which keeps what fits the grid within the node, or down, which keeps all that fits the
        node within the grid. CPUs and memory are left out where every item takes at most its GPUs' share of them.
        """
        binding = [0] + [r for r in (1, 2) if _can_bind(use, capacity, r)]
        take, has = use[:, binding], capacity[binding]
        least = np.array([max(1, int(np.gcd.reduce(take[:, r]))) if len(take) else 1 for r in range(len(binding))])
        unit = least.copy()
        while np.prod((has // unit + 1)[1:], dtype=np.float64) * (has[0] // unit[0] + 1) > cells and len(binding) > 1:
            widest = 1 + int(np.argmax((has // unit)[1:]))
            if has[widest] // unit[widest] <= 1:
                break
            unit[widest] *= 2
        rounded = -(-take // unit) if up else take // unit
        return cls(
            sizes=rounded, extent=tuple((has // unit).tolist()), exact=bool(np.array_equal(rounded * unit, take))
        )


def _can_bind(use: Ints, capacity: Ints, resource: int) -> bool:
    """Return whether items within the node's GPUs could take more of a resource than the node has."""
    if capacity[resource] >= UNLIMITED:
        return False
    beyond = use[:, resource] * capacity[0] > use[:, 0] * capacity[resource]
    return bool((beyond | ((use[:, 0] == 0) & (use[:, resource] > 0))).any())
