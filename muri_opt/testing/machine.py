"""A stateful test that drives an allocator over many rounds: jobs arrive, finish, and time passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant as always, precondition, rule
from msgspec.structs import replace

from muri_opt.rounds import Cluster, Decision, Job, Round, after
from muri_opt.testing.allocators import Allocator, NoAnswerError
from muri_opt.testing.drawing import rounds_of_family
from muri_opt.testing.gang_building import gang_job
from muri_opt.testing.invariant import SECONDS, Case, Invariant
from muri_opt.testing.invariants_rationality import LOOKS, preemptions
from muri_opt.testing.invariants_safety import ANSWERS, SAFETY
from muri_opt.testing.reduction import reduced
from muri_opt.testing.report import round_text
from muri_opt.testing.rules_and_value import PLAIN, Judge
from muri_opt.testing.strategies_families import NOW, Draft, family_drafts, family_of, named_job
from muri_opt.testing.strategies_gangs import gang_drafts

STARTS = 200
"""Among how many rounds a machine chooses the one to begin with."""
SETTINGS = settings(
    max_examples=100,
    stateful_step_count=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
"""How a machine runs unless told: without Hypothesis' shrinking of steps, as the round itself is made small."""


def allocator_machine(
    allocator: Allocator,
    invariants: Sequence[Invariant] = SAFETY,
    *,
    policy: str | None = None,
    max_jobs: int = 5,
    patience: int = 2,
    seconds: float | None = SECONDS,
) -> type[RuleBasedStateMachine]:
    """Return a machine of ``hypothesis.stateful`` for an allocator; its ``TestCase`` is a test for pytest.

    It begins with a round of the family. Each step is an arrival, the end of a running job, time that passes, or a few
    decisions in a row, which are applied. After every step the decision keeps the invariants. A job that is preempted
    ``patience`` times while nothing arrives or ends and no time passes is a loop. What is reported is the smallest
    round that shows it when it is decided, once or again and again. ``policy`` names the rules and the family of the
    jobs.

    >>> allocator_machine(published("fifo")).__name__
    'AllocatorMachine'
    """
    family = family_of(policy)
    checked = [one if policy is None or one.judge != PLAIN else one.under(policy) for one in invariants]
    told: dict[str, str] = {}

    class AllocatorMachine(RuleBasedStateMachine):
        """Chooses what happens next; the drive does it."""

        def __init__(self) -> None:
            super().__init__()
            self.drive = Drive(
                allocator=allocator, invariants=checked, family=family, patience=patience, seconds=seconds, told=told
            )

        @initialize(round_=st.sampled_from(rounds_of_family(family, STARTS, 0)))
        def begin(self, round_: Round) -> None:
            self.drive.begin(round_)

        @precondition(lambda self: len(self.drive.round_.jobs) < max_jobs)
        @rule(draft=gang_drafts() if family == "gangs" else family_drafts(family, running=False))
        def a_job_arrives(self, draft: Draft) -> None:
            self.drive.arrive(draft)

        @precondition(lambda self: self.drive.running())
        @rule(which=st.integers(0, max_jobs))
        def a_job_ends(self, which: int) -> None:
            running = self.drive.running()
            self.drive.end(running[which % len(running)])

        @rule(passed=st.integers(1, 1000))
        def time_passes(self, passed: int) -> None:
            self.drive.wait(passed)

        @rule(times=st.integers(1, 6))
        def decide(self, times: int) -> None:
            for _ in range(times):
                self.drive.decide()

        @always()
        def keeps_the_invariants(self) -> None:
            self.drive.check()

    AllocatorMachine.TestCase.settings = SETTINGS
    return AllocatorMachine


@dataclass(slots=True, kw_only=True)
class Drive:
    """A round as it goes on under an allocator, and how often jobs were preempted since something happened to it.

    ``since`` is the round as it was then, and ``decided`` how often it was decided. ``told`` has what was reported
    already, by invariant: once a round was made small, that one is shown.
    """

    allocator: Allocator
    invariants: Sequence[Invariant]
    family: str
    patience: int
    seconds: float | None
    told: dict[str, str]
    round_: Round = field(default_factory=lambda: Round(now=NOW, cluster=Cluster(nodes=()), jobs=()))
    since: Round = field(default_factory=lambda: Round(now=NOW, cluster=Cluster(nodes=()), jobs=()))
    decided: int = 0
    arrived: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    checked: tuple[Round, Decision | None] | None = None

    def running(self) -> list[str]:
        """Return the ids of the jobs that run."""
        return [job.id for job in self.round_.jobs if job.state == "running"]

    def begin(self, round_: Round) -> None:
        """Start with a round, whose jobs are named ``j0``, ``j1``, ... in some order."""
        self.round_, self.arrived = round_, len(round_.jobs)
        self._happened(round_.jobs)

    def arrive(self, draft: Draft) -> None:
        """Add a job that is submitted now."""
        named = gang_job if self.family == "gangs" else named_job
        job = named({**draft, "submitted": self.round_.now}, f"j{self.arrived}", self.round_.cluster)
        self.arrived += 1
        self._happened((*self.round_.jobs, job))

    def end(self, ended: str) -> None:
        """Take a job away."""
        self._happened(tuple(job for job in self.round_.jobs if job.id != ended))

    def wait(self, passed: int) -> None:
        """Let time pass: jobs have run or waited that many seconds longer."""
        self.round_ = replace(self.round_, now=self.round_.now + passed)
        self._happened(tuple(_later(job, passed) for job in self.round_.jobs))

    def check(self) -> Decision | None:
        """Return the decision of the round as it is now, or raise ``AssertionError`` with a round that shows a breach.

        There is none where the allocator refuses a round that does not say what it needs.
        """
        if self.checked is not None and self.checked[0] is self.round_:
            return self.checked[1]
        cases: dict[Judge, Case] = {}
        for one in (ANSWERS, *self.invariants):
            breach = one.checked(cases.setdefault(one.judge, self._case(self.round_, one.judge)))
            if breach is not None:
                self._report(one.name, str(breach), self.round_, partial(self._breach, one))
        try:
            decision = next(iter(cases.values())).decision()
        except NoAnswerError:
            decision = None
        self.checked = self.round_, decision
        return decision

    def decide(self) -> None:
        """Check the decision of the round and apply it; a loop is an ``AssertionError`` with the round, too."""
        decision = self.check()
        if decision is None:
            return
        self.decided += 1
        for job in self.running():
            if job not in decision.running:
                self.stops[job] += 1
                if self.stops[job] >= self.patience:
                    words = _looped(job, self.stops[job])
                    self._report("preemption loop", words, self.since, self._loop)
        self.round_ = after(self.round_, decision)

    def _case(self, round_: Round, judge: Judge) -> Case:
        return Case(allocator=self.allocator, round_=round_, judge=judge, seconds=self.seconds)

    def _breach(self, one: Invariant, round_: Round) -> str | None:
        breach = one.checked(self._case(round_, one.judge))
        return None if breach is None else str(breach)

    def _loop(self, round_: Round) -> str | None:
        """Return the loop of a round that is decided again and again, if there is one."""
        try:
            stops = preemptions(self._case(round_, self.invariants[0].judge), round_, max(LOOKS, self.decided))
        except NoAnswerError:
            return None
        job, times = max(stops.items(), key=lambda item: item[1], default=("", 0))
        return _looped(job, times) if times >= self.patience else None

    def _report(self, name: str, words: str, round_: Round, said: Callable[[Round], str | None]) -> None:
        """Raise with the smallest round of which the same can be said, in the words of that round."""
        if name not in self.told:
            smallest = reduced(round_, lambda smaller: said(smaller) is not None, family=self.family)
            self.told[name] = f"{said(smallest) or words}\n{round_text(smallest)}"
        raise AssertionError(self.told[name])

    def _happened(self, jobs: tuple[Job, ...]) -> None:
        self.round_ = replace(self.round_, jobs=jobs)
        self.since, self.decided = self.round_, 0
        self.stops.clear()


def _looped(job: str, times: int) -> str:
    return f"preemption loop: job {job!r} is preempted {times} times with nothing arriving"


def _later(job: Job, passed: int) -> Job:
    """Return a job some seconds later: it has run or waited that long."""
    if job.state == "waiting":
        return replace(job, waiting_seconds=(job.waiting_seconds or 0.0) + passed)
    gpus = sum((job.placement or {}).values())
    done = int(passed / job.iteration_seconds) if job.iteration_seconds else 0
    return replace(
        job,
        executed_seconds=(job.executed_seconds or 0.0) + passed,
        attained_gpu_seconds=(job.attained_gpu_seconds or 0.0) + gpus * passed,
        remaining_iterations=None if job.remaining_iterations is None else max(1, job.remaining_iterations - done),
    )
