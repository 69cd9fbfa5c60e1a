"""What every policy is: a name, its parameters, and its published algorithm."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Assignment, Budget, Decision, Job, Round
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.systems.history import JobHistory

if TYPE_CHECKING:
    from muri_opt.systems.capacity.set_apart import SetApart

_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", flags=re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from ``least`` to ``most``, given as text; ``words`` are allowed beside them and mean what they say."""

    least: float
    most: float = inf
    words: tuple[str, ...] = ()
    whole: bool = False

    def canonical(self, field: str, found: object) -> str:
        """Return the one text of the number that ``found`` writes (``0.50`` is ``0.5``), or refuse it."""
        if isinstance(found, str):
            if found in self.words:
                return found
            number = float(found) if _NUMBER.fullmatch(found) else inf
            if self.least <= number <= self.most and number < inf and (number.is_integer() or not self.whole):
                return _text(number)
        as_text = " as text" * (not isinstance(found, str))
        raise InputError(
            field, repr(found), " or ".join([f"a {'whole ' * self.whole}number {self._range()}{as_text}", *self.words])
        )

    def _range(self) -> str:
        return f"of at least {_text(self.least)}" + f" and at most {_text(self.most)}" * (self.most < inf)


def _text(number: float) -> str:
    """Return the shortest text that reads as the number; whole numbers have no point."""
    return repr(float(number)).removesuffix(".0")


Allowed = tuple[str, ...] | Span
"""What a parameter may be: one of some texts, or a number within a span."""
Rules = Mapping[str, str]
"""The ``chapter`` by which the verifier checks a decision, and its settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(ABC):
    """A policy with its parameters: every one is a text, a field with a default, and ``choices`` says what it may be.

    A number has one text only, so that equal policies have equal texts. A policy of one's own is a subclass, in any
    package, with a ``decide``; what else it is asked has an answer here that will do for gangs.

    >>> policy_from("srtf:nodes=fewest").nodes
    'fewest'
    """

    name: str

    choices: ClassVar[Mapping[str, Allowed]] = {}
    chapter: ClassVar[str] = "gangs"
    """By which rules its decisions are checked, and the chapter of the book that the exact program is in."""
    honours: ClassVar[frozenset[str]] = frozenset()
    """Which fields of format 2 its algorithm and its exact program obey, such as ``job.priority``: it refuses rounds
    that use another (:data:`muri_opt.rounds.used_fields.FIELDS`)."""
    honours_with: ClassVar[Mapping[str, str]] = {}
    """Fields that it honours with a setting only, such as ``run=free``."""

    def __post_init__(self) -> None:
        for parameter, allowed in self.choices.items():
            field, value = f"policy {self.name!r}.{parameter}", getattr(self, parameter)
            if isinstance(allowed, Span):
                object.__setattr__(self, parameter, allowed.canonical(field, value))
            elif value not in allowed:
                raise InputError(field, repr(value), "one of " + ", ".join(allowed))

    @property
    def spec(self) -> str:
        """The policy as text, such as ``fifo`` or ``fifo:objective=lexicographic``; defaults are left out."""
        set_ = [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)
            if field.name != "name" and getattr(self, field.name) != field.default
        ]
        return self.name + (":" + ",".join(set_) if set_ else "")

    @property
    def paced_as(self) -> str:
        """What the time of its steps is remembered by; a setting that changes all the time is left out."""
        return self.spec

    @property
    def written_in(self) -> str:
        """The name of the module in which its algorithm is written."""
        return type(self).__module__

    @property
    def summary(self) -> str:
        """What the policy does, in one line."""
        return (type(self).__doc__ or "").partition("\n")[0].replace("``", "").rstrip(".")

    @property
    def needs(self) -> tuple[str, ...]:
        """Fields of a job, beside its id and GPUs, without which the policy refuses a round."""
        return ()

    @property
    def rules(self) -> Rules:
        """The chapter, and those of its settings that are not as usual."""
        return {"chapter": self.chapter}

    def checked_as(self, rules: Rules) -> Policy:
        """Return the policy, checked by other rules; only a bare function has none of its own."""
        raise InputError("verify_as", f"{rules['chapter']!r}", f"nothing: policy {self.spec!r} has rules of its own")

    @property
    def honoured(self) -> frozenset[str]:
        """What ``honours`` says, or what a bare function says of itself."""
        return self.honours

    def check_honoured(self, round_: Round) -> None:
        """Refuse a round that uses a field of format 2 which the policy does not honour."""
        field = unhonoured(round_.used_fields, self.honoured)
        if field is not None:
            raise refusal(round_.used_fields, field, f"policy {self.spec!r}", ())

    def check(self, round_: Round) -> None:  # noqa: B027 - a policy that refuses nothing need not say so
        """Refuse a round that neither the algorithm nor the exact program of the policy can decide."""

    def check_alone(self, alone: Round) -> None:
        """Refuse a round of one job for what lies in that job, whatever other jobs there are and wherever it runs.

        A session asks it before it takes a job: one that was taken and that no round can be decided with would be in
        the way of all others. By default a job is refused that does not say what the policy ``needs``.
        """
        for job in alone.jobs:
            lacking = next((field for field in self.needs if getattr(job, field) is None), None)
            if lacking is not None:
                raise InputError(f"jobs[0] ({job.id!r}).{lacking}", "nothing", f"a value: {self.spec!r} needs it")

    @abstractmethod
    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of the published algorithm; ``seed`` decides what the algorithm leaves to chance."""

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        """Return the decision of the algorithm, or what it has of it when the budget is over; by default it runs on.

        An algorithm that may take long asks :meth:`~muri_opt.rounds.Budget.over` on its way, or looks at
        ``budget.deadline``. If it says with :meth:`~muri_opt.rounds.Budget.spend` what its steps cost, it ends under a
        limit of work, too, and then wherever it runs with the same decision.
        """
        return self.decide(round_, seed)

    def as_it_is(self, round_: Round, groups: Sequence[tuple[int, ...]]) -> tuple[Assignment, ...]:
        """Return running jobs as assignments that change nothing, those together that share GPUs, by their places.

        A policy whose assignments say more, such as the period of a group, says it here.
        """
        return tuple(_as_it_is([round_.jobs[place] for place in group]) for group in groups)

    def undone(self, round_: Round, decision: Decision) -> Decision:
        """Return a decision without the changes of running jobs that gain nothing; by default it is taken as it is.

        A search tries to undo few changes one by one, each by a check of the whole decision. A policy that knows a
        faster way, for many of them, goes it here.
        """
        return decision

    def explained(self, round_: Round, decision: Decision) -> Decision:
        """Return a decision with the reasons that the policy's own tells those who wait; by default it is as it is.

        A search asks for it that has changed a decision, so that it leaves out why others wait.
        """
        return decision

    def set_apart(self, round_: Round) -> SetApart | None:
        """Return the round in two parts where some of it is not the policy's to decide; ``None``: all of it is."""
        return None

    def joined(self, apart: SetApart, decision: Decision) -> Decision:
        """Return a decision of the rest of a round as one of the whole, with the words that hold there, if any.

        A reason is told of the rest, as it is checked; the words with it tell of the whole cluster and whole quotas.
        """
        whole = apart.joined(decision)
        if not decision.waiting:
            return whole
        told = self.explained(apart.whole, whole).waiting
        waiting = [replace(wait, reason=one.reason) for wait, one in zip(told, whole.waiting, strict=True)]
        return Decision(assignments=whole.assignments, waiting=tuple(waiting))

    def decided_part(self, round_: Round) -> Round:
        """Return the part of a round that the policy and its exact program decide."""
        apart = self.set_apart(round_)
        return round_ if apart is None else apart.rest

    def unchanged(self, round_: Round) -> Decision | None:
        """Return the decision that stops and moves nobody, which wins against others of its value; ``None``: none."""
        return None

    def unchanged_draft(self, round_: Round) -> Decision | None:
        """Return the assignments of :meth:`unchanged`, from which its value follows; by default the whole decision.

        A search asks for the whole only where it wins: a policy for which it takes long to say why jobs wait leaves
        them out here.
        """
        return self.unchanged(round_)

    def unchanged_may_reach(self, round_: Round, value: int) -> bool:
        """Return whether :meth:`unchanged` may be an answer that is worth so much.

        It is not worked out where it surely is worth less, nor where a rule of the policy that values do not count, as
        a turn of another job, asks for a change.
        """
        return True

    @property
    def looks_at_clock(self) -> bool:
        """Whether its algorithm ends soon after its budget does: then it is begun though it took longer before."""
        return type(self).decide_within is not Policy.decide_within

    @property
    def answers_early(self) -> bool:
        """Whether the first answer of :meth:`decide_within` comes about as soon as a simple decision could be checked.

        Then nothing stands in for it, however little time is left.
        """
        return False

    def starting(self, round_: Round, gpus: int) -> Sequence[tuple[int, int]]:
        """Return who starts first where so many GPUs are free and no time is left, each with its GPUs.

        By default all that wait with the GPUs they ask for, by priority and then in the order of submission.
        """
        jobs = round_.jobs
        waiting = [place for place, job in enumerate(jobs) if job.state == "waiting" and job.gpus]
        waiting.sort(key=lambda at: (-jobs[at].priority, jobs[at].submitted or 0.0, at))
        return [(place, jobs[place].gpus) for place in waiting]

    def beside(self, round_: Round) -> Decision | None:
        """Return who runs as they are and who starts beside them, without any search; ``None``: not known here."""
        return None

    def wakes(self, running: JobHistory, waiting: JobHistory) -> float:
        """Return in how many seconds, above 0, the policy wants to be asked again although nothing but time passes.

        Infinity where time changes nothing. It is asked only where jobs wait.
        """
        return inf

    @property
    def has_one_job_per_resource(self) -> bool:
        """Whether every resource of GPUs serves one job at a time where jobs share them by its rules.

        Bounds on completion times count on that.
        """
        return True

    def learned(self, gpu_seconds: float) -> Policy:
        """Return the policy after a job has ended that has had so much service; one that learns nothing is the same.

        A replay asks this at every end and goes on with the answer.
        """
        return self

    def promoted(self, jobs: Sequence[Job]) -> list[int]:
        """Return the places of jobs whose attained service begins anew, as they have waited for too long."""
        return []


def _as_it_is(jobs: Sequence[Job]) -> Assignment:
    return Assignment(
        jobs=tuple(job.id for job in jobs),
        order=tuple(range(len(jobs))),
        plan=jobs[0].plan if len(jobs) == 1 else None,
        gpus=dict(jobs[0].placement or {}),
    )


def parse_parameters(policy: str, text: str, known: Mapping[str, Allowed]) -> dict[str, str]:
    """Return the ``key=value`` pairs of a policy's text, refusing keys the policy does not have."""
    parameters: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"policy {policy!r}", repr(pair), "parameters written as key=value, separated by commas")
        if key not in known:
            raise unknown_name(f"parameter of policy {policy!r}", key, known)
        parameters[key] = value
    return parameters
