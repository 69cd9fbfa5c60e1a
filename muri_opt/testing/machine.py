"""A stateful test that drives an allocator over many rounds: jobs arrive, finish, and time passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec.structs import replace

from muri_opt.instance import Cluster, Job, Round
from muri_opt.solution import after
from muri_opt.testing.allocators import Allocator
from muri_opt.testing.invariant import SECONDS, Case, Invariant
from muri_opt.testing.invariants_safety import ANSWERS, SAFETY
from muri_opt.testing.judge import PLAIN, Judge
from muri_opt.testing.strategies_families import NOW, Draft, family_clusters, family_drafts, family_of, named_job


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

    Each step is an arrival, the end of a running job, time that passes, or a few decisions in a row, which are applied.
    Every decision keeps the invariants. A job that is preempted ``patience`` times while nothing arrives or ends and no
    time passes is a loop. ``policy`` names the rules and the family of the jobs.
    """
    family = family_of(policy)
    checked = [one if policy is None or one.judge != PLAIN else one.under(policy) for one in invariants]

    class AllocatorMachine(RuleBasedStateMachine):
        """Chooses what happens next; the drive does it."""

        def __init__(self) -> None:
            super().__init__()
            self.drive = Drive(allocator=allocator, invariants=checked, patience=patience, seconds=seconds)

        @initialize(cluster=family_clusters(family, max_nodes=2))
        def begin(self, cluster: Cluster) -> None:
            self.drive.round_ = replace(self.drive.round_, cluster=cluster)

        @precondition(lambda self: len(self.drive.round_.jobs) < max_jobs)
        @rule(data=st.data())
        def a_job_arrives(self, data: st.DataObject) -> None:
            self.drive.arrive(data.draw(family_drafts(family, running=False)))

        @precondition(lambda self: self.drive.running())
        @rule(data=st.data())
        def a_job_ends(self, data: st.DataObject) -> None:
            self.drive.end(data.draw(st.sampled_from(self.drive.running())))

        @rule(passed=st.integers(1, 1000))
        def time_passes(self, passed: int) -> None:
            self.drive.wait(passed)

        @rule(times=st.integers(1, 6))
        def decide(self, times: int) -> None:
            for _ in range(times):
                self.drive.decide()

    return AllocatorMachine


@dataclass(slots=True, kw_only=True)
class Drive:
    """A round as it goes on under an allocator, and how often jobs were preempted since something happened to it."""

    allocator: Allocator
    invariants: Sequence[Invariant]
    patience: int
    seconds: float | None
    round_: Round = field(default_factory=lambda: Round(now=NOW, cluster=Cluster(nodes=()), jobs=()))
    arrived: int = 0
    stops: Counter[str] = field(default_factory=Counter)

    def running(self) -> list[str]:
        """Return the ids of the jobs that run."""
        return [job.id for job in self.round_.jobs if job.state == "running"]

    def arrive(self, draft: Draft) -> None:
        """Add a job that is submitted now."""
        job = named_job({**draft, "submitted": self.round_.now}, f"j{self.arrived}", self.round_.cluster)
        self.arrived += 1
        self._happened((*self.round_.jobs, job))

    def end(self, ended: str) -> None:
        """Take a job away."""
        self._happened(tuple(job for job in self.round_.jobs if job.id != ended))

    def wait(self, passed: int) -> None:
        """Let time pass: jobs have run or waited that many seconds longer."""
        self.round_ = replace(self.round_, now=self.round_.now + passed)
        self._happened(tuple(_later(job, passed) for job in self.round_.jobs))

    def decide(self) -> None:
        """Ask for a decision, check it, and apply it; a breach or a loop is an ``AssertionError`` with the round."""
        cases: dict[Judge, Case] = {}
        for one in (ANSWERS, *self.invariants):
            made = Case(allocator=self.allocator, round_=self.round_, judge=one.judge, seconds=self.seconds)
            breach = one.checked(cases.setdefault(one.judge, made))
            if breach is not None:
                raise AssertionError(f"{breach}\n{_text(self.round_)}")
        decision = next(iter(cases.values())).decision()
        for job in self.running():
            if job not in decision.running:
                self.stops[job] += 1
                if self.stops[job] >= self.patience:
                    words = f"job {job!r} is preempted {self.stops[job]} times with nothing arriving"
                    raise AssertionError(f"preemption loop: {words}\n{_text(self.round_)}")
        self.round_ = after(self.round_, decision)

    def _happened(self, jobs: tuple[Job, ...]) -> None:
        self.round_ = replace(self.round_, jobs=jobs)
        self.stops.clear()


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
        remaining_iterations=max(1, (job.remaining_iterations or 0) - done),
    )


def _text(round_: Round) -> str:
    return msgspec.json.format(msgspec.json.encode(round_), indent=2).decode()
