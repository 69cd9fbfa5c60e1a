"""What a reader left out or could not keep: counted by reason, with the first example of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LEFT_OUT: Final[Mapping[str, str]] = {
    "no-submission-time": "the time of submission is missing",
    "no-attempt": "the job never started, or no start is recorded",
    "no-duration": "the duration is missing, and no attempt is recorded",
    "no-gpu": "the job asks for no GPU",
    "shared-gpu": "the pod asks for a part of a GPU; a round counts whole ones",
    "start-before-submission": "the clock goes backwards: the job starts before it is submitted",
    "end-before-start": "the clock goes backwards: an end before its start",
    "overlapping-attempts": "the clock goes backwards: an attempt starts before the one before it ends",
    "duplicate-id": "the id was seen before; the first of them is kept",
    "machine-without-gpu": "the machine has no GPU",
}
"""Why a job or a machine is left out."""

NOTED: Final[Mapping[str, str]] = {
    "attempt-without-start": "an attempt has no start; the job is kept without that attempt",
    "attempt-without-end": "an attempt before the last has no end; it counts no time",
    "unlisted-machine": "an attempt is on a machine that is not listed; it is kept without its placement",
    "too-few-gpus": "an attempt holds more GPUs than the machine has; it is kept without its placement",
    "repeated-gpu": "an attempt names a GPU twice; it counts once",
    "unknown-status": "the status is not one of the format; kept as unknown",
    "gpu-type": "the pod asks for a GPU type; a job of a round has none",
    "same-row": "the row equals an earlier one; it is kept as a job of its own",
    "other-duration": "the duration is not end - start; end - start is taken",
    "other-gpu-time": "gpu_time is not duration x num_gpus; it is not used",
}
"""What a kept job or attempt lost, or what is odd about it."""

GIVEN_AS_WAITING: Final[Mapping[str, str]] = {
    "no-placement": "the trace does not say where the job ran",
    "not-in-cluster": "the job ran on a machine that is not in the cluster",
    "other-gpus": "the attempt held another number of GPUs than the first one",
    "no-room": "its GPUs are taken by other jobs, or the node has fewer",
}
"""Why a job that ran at a moment is given as waiting in the round."""

REASONS: Final[Mapping[str, str]] = {**LEFT_OUT, **NOTED, **GIVEN_AS_WAITING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """How often something was left out or lost for one reason, and where it happened first."""

    reason: str
    count: int
    example: str

    @property
    def meaning(self) -> str:
        """The reason as a sentence."""
        return REASONS[self.reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport:
    """What became of the rows of a file: ``rows`` read, ``kept`` of them, the rest counted in ``left_out``.

    ``noted`` counts what kept rows lost, once for every time it happened. ``unused_columns`` were not read at all.
    """

    rows: int
    kept: int
    left_out: tuple[Dropped, ...] = ()
    noted: tuple[Dropped, ...] = ()
    unused_columns: tuple[str, ...] = ()


class Tally:
    """Counts while a file is read; every count remembers its first example."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, str] = {}

    def add(self, reason: str, example: str) -> None:
        """Count one case."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        self._examples.setdefault(reason, example)

    def dropped(self, reasons: Mapping[str, str]) -> tuple[Dropped, ...]:
        """Return what was counted of these reasons, in their order."""
        return tuple(
            Dropped(reason=reason, count=self._counts[reason], example=self._examples[reason])
            for reason in reasons
            if reason in self._counts
        )

    @property
    def left_out(self) -> int:
        """How many rows were left out; a row is so for one reason only."""
        return sum(self._counts.get(reason, 0) for reason in LEFT_OUT)

    def report(self, kept: int, unused_columns: tuple[str, ...] = ()) -> ReadReport:
        """Return the report of a file that was read to its end: every row was kept or left out."""
        return ReadReport(
            rows=kept + self.left_out,
            kept=kept,
            left_out=self.dropped(LEFT_OUT),
            noted=self.dropped(NOTED),
            unused_columns=unused_columns,
        )
