"""Policy ``joint-s``, and what ``joint-l`` shares with it: shares and partners decided together, by a GPU's price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar, Final

import numpy as np

from muri_opt.errors import InputError, RefusalError, unknown_name
from muri_opt.rounds import INFORMATION, Assignment, Budget, Decision, Job, Round
from muri_opt.rounds.anytime import last_within
from muri_opt.rounds.budget import unlimited
from muri_opt.rounds.field_groups import PLACES, STATES
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.freed_memory import keep_freed_memory
from muri_opt.rounds.quantities import MAX_SECONDS
from muri_opt.systems.capacity.set_apart import Groups, SetApart, set_apart
from muri_opt.systems.capacity.starts_apart import with_starts_apart
from muri_opt.systems.gangs.gpu_seconds import GpuSecondsList
from muri_opt.systems.joint.decision import joint_decision
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.sizes import best_sizes
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.jobs.models import Models, check_models, models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.kept import kept_as_they_are, kept_assignments
from muri_opt.systems.joint.nodes.state import Case, State, home_of
from muri_opt.systems.joint.rules import NO_SAMPLES, POWERS, USUAL, JointRules
from muri_opt.systems.joint.search.by_priority import deciding
from muri_opt.systems.policy import Allowed, Policy, Rules, Span

MOST_LOOKED_AT: Final = 500
"""Jobs up to which a decision is looked at as if it were carried out: a look takes as long as the decision."""
_SAID_WITH: Final[Mapping[str, frozenset[str]]] = {
    "rank": frozenset(),
    "chance": frozenset({"weights"}),
    "pow": frozenset({"weights", "power"}),
    "gittins": frozenset({"weights", "samples"}),
}
"""Settings of what work is worth that the rules name; the usual ones are not named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPolicy(Policy):
    """Shares of GPUs, plans and partners chosen together, by what brings completions forward.

    ``joint-s`` knows how long jobs are, ``joint-l`` (:class:`GuessedLengthsPolicy`) expects each to take as long
    again as it has had. ``group`` is the largest group. ``sharing`` is ``full``, in which stages fill the
    iteration, so that nobody runs faster in a group than alone, or ``stretch``, in which they are as measured;
    ``slowdown`` is what sharing costs besides. ``shares`` are ``all``, or ``powers`` of two for elastic jobs.
    ``kappa`` scales the price of GPUs at a job's end; with ``weights`` ``pow`` work is worth one over the service
    left, or had, to a ``power`` instead. With ``weights`` ``gittins``, ``joint-l`` expects jobs to be as long as
    ``samples`` of the GPU-seconds of jobs that have ended; a replay adds those that end in it; with ``chance`` it
    counts by how likely other jobs are to need more service, so that jobs that have had about as much do not take
    turns. A decision is expected to stand for ``horizon`` seconds; with ``restarts`` ``stops`` a running job saves
    its restart of them by going on as it is, whether it would be given other GPUs or be stopped; with ``pay`` it loses
    as much if it is given other GPUs, and being stopped costs nothing.

    >>> [one.jobs for one in policy_from("joint-s:group=2").decide(shipped_round("toy/eight-stages"), 0).assignments]
    [('a', 'e'), ('b', 'c')]
    """

    group: str = USUAL["group"]
    sharing: str = USUAL["sharing"]
    slowdown: str = USUAL["slowdown"]
    shares: str = USUAL["shares"]
    kappa: str = USUAL["kappa"]
    horizon: str = USUAL["horizon"]
    restarts: str = USUAL["restarts"]
    weights: str = USUAL["weights"]
    power: str = USUAL["power"]
    samples: str = USUAL["samples"]

    own_name: ClassVar[str] = "joint-s"
    lengths: ClassVar[str] = "known"
    """What the rules say of lengths."""
    chapter: ClassVar[str] = "joint"
    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | STATES | {"job.priority", "tenant.parent"}
    choices: ClassVar[Mapping[str, Allowed]] = {
        "group": ("4", "3", "2", "1"),
        "sharing": ("full", "stretch"),
        "slowdown": ("none", "muri"),
        "shares": ("all", "powers"),
        "kappa": Span(0, 1000),
        "horizon": Span(0.001, MAX_SECONDS),
        "restarts": ("stops", "pay", "ignore"),
        "weights": ("rank", "pow", "gittins", "chance"),
        "power": POWERS,
        "samples": GpuSecondsList(words=(NO_SAMPLES,)),
    }

    def __post_init__(self) -> None:
        if self.name != self.own_name:
            raise unknown_name("policy", self.name, (self.own_name,))
        Policy.__post_init__(self)
        if self.weights in ("gittins", "chance") and self.lengths == "known":
            raise InputError(f"policy {self.name!r}.weights", repr(self.weights), "rank or pow: lengths are known")
        # They would change nothing, and equal policies have equal texts.
        for setting, read, only in (
            ("samples", self.weights == "gittins", "with weights=gittins only"),
            ("power", self.weights == "pow", "with weights=pow only"),
            ("kappa", self.weights != "pow", "not with weights=pow, by which no price is guessed"),
            ("horizon", self.restarts != "ignore", "not with restarts=ignore, by which no change costs anything"),
        ):
            if not read and getattr(self, setting) != USUAL[setting]:
                raise InputError(f"policy {self.name!r}.{setting}", f"{setting}={getattr(self, setting)}", only)

    @property
    def summary(self) -> str:
        """What is decided together, and what is known of lengths."""
        return "shares of GPUs and partners on them together, by what brings completions forward; lengths known"

    @property
    def needs(self) -> tuple[str, ...]:
        """What jobs are ranked by."""
        return ("remaining_iterations",)

    @property
    def rules(self) -> Rules:
        """How jobs may share and what that is worth; how it is searched for is the algorithm's own affair."""
        unsaid = {"lengths", "weights", "power", "samples"} - _SAID_WITH[self.weights]
        settings = {name: getattr(self, name) for name in USUAL if name not in unsaid}
        return {"chapter": self.chapter, "lengths": self.lengths, **settings}

    def check(self, round_: Round) -> None:
        """Refuse a job that does not say what it is ranked by or how long an iteration takes, or prefers a place."""
        self._check_jobs(round_)
        models_of(round_, JointRules.of(self.rules))
        self.set_apart(round_)

    def check_alone(self, alone: Round) -> None:
        """Refuse the same of one job."""
        self._check_jobs(alone)
        check_models(alone, JointRules.of(self.rules))

    def _check_jobs(self, round_: Round) -> None:
        for position, job in enumerate(round_.jobs):
            try:
                if job.within is not None and not job.within.required:
                    allowed = f"true: the policy {self.name!r} prefers no place to another"
                    raise RefusalError("within.required", "false", allowed)
                self.check_lengths(job)
            except InputError as error:
                raise error.inside(f"jobs[{position}] ({job.id!r})") from None

    def check_lengths(self, job: Job) -> None:
        """Refuse a job that does not say how much service it has left."""
        if job.remaining_iterations is None:
            allowed = f"a number: {self.name!r} needs it; 'joint-l' does not"
            raise InputError("remaining_iterations", "nothing", allowed)
        timed = job.iteration_seconds is not None or job.stage_seconds is not None
        if not timed and job.scaling is None and job.plans is None:
            allowed = f"a time, stage_seconds, scaling or plans: {self.name!r} ranks jobs by the service they have left"
            raise InputError("iteration_seconds", "nothing", allowed)

    def set_apart(self, round_: Round) -> SetApart | None:
        """Return the round in two parts where some of it is not to be decided."""
        together = JointRules.of(self.rules).most_jobs(len(round_.resources)) > 1
        return set_apart(round_, self._kept, sharing=together)

    def _kept(self, round_: Round, groups: Groups) -> tuple[tuple[Assignment, ...], FreeCapacity]:
        rules = JointRules.of(self.rules)
        return kept_as_they_are(round_, models_of(round_, rules), rules, groups)

    def as_it_is(self, round_: Round, groups: Sequence[tuple[int, ...]]) -> tuple[Assignment, ...]:
        """Return running groups as they are, with their orders and periods."""
        rules = JointRules.of(self.rules)
        return kept_assignments(round_, models_of(round_, rules), rules, tuple(groups))

    def explained(self, round_: Round, decision: Decision) -> Decision:
        """Return a decision with the reasons for which others wait beside its groups."""
        placed = self._placed(round_, models_of(round_, JointRules.of(self.rules)), decision)
        if placed is None:
            return decision
        return Decision(assignments=decision.assignments, waiting=self.told(round_, placed).waiting)

    def _placed(self, round_: Round, models: Models, decision: Decision) -> dict[Group, Place] | None:
        """Return the groups of a decision with their GPUs of nodes; ``None`` where one has a plan that is not known."""
        placed = dict[Group, Place]()
        for one in decision.assignments:
            group = tuple(sorted([round_.job_index[job] for job in one.jobs]))
            place = home_of(round_, models, group[0], tuple(one.gpus.items()), one.plan)
            if place is None:
                return None
            placed[group] = place
        return placed

    def starting(self, round_: Round, gpus: int) -> Sequence[tuple[int, int]]:
        """Return the jobs alone that are worth most on so many GPUs, those worth most for a GPU first."""
        rules = JointRules.of(self.rules)
        models = models_of(round_, rules)
        offers = Offers.of(round_, models, worth_of(round_, models, rules), rules)
        waiting = [at for at, job in enumerate(round_.jobs) if job.state == "waiting" and not models.runs_by_plans(at)]
        if not waiting or not gpus:
            return ()
        priority = np.array([round_.jobs[at].priority for at in waiting])
        value = offers.alone(np.array(waiting))
        amounts = round_.amounts
        quota = amounts.least_in_line(amounts.U)[amounts.tenant[waiting]]
        value[offers.counts > quota[:, None]] = 0.0
        sizes, _ = best_sizes(value, offers.counts, gpus)
        given = offers.counts[sizes]
        each = value[np.arange(len(waiting)), sizes] / np.maximum(given, 1)
        line = np.lexsort((offers.submitted[waiting], -each, -priority))
        return [(waiting[at], int(given[at])) for at in line.tolist() if given[at]]

    @property
    def answers_early(self) -> bool:
        """A quick search comes first."""
        return True

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of the price search, placed on the nodes."""
        return self.decide_within(round_, seed, unlimited())

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        """Return the same, or the best that was found when the seconds of the budget are over."""
        keep_freed_memory()
        self.check_honoured(round_)
        self.check(round_)
        apart = self.set_apart(round_)
        if apart is not None:
            return self.joined(apart, self._beside_starts(apart, seed, budget))
        return self.told(round_, self.placed_within(round_, budget))

    def placed_within(self, round_: Round, budget: Budget) -> dict[Group, Place]:
        """Return the groups that run, by the places of their jobs, and where: what is decided, before it is told."""
        return last_within(deciding(self._case(round_), early=budget.limits.seconds is not None), budget)

    def told(self, round_: Round, placed: Mapping[Group, Place]) -> Decision:
        """Return the decision in which groups run there, with the reasons for which all others wait."""
        rules = JointRules.of(self.rules)
        return joint_decision(round_, models_of(round_, rules), rules, placed)

    def _case(self, round_: Round) -> Case:
        rules = JointRules.of(self.rules)
        models = models_of(round_, rules)
        return Case(round_=round_, models=models, worth=worth_of(round_, models, rules), rules=rules)

    def _beside_starts(self, apart: SetApart, seed: int, budget: Budget) -> Decision:
        """Return the decision of the rest, or what is decided once those that start by it are set apart, if better."""
        rest, began = apart.rest, monotonic()
        first = self.decide_within(rest, seed, budget)
        until = budget.deadline - (monotonic() - began)  # a look takes as long
        if self.restarts == "ignore" or len(rest.jobs) > MOST_LOOKED_AT or budget.over():
            return first
        state = State.of(self._case(rest))

        def decide(then: Round) -> Decision:
            again = self.set_apart(then)
            found = self.decide_within(then if again is None else again.rest, seed, budget)
            return found if again is None else again.joined(found)

        def value(decision: Decision) -> int | None:
            placed = self._placed(rest, state.case.models, decision)
            return None if placed is None else state.value(placed)

        better = with_starts_apart(apart, first, decide, value, until)
        return first if better is first else self.explained(rest, better)
