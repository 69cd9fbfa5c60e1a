"""Policy ``aiturbo``: predictable and unpredictable jobs in one queue, their configurations step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, lcm
from typing import ClassVar, Final, NamedTuple

import numpy as np

from muri_opt.algorithms.ranking import Rankings, borda_scores
from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.configurations import SERVICE_PER_GPU, SERVICE_PER_TASK
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.rounds.used_fields import PLAN_NODES
from muri_opt.systems.aiturbo.configuration_choices import Choices, remaining
from muri_opt.systems.history import JobHistory, end_of_patience
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals, guaranteed_first
from muri_opt.systems.plans.held_placements import HeldPlacements
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_ladder import Configuration
from muri_opt.systems.plans.plan_rows import ReadPlans
from muri_opt.systems.plans.plan_rules import COSTS, PlanRules
from muri_opt.systems.plans.policy import SECONDS, PlanPolicy
from muri_opt.systems.policy import Allowed, Span

_INTERVAL: Final = 600_000_000
"""Microseconds of run time in which a job takes one step at most."""


class Move(NamedTuple):
    """The best step of a predictable job: what it gains, whether it adds something, and where it leads."""

    gain: Fraction | float
    grows: bool
    target: Configuration


class KnownMove(NamedTuple):
    """A move, and what it was asked for by."""

    asked: tuple[object, ...]
    move: Move


@dataclass(frozen=True, slots=True, kw_only=True)
class AITurboPolicy(PlanPolicy):
    """Borda scores of attained service and of what a step gains, in levels; jobs start in that order or are skipped.

    Every predictable job has a best addition (one server, worker or GPU share more) and a best removal, by how much
    they lessen the remaining time times the service units of the configuration (``objective=service``), or the
    remaining time itself (``time``). The better of the two decides if the job is in the list of those to increase or of
    those to decrease; it is done only if it lessens anything, and not at all where ``step=off``, as between two full
    rounds. With ``switch`` a first share moves a job from CPUs to GPUs, and the last one back. Where the names of a
    job's plans do not all tell servers and workers, a step leads to the next larger or smaller of its plans, sorted by
    GPUs, CPUs and memory; a service unit's 5 for a task are then for each node.

    A job's score is its rank in its list plus its rank by attained service; unpredictable jobs count the latter twice.
    Ranks are ``normalised`` by the length of their list, as those of a short list would win, or ``raw``. Scores below
    the part ``first`` of the largest possible one are the first level, those below ``second`` the next. ``within`` a
    level jobs come by ``score`` (then levels change nothing), or those that are ``running`` first. A job whose step
    finds no room keeps its configuration; if that has none either, the job is skipped, and stops if it runs.

    A job that has waited for ``patience`` seconds comes before all others, the longest waiting first. So the first of
    those starts in every round, and nobody waits for ever; only jobs with a guarantee come before it. That is so by
    this algorithm alone: the value, and with it ``auto`` and ``exact``, does not count how long a job has waited.

    Where restarts count (``restarts=pay``), a running job that has waited for that long comes before all others, too.
    A job takes a step at most once in ten minutes of its run time. A round does not say when it took the last one; so
    in the first ten minutes it takes one only when it starts, in the next ten minutes only from an odd number of
    servers, workers and shares, then only from an even one, and so on.

    >>> sorted(policy_from("aiturbo").decide(shipped_round("toy/four-configurations"), 0).running)
    ['a', 'b', 'c']
    """

    objective: str = "service"
    switch: str = "on"
    step: str = "on"
    ranks: str = "normalised"
    first: str = "0.15"
    second: str = "0.9"
    within: str = "score"
    patience: str = "2400"

    chapter: ClassVar[str] = "configuration"
    own_name: ClassVar[str] = "aiturbo"
    goes_by_plan: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = PlanPolicy.honours - {PLAN_NODES}
    needs_beside: ClassVar[tuple[str, ...]] = ("plan", "executed_seconds")
    choices: ClassVar[Mapping[str, Allowed]] = {
        **PlanPolicy.choices,
        "objective": COSTS,
        "switch": ("on", "off"),
        "step": ("on", "off"),
        "ranks": ("normalised", "raw"),
        "first": Span(0, 1),
        "second": Span(0, 1),
        "within": ("score", "running"),
        "patience": Span(0, SECONDS, words=("inf",)),
    }

    @property
    def plan_rules(self) -> PlanRules:
        """One step at most from the present configuration, by remaining time or service."""
        change = "neighbours" if self.step == "on" else "same"
        return PlanRules(change=change, objective=self.objective, switch=self.switch == "on")

    def check(self, round_: Round) -> None:
        """Refuse a job whose attained service is not known, besides what no policy of plans can decide."""
        PlanPolicy.check(self, round_)
        self._check_service(round_)

    def check_alone(self, alone: Round) -> None:
        """Refuse the same of one job."""
        PlanPolicy.check_alone(self, alone)
        self._check_service(alone)

    def _check_service(self, round_: Round) -> None:
        for j, job in enumerate(round_.jobs):
            if job.executed_seconds is None:
                allowed = "the seconds it has run so far, for its attained service"
                raise InputError(f"jobs[{j}] ({job.id!r}).executed_seconds", "nothing", allowed)

    def wakes(self, running: JobHistory, waiting: JobHistory) -> float:
        """Return when the patience of a waiting job ends."""
        return inf if self.patience == "inf" else end_of_patience(microseconds(float(self.patience)), waiting)

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        return self._chosen(round_, options, self.allocation(round_, options))

    def keep(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the same with those that run where they are, unless jobs that are out of patience need the room."""
        allocation = HeldPlacements(round_, options)
        late = [self._is_late(job) for job in round_.jobs]
        held = [job for job in arrivals(round_) if round_.jobs[job].state == "running"]
        allocation.stay(job for job in held if late[job])
        return self._chosen(round_, options, allocation, [job for job in held if not late[job]])

    def _chosen(
        self, round_: Round, options: PlanOptions, allocation: PlanAllocation, held: Sequence[int] = ()
    ) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs; those ``held`` stay, if they can beside jobs out of patience."""
        near, moves, order = _admitted(self, round_)
        able = Choices.of(round_, options)
        first = [job for job in order if held and self._is_late(round_.jobs[job])]
        for jobs in (first, order):
            for job in guaranteed_first(options, jobs):
                here, wanted = near.here[job], [near.here[job]]
                steps = self._may_step(round_.jobs[job], here)
                if job in moves and ((steps and moves[job].gain > 0) or here.name not in near.able(job)):
                    wanted.insert(0, moves[job].target)
                allocation.start(job, (o for at in wanted for o in able.options(job, at)))
            if jobs is first:
                allocation.stay(held)
        return allocation.chosen

    def _may_step(self, job: Job, here: Configuration) -> bool:
        """Return whether a job may take a step now that lessens what it costs."""
        if self.restarts == "ignore":
            return True
        intervals = microseconds(job.executed_seconds or 0.0) // _INTERVAL
        return (intervals - here.steps) % 2 == 0 if intervals else job.state != "running"

    def _is_late(self, job: Job) -> bool:
        """Return whether a job is out of patience; one that runs is so only where restarts count."""
        if self.patience == "inf" or (job.state == "running" and self.restarts == "ignore"):
            return False
        return microseconds(job.waiting_seconds or 0.0) >= microseconds(float(self.patience))

    def admission_order(self, round_: Round) -> tuple[str, ...]:
        """Return the names of all jobs as they are admitted."""
        return tuple(round_.jobs[job].id for job in _admitted(self, round_)[2])

    def steps(self, round_: Round) -> tuple[Choices, dict[int, Move]]:
        """Return what is one step away from each job, and the best step of those that can be predicted."""
        near = Choices.of(round_, PlanOptions.of(round_, replace(self.plan_rules, change="neighbours")))
        moves = {}
        for job, (here, steps) in enumerate(zip(near.here, near.steps, strict=True)):
            look_at_clock()
            able = tuple(near.able(job))
            if steps is not None and able:
                switch = self.switch == "on"
                moves[job] = best_move(near.plans(job), here, able, steps, self.objective, switch=switch)
        return near, moves

    def order(self, round_: Round, near: Choices, moves: Mapping[int, Move]) -> list[int]:
        """Return the jobs as they are admitted: by priority, then those out of patience, then by level and score."""
        served = _attained(round_, near)
        jobs = arrivals(round_)
        scores = self.scores(sorted(jobs, key=lambda job: served[job]), moves)
        levels = self.levels(scores, len(jobs))
        unit = lcm(*(score.denominator for score in scores.values()))
        rank = {job: int(score * unit) for job, score in scores.items()}  # whole numbers are sorted faster

        def key(job: int) -> tuple[int, int, int, bool, int, int]:
            first = -round_.jobs[job].priority
            waited = microseconds(round_.jobs[job].waiting_seconds or 0.0)
            running = round_.jobs[job].state == "running"
            if self._is_late(round_.jobs[job]):
                return first, -1, -waited, False, rank[job], served[job]
            behind = self.within == "running" and not running
            return first, levels[job], 0, behind, rank[job], served[job]

        return sorted(jobs, key=key)

    def scores(self, by_service: Sequence[int], moves: Mapping[int, Move]) -> dict[int, Fraction]:
        """Return the Borda score of each job, lowest first served, from all jobs by attained service and the moves."""
        lists = [by_service]
        for grows in (True, False):
            mine = [job for job in by_service if job in moves and moves[job].grows == grows]
            # Fractions, which take long, are compared only where floats, which keep their order, do not tell.
            lists.append(sorted(mine, key=lambda job: (-float(moves[job].gain), -moves[job].gain)))
        rankings = Rankings.of([np.array(jobs, dtype=np.int64) for jobs in lists])
        average = borda_scores(rankings, normalised=self.ranks == "normalised", average=True)
        return {job: 2 * average[job] for job in by_service}

    def levels(self, scores: Mapping[int, Fraction], jobs: int) -> dict[int, int]:
        """Return the level of each score, 0 the first, by its part of the largest score among so many jobs."""
        largest = 2 if self.ranks == "normalised" else 2 * jobs
        first, second = Fraction(self.first) * largest, Fraction(self.second) * largest
        return {job: int(score >= first) + int(score >= second) for job, score in scores.items()}


@last_recalled
def _admitted(policy: AITurboPolicy, round_: Round) -> tuple[Choices, dict[int, Move], list[int]]:
    """Return what is one step away from each job, the best steps, and the jobs as they are admitted."""
    near, moves = policy.steps(round_)
    return near, moves, policy.order(round_, near, moves)


def best_move(
    plans: ReadPlans, here: Configuration, able: tuple[str, ...], steps: int, objective: str, *, switch: bool
) -> Move:
    """Return the better of the best addition and the best removal, of the names that a job is ``able`` to run by.

    The job has so many ``steps`` left. The last move that was asked for is remembered with its plans: from one round to
    the next those of jobs that wait are the same.
    """
    asked = here, able, steps, objective, switch
    last = plans.known.get(best_move)
    if isinstance(last, KnownMove) and last.asked == asked:
        return last.move
    move = _best_move(plans.fastest, *asked)
    plans.known[best_move] = KnownMove(asked, move)
    return move


def _best_move(
    speed: Mapping[str, float],
    here: Configuration,
    able: tuple[str, ...],
    steps: int,
    objective: str,
    switch: bool,
) -> Move:
    before = remaining(here, speed[here.name], steps, objective)

    def best(near: Sequence[Configuration], *, grows: bool) -> Move:
        moves = [
            Move(before - remaining(at, speed[at.name], steps, objective), grows, at) for at in near if at.name in able
        ]
        return max(moves, key=lambda move: move.gain, default=Move(-inf, grows, here))

    add, remove = best(here.additions(switch=switch), grows=True), best(here.removals(switch=switch), grows=False)
    return add if add.gain > remove.gain else remove


def _attained(round_: Round, near: Choices) -> list[int]:
    """Return attained service in service units times microseconds: of GPUs as told, of servers and workers as run."""
    found = []
    for job, here in zip(round_.jobs, near.here, strict=True):
        run = microseconds(job.executed_seconds or 0.0)
        of_gpus = here.gpus * run if job.attained_gpu_seconds is None else microseconds(job.attained_gpu_seconds)
        found.append(SERVICE_PER_GPU * of_gpus + SERVICE_PER_TASK * here.tasks * run)
    return found
