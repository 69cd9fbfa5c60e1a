"""What a multi-tenant cluster allows, and how it weighs what it may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WHOLE: Final = 1000
"""Speeds, ages and loads are whole numbers of thousandths."""
OLDEST: Final = 250
"""What waiting adds to the worth of a GPU at most, in thousandths: age decides between equals, not against locality."""
DEAREST: Final = 10_000
"""The most a restart counts for one GPU, in thousandths: ten horizons of its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRules:
    """The rules of the chapter *placement*, in whole numbers: microseconds and thousandths.

    A gang that has waited for ``rack_after`` may spread inside a rack, after ``any_after`` over any nodes, at the
    ``speed`` of the three ways to sit. It is tried for ``hold`` and left alone for ``backoff``, in turn. Running jobs
    are preempted only from a load of ``preempt_at`` on (``None``: never), and moved with at most ``migrate`` GPUs in a
    round (``None``: any). Gangs from ``dedicated`` GPUs on share their nodes with nobody (``None``: all may).

    >>> times = {"rack_after": 600_000_000, "any_after": 1_800_000_000, "hold": 150_000_000, "backoff": 0}
    >>> rates = {"aging": 86_400_000_000, "horizon": 600_000_000, "speed": (1000, 854, 729)}
    >>> rules = TenantRules(**times, **rates, preempt_at=900, migrate=0, dedicated=None, objective="weighted")
    >>> [rules.level(waited * 1_000_000) for waited in (0, 600, 1800)]
    [0, 1, 2]
    """

    rack_after: int
    any_after: int
    hold: int
    backoff: int
    preempt_at: int | None
    migrate: int | None
    dedicated: int | None
    speed: tuple[int, int, int]
    aging: int
    horizon: int
    objective: str

    def level(self, waited: int) -> int:
        """Return how far a gang may spread that has waited so long: 0 not, 1 in a rack, 2 anywhere; -1: left alone."""
        if self.backoff and waited % (self.hold + self.backoff) >= self.hold:
            return -1
        return int(waited >= self.rack_after) + int(waited >= max(self.rack_after, self.any_after))

    def age(self, waited: int) -> int:
        """Return the worth of a GPU of a gang that has waited so long."""
        return WHOLE + OLDEST * min(waited, self.aging) // self.aging

    def restart(self, seconds: int) -> int:
        """Return what a restart of so many microseconds costs for each GPU: the work it loses over the horizon."""
        return min(DEAREST, max(1, -(-WHOLE * seconds // self.horizon)))

    def shares_with_nobody(self, gpus: int) -> bool:
        """Return whether a gang of so many GPUs has its nodes to itself."""
        return self.dedicated is not None and gpus >= self.dedicated
