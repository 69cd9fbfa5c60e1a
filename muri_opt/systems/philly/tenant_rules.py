"""What a multi-tenant cluster allows, and how it weighs what it may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds

NEVER: Final = "never"
UNLIMITED: Final = "inf"

WHOLE: Final = 1000
"""Speeds, ages and loads are whole numbers of thousandths."""
OLDEST: Final = 250
"""What waiting adds to the worth of a GPU at most, in thousandths: age decides between equals, not against locality."""
DEAREST: Final = 10_000
"""The most a restart counts for one GPU, in thousandths: ten horizons of its work."""

COMPLETION: Final = "completion"
"""The objective by which work counts as much as it is worth for completion times, after quotas and preemptions."""
USUAL: Final = {
    "rack_after": "600",
    "any_after": "1800",
    "hold": "150",
    "backoff": "0",
    "preempt_at": "0.9",
    "migrate": "0",
    "dedicated": NEVER,
    "rack_speed": "0.854",
    "any_speed": "0.729",
    "aging": "86400",
    "horizon": "600",
    "objective": "lexicographic",
}
_TIMES: Final = ("rack_after", "any_after", "hold", "backoff", "aging", "horizon")


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

    @classmethod
    def of(cls, rules: Mapping[str, str]) -> TenantRules:
        """Return what the settings of the chapter say; a load is rounded up, a speed down."""
        said = USUAL | dict(rules)
        times = {name: microseconds(float(said[name])) for name in _TIMES}
        return cls(
            **times,
            preempt_at=None if said["preempt_at"] == NEVER else ceil(WHOLE * Fraction(said["preempt_at"])),
            migrate=None if said["migrate"] == UNLIMITED else int(said["migrate"]),
            dedicated=None if said["dedicated"] == NEVER else int(said["dedicated"]),
            speed=(WHOLE, _thousandths(said["rack_speed"]), _thousandths(said["any_speed"])),
            objective=said["objective"],
        )

    def next_tries(self, waited: Ints) -> list[int]:
        """Return in how many microseconds waiting gangs may spread further, or are tried or left alone in turn."""
        found = []
        for moment in (self.rack_after, self.any_after):
            found += (moment - waited[waited < moment]).tolist()
        if self.backoff:
            inside = waited % (self.hold + self.backoff)
            found += np.where(inside < self.hold, self.hold - inside, self.hold + self.backoff - inside).tolist()
        return found

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


def _thousandths(text: str) -> int:
    return max(1, floor(WHOLE * Fraction(text)))
