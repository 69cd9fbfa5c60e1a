"""Policy ``deadline``: most jobs in time first, by the admission rule of ElasticFlow (ASPLOS 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from muri_opt.errors import RefusalError, unknown_name
from muri_opt.rounds import INFORMATION, Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.field_groups import PLACES, STATES
from muri_opt.systems.capacity import Leftover
from muri_opt.systems.deadline.admission import elastic_flow
from muri_opt.systems.deadline.choices import Choices, check_stays
from muri_opt.systems.deadline.decision import deadline_decision
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
        for position, job in enumerate(round_.jobs) if "job.within" in round_.used_fields else ():
            if job.within is not None and not job.within.required:
                where = f"jobs[{position}] ({job.id!r}).within.required"
                raise RefusalError(where, "false", f"true: the policy {self.name!r} prefers no place to another")
        check_stays(round_, self._choices(round_), self.name)

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of ElasticFlow's rule; jobs that nobody may stop are where they are."""
        self.check_honoured(round_)
        self.check(round_)
        choices = self._choices(round_)
        fixed = {job: choices.held[job] for job in choices.must.tolist()}
        return deadline_decision(round_, choices, elastic_flow(round_, choices, fixed))

    def unchanged(self, round_: Round) -> Decision | None:
        """Return the decision that stops, moves and resizes nobody, with whoever fits beside those that run."""
        choices = self._choices(round_)
        if not choices.held:
            return None
        return deadline_decision(round_, choices, elastic_flow(round_, choices, _staying(round_, choices)))

    def _choices(self, round_: Round) -> Choices:
        return Choices.of(round_, float(self.interval))


def _staying(round_: Round, choices: Choices) -> dict[int, Ints]:
    """Return GPUs per node of the running jobs that can all stay as they are, those first that must."""
    asks = choices.least.copy()
    for job, held in choices.held.items():
        asks[job] = held.sum()
    left, stays = Leftover(round_, asks), dict[int, Ints]()
    must = choices.must.tolist()
    for job in dict.fromkeys([*must, *choices.held]):
        held = choices.held[job]
        if (held <= left.room(job)).all() and (job in must or left.within_quota(job)):
            left.take(held, job)
            stays[job] = held
    return stays
