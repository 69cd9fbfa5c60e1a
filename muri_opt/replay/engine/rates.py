"""How fast jobs run with what a decision gives them, in iterations a second."""

from __future__ import annotations

from msgspec import UNSET

from muri_opt.replay.engine.bad_decisions import BadDecisionError
from muri_opt.replay.engine.spread_speeds import SpreadSpeeds
from muri_opt.rounds import Assignment, Job
from muri_opt.systems.curves import Table, scaling_table


class Rates:
    """Rates of jobs: groups by their period or rates, plans by their throughput, shares by the job's scaling table.

    A job alone on the GPUs it asks for takes its ``iteration_seconds``. All that is without a plan goes at the speed of
    its spread, if speeds are given; a plan says its throughput on its nodes.
    """

    def __init__(self, speeds: SpreadSpeeds | None = None) -> None:
        self._speeds = speeds
        self._tables: dict[str, Table] = {}

    def of(self, jobs: tuple[Job, ...], assignment: Assignment) -> tuple[float, ...]:
        """Return the rate of each job of an assignment; one that nobody knows is no decision to carry out."""
        rates = self._close(jobs, assignment)
        if self._speeds is not None and assignment.plan is None:
            speed = self._speeds.of(jobs, assignment)
            rates = tuple(rate * speed for rate in rates)
        return rates

    def _close(self, jobs: tuple[Job, ...], assignment: Assignment) -> tuple[float, ...]:
        """Return the rate of each of the jobs close together."""
        if len(jobs) == 1:
            return (self._alone(jobs[0], assignment),)
        if assignment.rates is not UNSET:
            if len(assignment.rates) != len(jobs):
                raise BadDecisionError(f"jobs {assignment.jobs} share GPUs at {len(assignment.rates)} rates")
            alone = (1 / (job.iteration_seconds or 1.0) for job in jobs)
            return tuple(rate * own for rate, own in zip(assignment.rates, alone, strict=True))
        if not assignment.period_seconds:
            raise BadDecisionError(f"jobs {assignment.jobs} share GPUs without a period")
        return (1 / assignment.period_seconds,) * len(jobs)

    def _alone(self, job: Job, assignment: Assignment) -> float:
        gpus, nodes = sum(assignment.gpus.values()), len(assignment.gpus)
        if assignment.plan is not None:
            for plan in job.plans or ():
                if (plan.name, plan.gpus, plan.nodes) == (assignment.plan, gpus, nodes):
                    return plan.throughput
            raise BadDecisionError(f"job {job.id!r} has no plan {assignment.plan!r} on {gpus} GPUs of {nodes} nodes")
        alone = 1 / (job.iteration_seconds or 1.0)
        if gpus == job.gpus:
            return alone
        speeds = self._table(job).speeds if job.scaling else ()
        if not (0 < gpus < len(speeds) and job.gpus < len(speeds)):
            raise BadDecisionError(f"job {job.id!r} asks for {job.gpus} GPUs, and nothing says how it runs on {gpus}")
        return speeds[gpus] / speeds[job.gpus] * alone

    def _table(self, job: Job) -> Table:
        if job.id not in self._tables:
            self._tables[job.id] = scaling_table(job.scaling or {})
        return self._tables[job.id]
