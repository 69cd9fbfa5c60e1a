"""The verifier's own reading of configurations: what a name says, what is one step away, and what is left to do."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan

_STEPWISE = ("same", "neighbours", "configurations")
_FORM = "the name of a configuration, cpu-p1-w2 or gpu-p1-w2-s1"
_MOST_TASKS = 1_000_000
_NAMES = 4096
"""How many names are remembered: jobs have most of them in common."""


class Tasks(NamedTuple):
    """Servers, workers, and shares of GPUs that each worker has: none on CPUs."""

    servers: int
    workers: int
    shares: int

    @property
    def units(self) -> int:
        """Service units a second."""
        return 10 * self.workers * self.shares + 5 * self.workers + 5 * self.servers


@lru_cache(maxsize=_NAMES)
def tasks_of(name: str) -> Tasks:
    """Return what the name of a configuration says, or refuse it."""
    kind, *counts = name.split("-")
    letters = {"cpu": "pw", "gpu": "pws"}.get(kind, "")
    numbers = [word[1:] for word, letter in zip(counts, letters, strict=False) if word.startswith(letter)]
    plain = [text for text in numbers if text.isascii() and text.isdecimal() and text[0] != "0" and len(text) <= 7]
    if not letters or len(counts) != len(letters) or len(plain) != len(letters):
        raise InputError("name", repr(name), _FORM)
    servers, workers, shares = (*map(int, plain), 0)[:3]
    if max(servers, workers, shares) > _MOST_TASKS:
        raise InputError("name", repr(name), _FORM)
    return Tasks(servers, workers, shares)


def check_configurations(job: Job, change: str, objective: str) -> None:
    """Refuse plans that are no configurations, or not on the GPUs they tell, where the policy reads their names."""
    if change not in _STEPWISE and objective != "service":
        return
    for position, plan in enumerate(job.plans or ()):
        try:
            tasks = tasks_of(plan.name)
        except InputError as error:
            raise error.inside(f"plans[{position}]") from None
        if tasks.workers * tasks.shares != plan.gpus:
            allowed = f"{tasks.workers} workers with {tasks.shares} shares each"
            raise InputError(f"plans[{position}].gpus", str(plan.gpus), allowed)


def may_step_to(job: Job, plan: Plan, change: str, objective: str, *, switch: bool) -> bool:
    """Return whether the policy lets the job run by the plan, as far as its present configuration tells."""
    kept = change == "same" or (objective != "throughput" and steps_left(job) is None)
    if change not in _STEPWISE and not kept:
        return True
    if job.plan is None:
        raise InputError("plan", "nothing", "the configuration it has: the policy starts from there")
    if kept:
        return plan.name == job.plan
    before, after = tasks_of(job.plan), tasks_of(plan.name)
    if not switch and (before.shares == 0) != (after.shares == 0):
        return False
    return change == "configurations" or sum(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1


def steps_left(job: Job) -> int | None:
    """Return how many steps a job still has to do, or ``None`` if that is not known."""
    return None if job.predictable is False else job.remaining_iterations


def cost_of(job: Job, plan: Plan, pause: int, by_service: bool) -> int:
    """Return hundredths of a second until a job is done, or seconds by service units, after a pause (microseconds)."""
    above, below = plan.throughput.as_integer_ratio()  # fractions are not reduced: there are many
    micro = pause * above + (steps_left(job) or 0) * 1_000_000 * below
    return micro * (tasks_of(plan.name).units if by_service else 100) // (above * 1_000_000)
