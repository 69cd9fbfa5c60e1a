"""A job in the accounts of the Muri authors' simulator."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

from muri_opt.rounds import Job

SOLO: Final = 1.015
"""Every job iterates this much slower in the simulator than it was measured alone."""
UNKNOWN_TOLL: Final = 10.0
"""Seconds a restart takes where nobody says."""


@dataclass(slots=True, eq=False)
class Task:
    """A job that has arrived: what is left of it, and what it pays at every event.

    While it runs it does an iteration every ``pace`` seconds, but for ``toll`` seconds after each event nothing.
    ``mates`` jobs share its GPUs, itself included.
    """

    position: int
    gpus: int
    submitted: float
    remaining: float
    solo: float
    restart: float
    pace: float
    toll: float
    stages: tuple[float, ...]
    mates: int = 1
    running: bool = False
    checked: float = 0.0
    executed: float = 0.0
    started: float = inf
    ended: float = inf
    gpu_seconds: float = 0.0
    lost: float = 0.0
    resumes: int = 0
    preemptions: int = 0

    @classmethod
    def of(cls, position: int, job: Job) -> Task:
        """Return the task of a job that arrives."""
        solo = (job.iteration_seconds or 0.0) * SOLO
        restart = UNKNOWN_TOLL if job.restart_seconds is None else job.restart_seconds
        return cls(
            position=position,
            gpus=job.gpus,
            submitted=job.submitted or 0.0,
            remaining=float(job.remaining_iterations or 0),
            solo=solo,
            restart=restart,
            pace=solo,
            toll=restart,
            stages=job.stage_seconds or (),
            checked=job.submitted or 0.0,
        )

    @property
    def left(self) -> float:
        """Seconds the rest would take alone."""
        return self.remaining * self.solo

    def advance(self, now: float) -> None:
        """Let time pass until an event: the toll is charged whether or not the job was moved."""
        if self.running:
            passed = now - self.checked
            self.remaining -= max(passed - self.toll, 0) / self.pace
            self._hold(passed)
            self.lost += min(passed, self.toll)
        self.checked = now

    def finish(self, now: float) -> None:
        """End at a predicted moment: the last stretch is free of the toll."""
        self._hold(now - self.checked)
        self.remaining, self.running, self.ended = 0.0, False, now

    def run(self, now: float, runs: bool) -> None:
        """Run, or wait, from an event on."""
        self.resumes += runs and not self.running
        self.preemptions += self.running and not runs
        self.running = runs
        if runs:
            self.started = min(self.started, now)

    def _hold(self, seconds: float) -> None:
        self.executed += seconds
        self.gpu_seconds += seconds * self.gpus / self.mates
