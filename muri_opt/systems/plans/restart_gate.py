"""Rubick's reconfiguration gate: which running jobs have restarted too often for their age."""

from __future__ import annotations

from fractions import Fraction

from muri_opt.rounds import Job
from muri_opt.rounds.quantities import microseconds


def is_shut(job: Job, gate: str) -> bool:
    """Return whether a running job is known not to be allowed a restart; one that does not say how long it ran is not.

    >>> is_shut(Job(id="a", gpus=1, executed_seconds=100.0, restart_seconds=4.0), "0.97")
    True
    """
    return job.executed_seconds is not None and not may_restart(job, Fraction(gate))


def may_restart(job: Job, gate: Fraction) -> bool:
    """Return whether a running job keeps the part ``gate`` of its run time if it restarts once more.

    Of the T seconds it ran, its N restarts and this one take (N + 1) times what a restart costs: it may restart if
    (T - (N + 1) cost) / T is at least ``gate``. A job without a restart cost always may.
    """
    cost = microseconds(job.restart_seconds or 0.0)
    ran = microseconds(job.executed_seconds or 0.0)
    return cost == 0 or (ran > 0 and ran - ((job.restarts or 0) + 1) * cost >= gate * ran)
