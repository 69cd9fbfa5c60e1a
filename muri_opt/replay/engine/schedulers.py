"""What the engine asks at every round: who runs where from now on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muri_opt.replay.engine.job_state import Live, Placement, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What changes: placements that are new or other than before, and jobs that stop; everybody else stays placed.

    ``waiting`` says why jobs wait; one that is not there waits for capacity.
    """

    placements: tuple[Placement, ...] = ()
    stops: tuple[int, ...] = ()
    waiting: Mapping[int, Reason] = field(default_factory=dict)


class Scheduler(Protocol):
    """Decides at every round; it may keep what it knows of the jobs from one to the next."""

    def decide(self, live: Live) -> Allocation:
        """Return what changes at ``live.now``."""
        ...

    def wakes(self, live: Live) -> float:
        """Return when to be asked again, after ``live.now``, if nothing happens before; infinity for never."""
        ...
