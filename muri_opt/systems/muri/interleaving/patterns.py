"""The patterns by name: how many slots, who may sit where, and how long a round takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import factorial, perm
from types import MappingProxyType
from typing import Any

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.error_text import shown
from muri_opt.systems.muri.interleaving.authors_pattern import SLOTS, recurrence_periods, steady_periods
from muri_opt.systems.muri.interleaving.cyclic_pattern import cyclic_periods
from muri_opt.systems.muri.interleaving.slot_layouts import Layout, every_layout, packed_layout, packed_or_opposite
from muri_opt.systems.muri.interleaving.stage_slots import Seats

MOST_ORDERS = 362_880
"""A group with more ways to sit is refused; ten jobs on ten resources still have no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One way to interleave.

    ``stages`` and ``slots`` are the numbers it is made for, ``None`` where any number of stages has as many slots.
    ``periods`` takes whole microseconds, or float seconds where ``in_seconds``. ``packed`` groups leave the last slots
    empty; others sit where it is best.
    """

    name: str
    layouts: Callable[[int, int], tuple[Layout, ...]]
    periods: Callable[[Seats], Any]
    stages: int | None = None
    slots: int | None = None
    in_seconds: bool = False
    packed: bool = False

    @property
    def adds_up(self) -> bool:
        """Whether a period is the sum over slots of the longest stage in each."""
        return self.periods is cyclic_periods

    def checked_slots(self, stages: int, stages_field: str) -> int:
        """Return the slots for jobs of so many stages, or refuse the number."""
        if stages < 1 or (self.stages is not None and stages != self.stages):
            allowed = "at least 1" if self.stages is None else f"{self.stages} (data, GPU, network)"
            raise InputError(stages_field, f"{stages} stage times", f"{allowed} under the pattern {self.name!r}")
        return stages if self.slots is None else self.slots

    def checked_jobs(self, jobs: int, slots: int, group_field: str, job_field: str) -> int:
        """Return the jobs of a group on so many slots, or refuse a group that is empty or too large."""
        if jobs < 1:
            raise InputError(group_field, "no jobs", "a group of at least 1 job")
        if jobs > slots:
            raise InputError(job_field, f"{jobs} jobs in one group", f"at most {slots}, one per slot of {self.name!r}")
        ways = factorial(jobs) if self.packed else perm(slots - 1, jobs - 1)
        if ways > MOST_ORDERS:
            found = f"{jobs} jobs on {slots} slots, {ways:,} orders"
            raise InputError(group_field, found, f"a group with at most {MOST_ORDERS:,} orders")
        return jobs


PATTERNS: Mapping[str, Pattern] = MappingProxyType(
    {
        pattern.name: pattern
        for pattern in (
            Pattern(name="cyclic", layouts=every_layout, periods=cyclic_periods),
            Pattern(name="muri-cyclic", layouts=packed_layout, periods=cyclic_periods, packed=True),
            Pattern(
                name="muri-4slot",
                layouts=packed_or_opposite,
                periods=recurrence_periods,
                stages=3,
                slots=SLOTS,
                in_seconds=True,
                packed=True,
            ),
            Pattern(name="muri-4slot-steady", layouts=every_layout, periods=steady_periods, stages=3, slots=SLOTS),
        )
    }
)
"""``cyclic``: any order, the empty slots where they are best. ``muri-cyclic``: the same sum with the empty slots last.
``muri-4slot``: three stages on four slots, as the authors' simulator estimates it. ``muri-4slot-steady``: the exact
period of those slots, the empty ones where they are best."""


def pattern_named(name: object) -> Pattern:
    """Return a pattern, or refuse a name nobody knows."""
    if not isinstance(name, str):
        raise InputError("pattern", shown(name), "one of " + ", ".join(sorted(PATTERNS)))
    if name not in PATTERNS:
        raise unknown_name("pattern", name, PATTERNS)
    return PATTERNS[name]


def slot_count(pattern: str, stages: int) -> int:
    """Return how many slots a cycle of the pattern has for jobs of so many stages.

    >>> slot_count("cyclic", 4)
    4
    """
    return pattern_named(pattern).checked_slots(stages, "stages")
