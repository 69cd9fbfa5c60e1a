"""What a change costs: the GPU time that running jobs lose when they are stopped, moved, resized or regrouped."""

from __future__ import annotations

from muri_opt.rounds.decision import Decision
from muri_opt.rounds.job import Job
from muri_opt.rounds.job_changes import Changes, JobChange, changes
from muri_opt.rounds.quantities import microseconds
from muri_opt.rounds.round import Round


def change_cost(job: Job) -> int:
    """Return what it costs to change a running job: its restart times the GPUs it holds, in GPU-microseconds.

    A job that does not say how long it takes to restart, or says 0, counts a microsecond for each, so that a needless
    change is never free; one on CPUs alone counts as if it had one GPU.
    """
    return max(1, microseconds(job.restart_seconds or 0.0)) * max(1, sum((job.placement or {}).values()))


def changes_cost(round_: Round, decision: Decision) -> int:
    """Return what all changes of a decision cost together, in GPU-microseconds.

    >>> round_ = shipped_round("toy/two-gangs")
    >>> changes_cost(round_, solve_round(round_, "fifo", "heuristic").decision)
    0
    """
    return cost_of_all(round_, changes(round_, decision))


def cost_of_all(round_: Round, made: Changes) -> int:
    """Return what changes cost together, in GPU-microseconds."""
    changed: tuple[JobChange, ...] = (*made.stop, *made.move, *made.resize, *made.regroup)
    return sum(change_cost(round_.jobs[round_.job_index[change.job]]) for change in changed)
