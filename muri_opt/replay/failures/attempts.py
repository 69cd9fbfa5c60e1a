"""Trials of jobs: those that are going to fail, as drawn, and those that have failed, as a cluster saw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from muri_opt.errors import InputError
from muri_opt.rounds.field_checks import check_kind, items, text
from muri_opt.rounds.quantities import MAX_GPUS, MAX_SECONDS, MILLISECONDS_PER_SECOND, snapped, whole

MAX_MILLISECONDS: Final = int(MAX_SECONDS) * MILLISECONDS_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A run that fails for the named reason once it has run for so long."""

    failure: str
    milliseconds: int

    def __post_init__(self) -> None:
        text("failure", self.failure)
        whole("milliseconds", self.milliseconds, MAX_MILLISECONDS, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailures:
    """The runs of one job that fail, in order, and whether the run after them passes.

    A job that does not pass is withdrawn by its user after the last of them, if no rule has stopped it before.
    """

    trials: tuple[Trial, ...] = ()
    passes: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", tuple(items("trials", self.trials)))
        for position, trial in enumerate(self.trials):
            check_kind(f"trials[{position}]", trial, Trial)
        if not self.trials and not self.passes:
            raise InputError("passes", "False without a failing trial", "True, or at least one trial")


NO_FAILURE: Final = JobFailures()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTrial:
    """A run that failed: why, after how many seconds, on how many GPUs."""

    failure: str
    seconds: float
    gpus: int

    def __post_init__(self) -> None:
        text("failure", self.failure)
        seconds = snapped("seconds", self.seconds, MAX_SECONDS, MILLISECONDS_PER_SECOND)
        object.__setattr__(self, "seconds", seconds)
        whole("gpus", self.gpus, MAX_GPUS)

    @property
    def milliseconds(self) -> int:
        """Return how long it ran, in whole milliseconds."""
        return round(self.seconds * MILLISECONDS_PER_SECOND)
