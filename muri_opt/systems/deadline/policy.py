"""Policy ``deadline``: most jobs in time first, by the admission rule of ElasticFlow (ASPLOS 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from muri_opt.errors import RefusalError, unknown_name
from muri_opt.rounds import INFORMATION, Budget, Decision, Round
from muri_opt.rounds.field_groups import PLACES, STATES
from muri_opt.systems.deadline.choices import Choices, check_stays
from muri_opt.systems.deadline.decision import deadline_assignments, deadline_decision, enough_gpus
from muri_opt.systems.deadline.job_times import check_times
from muri_opt.systems.deadline.still import staying, still_shares
from muri_opt.systems.policy import Allowed, Policy, Rules, Span

HONOURS = INFORMATION | PLACES | STATES | {"job.deadline", "job.priority", "tenant.parent"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlinePolicy(Policy):
    """Most jobs in time: the fewest GPUs that keep each deadline, the rest by marginal return (ElasticFlow).

    A job is in time if it is done by its deadline with the GPUs that it is given, from now on, the restart of a running
    job that does not stay as it is included. Deadlines that would be lost by waiting for ``interval`` seconds, when the
    round is decided again, come first. What is left of the GPUs goes where they speed up jobs most.

    >>> sorted(policy_from("deadline").decide(shipped_round("toy/three-elastic"), 0).running)
    ['a', 'b', 'c']
    """

    interval: str = "300"

    choices: ClassVar[Mapping[str, Allowed]] = {"interval": Span(1, 1_000_000_000)}
    chapter: ClassVar[str] = "deadline"
    honours: ClassVar[frozenset[str]] = HONOURS

    def __post_init__(self) -> None:
        if self.name != "deadline":
            raise unknown_name("policy", self.name, ["deadline"])
        Policy.__post_init__(self)

    @property
    def rules(self) -> Rules:
        """When the round is decided again."""
        return {"chapter": self.chapter, "interval": self.interval}

    def check(self, round_: Round) -> None:
        """Refuse a job of no GPUs, one with a deadline ahead of unknown length, and one that must go on and cannot."""
        self._check_places(round_)
        check_stays(round_, self._choices(round_), self.name)

    def check_alone(self, alone: Round) -> None:
        """Refuse the same of one job."""
        self._check_places(alone)
        check_times(alone)
        if any(job.stays for job in alone.jobs):
            check_stays(alone, self._choices(alone), self.name)

    def _check_places(self, round_: Round) -> None:
        for position, job in enumerate(round_.jobs) if "job.within" in round_.used_fields else ():
            if job.within is not None and not job.within.required:
                where = f"jobs[{position}] ({job.id!r}).within.required"
                raise RefusalError(where, "false", f"true: the policy {self.name!r} prefers no place to another")

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of ElasticFlow's rule, in which running jobs are changed only where that pays."""
        return self._decided(round_, None)

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        """Return the same as far as a budget goes: if it is over before, what runs is left as it is."""
        return self._decided(round_, budget)

    def _decided(self, round_: Round, budget: Budget | None) -> Decision:
        self.check_honoured(round_)
        self.check(round_)
        shares = still_shares(round_, float(self.interval), budget)
        return deadline_decision(round_, self._choices(round_), shares)

    def starting(self, round_: Round, gpus: int) -> Sequence[tuple[int, int]]:
        """Return who starts where no time is left: with the fewest GPUs that keep a deadline, the earliest first.

        The others come after these, as they were submitted, with the fewest GPUs that they may have.
        """
        choices, jobs = self._choices(round_), round_.jobs
        enough, least = enough_gpus(choices), choices.least.tolist()
        waiting = [place for place, job in enumerate(jobs) if job.state == "waiting"]
        waiting.sort(
            key=lambda at: (-jobs[at].priority, at not in enough, jobs[at].deadline or 0.0, jobs[at].submitted or 0.0)
        )
        return [(place, enough.get(place, least[place])) for place in waiting]

    def unchanged(self, round_: Round) -> Decision | None:
        """Return the decision that stops, moves and resizes nobody, with whoever fits beside those that run."""
        choices = self._choices(round_)
        if not choices.held:
            return None
        return deadline_decision(round_, choices, staying(round_, float(self.interval)))

    def unchanged_draft(self, round_: Round) -> Decision | None:
        """Return the same without saying why the others wait."""
        choices = self._choices(round_)
        if not choices.held:
            return None
        return deadline_assignments(round_, staying(round_, float(self.interval)))

    def _choices(self, round_: Round) -> Choices:
        return Choices.of(round_, float(self.interval))
