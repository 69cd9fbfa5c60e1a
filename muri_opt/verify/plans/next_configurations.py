"""The verifier's own reading of configurations: what a name says, what is one step away, and what is left to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan
from muri_opt.verify.plans.plan_parts import Entry

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


class Steps(NamedTuple):
    """What is a step from a plan to another: ``tasks`` tells servers and workers by name, or ``places`` the order.

    Where the names of a job's plans do not all tell tasks, its plans are in the order of the GPUs, CPUs and memory that
    the smallest one of each name takes; ``on_gpus`` are the names of plans whose smallest one has any.
    """

    places: Mapping[str, int] | None
    on_gpus: frozenset[str]

    @classmethod
    def of(cls, job: Job, entries: Sequence[Entry]) -> Steps:
        """Return how the plans of a job follow each other."""
        if tell_tasks(job):
            return cls(None, frozenset())
        least: dict[str, tuple[int, int, int, str]] = {}
        for plan, piece, _ in entries:
            takes = (plan.gpus, piece.milli * plan.nodes, piece.mebibytes * plan.nodes, plan.name)
            least[plan.name] = min(takes, least.get(plan.name, takes))
        order = sorted(least, key=lambda name: least[name])
        places = {name: place for place, name in enumerate(order)}
        return cls(places, frozenset(name for name in order if least[name][0]))

    def switches(self, before: str, after: str) -> bool:
        """Return whether one of two plans is on CPUs and the other has GPUs."""
        if self.places is not None:
            return (before in self.on_gpus) != (after in self.on_gpus)
        return (tasks_of(before).shares == 0) != (tasks_of(after).shares == 0)

    def apart(self, before: str, after: str) -> int:
        """Return how many steps lead from one plan to another."""
        if self.places is not None:
            return abs(self.places[before] - self.places[after])
        return sum(abs(a - b) for a, b in zip(tasks_of(before), tasks_of(after), strict=True))


def tell_tasks(job: Job) -> bool:
    """Return whether the names of all plans of a job tell servers and workers."""
    try:
        for plan in job.plans or ():
            tasks_of(plan.name)
    except InputError:
        return False
    return True


def check_configurations(job: Job, change: str, objective: str) -> None:
    """Refuse plans that are not on the GPUs that their names tell, where the policy reads names and all tell tasks."""
    if (change not in _STEPWISE and objective != "service") or not tell_tasks(job):
        return
    for position, plan in enumerate(job.plans or ()):
        tasks = tasks_of(plan.name)
        if tasks.workers * tasks.shares != plan.gpus:
            allowed = f"{tasks.workers} workers with {tasks.shares} shares each"
            raise InputError(f"plans[{position}].gpus", str(plan.gpus), allowed)


def may_step_to(job: Job, plan: Plan, steps: Steps | None, change: str, objective: str, *, switch: bool) -> bool:
    """Return whether the policy lets the job run by the plan, as far as its present configuration tells."""
    kept = change == "same" or (objective in ("time", "service") and steps_left(job) is None)
    if change not in _STEPWISE and not kept:
        return True
    if job.plan is None:
        raise InputError("plan", "nothing", "the configuration it has: the policy starts from there")
    if kept:
        return plan.name == job.plan
    if steps is None or (not switch and steps.switches(job.plan, plan.name)):
        return False
    return change == "configurations" or steps.apart(job.plan, plan.name) <= 1


def is_stepwise(change: str) -> bool:
    """Return whether it matters how plans follow each other."""
    return change in ("neighbours", "configurations")


def steps_left(job: Job) -> int | None:
    """Return how many steps a job still has to do, or ``None`` if that is not known."""
    return None if job.predictable is False else job.remaining_iterations


def cost_of(job: Job, plan: Plan, pause: int, by_service: bool) -> int:
    """Return hundredths of a second until a job is done, or seconds by service units, after a pause (microseconds)."""
    above, below = plan.throughput.as_integer_ratio()  # fractions are not reduced: there are many
    micro = pause * above + (steps_left(job) or 0) * 1_000_000 * below
    return micro * (_units(job, plan) if by_service else 100) // (above * 1_000_000)


def _units(job: Job, plan: Plan) -> int:
    """Return the service units of a plan: 10 for each GPU, and 5 for each task or, where names tell none, each node."""
    return tasks_of(plan.name).units if tell_tasks(job) else 10 * plan.gpus + 5 * plan.nodes
