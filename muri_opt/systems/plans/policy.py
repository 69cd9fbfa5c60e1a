"""What every policy of execution plans is: rules that say which options jobs have, and a way to choose among them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import ClassVar, Final

from muri_opt.errors import RefusalError, unknown_name
from muri_opt.rounds import INFORMATION, Budget, Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.capacity.set_apart import SetApart, set_apart
from muri_opt.systems.capacity.starts_apart import with_starts_apart
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals, densest_first
from muri_opt.systems.plans.decision import assignments_of, chosen_in, plan_decision
from muri_opt.systems.plans.held_placements import HeldPlacements
from muri_opt.systems.plans.job_options import check_plans
from muri_opt.systems.plans.kept_plans import kept_plans
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import RANKED, REFERENCES, PlanRules, rules_of_plans
from muri_opt.systems.plans.stillness import MOST_LOOKED_AT, paying, worth_of
from muri_opt.systems.policy import Allowed, Policy, Rules, Span

RESTARTS: Final = ("pay", "ignore")
SECONDS: Final = 2_000_000_000
"""The longest time a setting may say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPolicy(Policy):
    """A policy that gives each job one of its plans, on nodes with room for all its parts, or lets it wait.

    With ``restarts=pay`` a running job is changed only where that is worth more than leaving it as it is, its restart
    charged; ``ignore`` decides as the algorithm is published, with no regard to where jobs are but for their value.

    >>> policy_from("rubick:change=plans").change
    'plans'
    """

    restarts: str = "pay"

    chapter: ClassVar[str] = "planning"
    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | SHAPES | STATES | {"job.priority", "tenant.parent"}
    own_name: ClassVar[str]
    choices: ClassVar[Mapping[str, Allowed]] = {"restarts": RESTARTS}
    needs_beside: ClassVar[tuple[str, ...]] = ()
    goes_by_plan: ClassVar[bool] = False
    """Whether the plan that a job has decides what it may have next: then a start may lead to another decision."""

    def __post_init__(self) -> None:
        if self.name != self.own_name:
            raise unknown_name("policy", self.name, [self.own_name])
        Policy.__post_init__(self)

    @property
    def needs(self) -> tuple[str, ...]:
        """Plans, the one it runs by or asks for where the policy keeps to it, and what jobs are ranked by."""
        return ("plans", *self.needs_beside, *RANKED.get(self.plan_rules.objective, ()))

    @property
    def rules(self) -> Rules:
        """The same, as the verifier is told."""
        return rules_of_plans(self.plan_rules)

    @property
    @abstractmethod
    def plan_rules(self) -> PlanRules:
        """Which plans a job may run by and what they are worth; the exact program of the same round obeys them too."""

    @property
    def looks_at_clock(self) -> bool:
        """Whether :meth:`choose` does; most policies run to their end."""
        return False

    @abstractmethod
    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs: at most one option of a job, within nodes and quotas.

        A policy that may take long is done soon after ``until`` (of ``time.monotonic``), with what it has by then.
        """

    def keep(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints] | None:
        """Return the same beside all that runs, which stays; ``None`` where the algorithm starts from what runs."""
        return None

    def kept(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints] | None:
        """Return what :meth:`keep` does, from one of the last calls if it was the same."""
        return _kept(self, round_, options, seed)

    def allocation(self, round_: Round, options: PlanOptions) -> PlanAllocation:
        """Return the empty cluster, in which those that run hold their nodes until their turn if restarts count."""
        return (HeldPlacements if self.restarts != "ignore" else PlanAllocation)(round_, options)

    def check(self, round_: Round) -> None:
        """Refuse a job without plans, plans that cannot be told apart, and a level that is only preferred."""
        self._check_places(round_)
        PlanOptions.of(round_, self.plan_rules)
        self.set_apart(round_)

    def check_alone(self, alone: Round) -> None:
        """Refuse the same of one job."""
        self._check_places(alone)
        check_plans(alone, self.plan_rules)
        if any(job.stays for job in alone.jobs):
            self.set_apart(alone)

    def _check_places(self, round_: Round) -> None:
        for position, job in enumerate(round_.jobs) if "job.within" in round_.used_fields else ():
            if job.within is not None and not job.within.required:
                where = f"jobs[{position}] ({job.id!r}).within.required"
                raise RefusalError(where, "false", f"true: the policy {self.name!r} prefers no place to another")

    def set_apart(self, round_: Round) -> SetApart | None:
        """Return the round in two parts where some of it is not to be decided."""
        return set_apart(round_, kept_plans, sharing=False)

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of the policy's own algorithm."""
        return self._decided(round_, seed, inf)

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        """Return the decision of the policy's own algorithm, or where it is late what it has by then."""
        return self._decided(round_, seed, budget.deadline)

    def _decided(self, round_: Round, seed: int, deadline: float) -> Decision:
        self.check_honoured(round_)
        apart = self.set_apart(round_)
        if apart is not None:
            return self.joined(apart, self._beside_starts(apart, seed, deadline))
        return plan_decision(
            round_, PlanOptions.of(round_, self.plan_rules), self._decided_nodes(round_, seed, deadline)
        )

    def _decided_nodes(self, round_: Round, seed: int, deadline: float) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs in a round of which nothing is set apart."""
        options = PlanOptions.of(round_, self.plan_rules)
        if self.restarts != "ignore" and (options.homes or self.goes_by_plan):
            return paying(self, round_, options, seed, deadline)
        return self.choose(round_, options, seed, deadline)

    def _beside_starts(self, apart: SetApart, seed: int, deadline: float) -> Decision:
        """Return the decision of the rest, or what is decided once those that start by it are set apart, if better."""
        rest, began = apart.rest, monotonic()
        options, first = PlanOptions.of(rest, self.plan_rules), self._decided(rest, seed, deadline)
        until = deadline - (monotonic() - began)  # a look takes as long
        if self.restarts == "ignore" or len(options) > MOST_LOOKED_AT:
            return first

        def decide(then: Round) -> Decision:
            again = self.set_apart(then)
            part = then if again is None else again.rest
            chosen = self._decided_nodes(part, seed, deadline)
            found = assignments_of(part, PlanOptions.of(part, self.plan_rules), chosen)
            return Decision(assignments=found if again is None else (*again.kept, *found))

        def value(decision: Decision) -> int | None:
            chosen = chosen_in(rest, options, decision)
            return None if chosen is None else worth_of(options, chosen)

        better = with_starts_apart(apart, first, decide, value, until)
        chosen = None if better is first else chosen_in(rest, options, better)
        return first if chosen is None else plan_decision(rest, options, chosen)

    def unchanged(self, round_: Round) -> Decision | None:
        """Return the decision that changes no running job, with whoever starts beside them."""
        kept = self._unmoved(round_)
        return None if kept is None else plan_decision(round_, PlanOptions.of(round_, self.plan_rules), kept)

    def unchanged_draft(self, round_: Round) -> Decision | None:
        """Return its assignments alone: why others wait takes longer than all the rest."""
        kept = self._unmoved(round_)
        if kept is None:
            return None
        return Decision(assignments=assignments_of(round_, PlanOptions.of(round_, self.plan_rules), kept))

    def beside(self, round_: Round) -> Decision:
        """Return all that runs where it is, and beside it who fits, first who is worth most for what it takes."""
        options = PlanOptions.of(round_, self.plan_rules)
        beside = PlanAllocation(round_, options)
        beside.stay(arrivals(round_))
        for job, wanted in densest_first(round_, options, beside.placements):
            beside.start(job, wanted)
        return plan_decision(round_, options, beside.chosen)

    def _unmoved(self, round_: Round) -> Mapping[int, Ints] | None:
        """Return the nodes of each option that runs where no running job is changed; ``None`` where none runs."""
        options = PlanOptions.of(round_, self.plan_rules)
        if self.restarts == "ignore" or not options.homes:
            return None
        kept = self.kept(round_, options, 0)
        return _filled(round_, options) if kept is None else kept


@recalled
def _filled(round_: Round, options: PlanOptions) -> Mapping[int, Ints]:
    """Return all that runs where it is, and whoever fits beside by the best option that does."""
    beside = PlanAllocation(round_, options)
    beside.stay(arrivals(round_))
    for job in arrivals(round_):
        beside.start(job, beside.best_first[job])
    return beside.chosen


@recalled
def _kept(policy: PlanPolicy, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints] | None:
    """Return what a policy decides beside all that runs: it is asked for it again as an answer that changes nobody."""
    return policy.keep(round_, options, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputPolicy(PlanPolicy):
    """A policy of which a decision is worth the throughput of the jobs that run.

    Throughput counts against a ``reference``, the ``best`` a job could have in the empty cluster or what it
    ``requested``. A restart costs its time out of a ``horizon`` of so many seconds.
    """

    reference: str = "best"
    horizon: str = "600"

    choices: ClassVar[Mapping[str, Allowed]] = {
        **PlanPolicy.choices,
        "reference": REFERENCES,
        "horizon": Span(0.001, SECONDS),
    }
    changes: ClassVar[str]

    @property
    def plan_rules(self) -> PlanRules:
        """Which plans a job may run by and what they are worth."""
        return PlanRules(
            change=self.changes, reference=self.reference, horizon=microseconds(float(self.horizon)), power=None
        )
