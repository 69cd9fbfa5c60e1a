"""Policy ``philly``: its parameters, and the rules they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from muri_opt.errors import InputError, RefusalError, unknown_name
from muri_opt.rounds import INFORMATION, Budget, Decision, Round
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES
from muri_opt.rounds.quantities import MAX_GPUS, MAX_SECONDS
from muri_opt.systems.history import JobHistory, soonest
from muri_opt.systems.philly.decision import placement_decision
from muri_opt.systems.philly.job_status import JobStatus, check_status
from muri_opt.systems.philly.schedule import schedule
from muri_opt.systems.philly.tenant_rules import COMPLETION, NEVER, UNLIMITED, USUAL, WHOLE, TenantRules
from muri_opt.systems.policy import Allowed, Policy, Rules, Span

_TIME = Span(0, MAX_SECONDS)
_SPAN_OF_TIME = Span(1e-6, MAX_SECONDS)
_SPEED = Span(1 / WHOLE, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhillyPolicy(Policy):
    """Gangs of tenants: a queue and a quota each, idle quota lent, and GPUs close together worth waiting for.

    A gang that has waited for ``rack_after`` seconds may spread inside a rack, after ``any_after`` over any nodes, at
    ``rack_speed`` and ``any_speed`` of its best. It is tried for ``hold`` seconds and left alone for ``backoff``, in
    turn. Tenants over their quota are preempted from a load of ``preempt_at`` on. At most ``migrate`` GPUs are moved in
    a round. Gangs from ``dedicated`` GPUs on share their nodes with nobody.

    ``objective`` says what the exact program of the same round maximises (chapter *placement*): GPUs within quotas
    before preempted GPUs before all else, or all of them weighted; or, in place of work by age, what work is worth for
    ``completion`` times, which is then also the order of the queues. Waiting adds to the worth of a GPU up to ``aging``
    seconds, and a restart costs its part of ``horizon`` seconds.

    >>> policy_from("philly:migrate=inf").migrate
    'inf'
    """

    rack_after: str = USUAL["rack_after"]
    any_after: str = USUAL["any_after"]
    hold: str = USUAL["hold"]
    backoff: str = USUAL["backoff"]
    preempt_at: str = USUAL["preempt_at"]
    migrate: str = USUAL["migrate"]
    dedicated: str = USUAL["dedicated"]
    rack_speed: str = USUAL["rack_speed"]
    any_speed: str = USUAL["any_speed"]
    aging: str = USUAL["aging"]
    horizon: str = USUAL["horizon"]
    objective: str = USUAL["objective"]

    chapter: ClassVar[str] = "placement"
    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | SHAPES | STATES | {"job.priority", "tenant.parent"}
    own_name: ClassVar[str] = "philly"
    choices: ClassVar[Mapping[str, Allowed]] = {
        "rack_after": _TIME,
        "any_after": _TIME,
        "hold": _SPAN_OF_TIME,
        "backoff": _TIME,
        "preempt_at": Span(0, 1, words=(NEVER,)),
        "migrate": Span(0, MAX_GPUS, words=(UNLIMITED,), whole=True),
        "dedicated": Span(1, MAX_GPUS, words=(NEVER,), whole=True),
        "rack_speed": _SPEED,
        "any_speed": _SPEED,
        "aging": _SPAN_OF_TIME,
        "horizon": _SPAN_OF_TIME,
        "objective": ("lexicographic", "weighted", COMPLETION),
    }

    def __post_init__(self) -> None:
        if self.name != self.own_name:
            raise unknown_name("policy", self.name, [self.own_name])
        Policy.__post_init__(self)
        if Fraction(self.any_speed) > Fraction(self.rack_speed):
            allowed = f"at most rack_speed={self.rack_speed}: racks apart is no faster than in one"
            raise InputError(f"policy {self.name!r}.any_speed", repr(self.any_speed), allowed)

    @property
    def rules(self) -> Rules:
        """All parameters: each of them counts."""
        return {"chapter": self.chapter, **{name: getattr(self, name) for name in self.choices}}

    @property
    def needs(self) -> tuple[str, ...]:
        """What jobs are ranked by, where they are."""
        return ("remaining_iterations", "iteration_seconds") if self.objective == COMPLETION else ()

    @property
    def tenant_rules(self) -> TenantRules:
        """The parameters in whole microseconds and thousandths."""
        return TenantRules.of(self.rules)

    def wakes(self, running: JobHistory, waiting: JobHistory) -> float:
        """Return when a gang that waits may spread further, or is tried or left alone in turn."""
        return soonest(self.tenant_rules.next_tries(waiting.waited_microseconds))

    def check(self, round_: Round) -> None:
        """Refuse a job of no GPUs, one that only prefers a place, and running jobs that cannot be."""
        _check_gangs(round_)
        JobStatus.of(round_, self.tenant_rules)

    def check_alone(self, alone: Round) -> None:
        """Refuse a job of no GPUs, one that only prefers a place, one that is not ranked, or runs with other GPUs."""
        _check_gangs(alone)
        check_status(alone, self.tenant_rules)

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of the published rules; nothing is left to chance."""
        return self._decided(round_, None)

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        """Return the same, or what it is after the last step within a budget: then fewer give way or are moved."""
        return self._decided(round_, budget)

    def _decided(self, round_: Round, budget: Budget | None) -> Decision:
        self.check_honoured(round_)
        _check_gangs(round_)
        status = JobStatus.of(round_, self.tenant_rules)
        return placement_decision(round_, status, schedule(round_, status, budget), budget)


def _check_gangs(round_: Round) -> None:
    for position, job in enumerate(round_.jobs):
        if job.gpus < 1:
            allowed = f"at least 1: the policy {PhillyPolicy.own_name!r} places gangs"
            raise InputError(f"jobs[{position}] ({job.id!r}).gpus", "0", allowed)
    for position, job in enumerate(round_.jobs) if "job.within" in round_.used_fields else ():
        if job.within is not None and not job.within.required:
            where = f"jobs[{position}] ({job.id!r}).within.required"
            allowed = f"true: the policy {PhillyPolicy.own_name!r} prefers no place to another but the closest"
            raise RefusalError(where, "false", allowed)
