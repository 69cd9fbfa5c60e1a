"""Policy ``joint-l``: the joint round of jobs whose lengths nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MAX_SECONDS
from muri_opt.systems.history import JobHistory
from muri_opt.systems.joint.jobs.expected_service import MOST_SAMPLES
from muri_opt.systems.joint.policy import JointPolicy
from muri_opt.systems.joint.rules import NO_SAMPLES
from muri_opt.systems.policy import Allowed, Policy, Span

_LEAST_SAMPLE: Final = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessedLengthsPolicy(JointPolicy):
    """The joint round where lengths are guesses: each job is expected to take as long again as it has had.

    A guess does not put jobs in an order that is worth a restart. So jobs behind another are counted by ``chance``; by
    ``rank``, what is usual where lengths are known, jobs that have had about as much take turns. The policy wants to be
    asked ``again`` after so many seconds.

    >>> policy_from("joint-l").spec, policy_from("joint-l:restarts=pay,weights=rank").spec
    ('joint-l', 'joint-l:restarts=pay,weights=rank')
    """

    weights: str = "chance"
    again: str = "1800"

    own_name: ClassVar[str] = "joint-l"
    lengths: ClassVar[str] = "attained"
    choices: ClassVar[Mapping[str, Allowed]] = {**JointPolicy.choices, "again": Span(1, MAX_SECONDS)}

    @property
    def paced_as(self) -> str:
        """Samples change with every job that ends."""
        return replace(self, samples=NO_SAMPLES).spec

    @property
    def summary(self) -> str:
        """What is decided together, and what is known of lengths."""
        return "shares of GPUs and partners on them together, by what brings completions forward; lengths unknown"

    @property
    def needs(self) -> tuple[str, ...]:
        """What lengths are guessed from."""
        return ("attained_gpu_seconds",)

    def check_lengths(self, job: Job) -> None:
        """Refuse a job that does not say how much service it has had."""
        if job.attained_gpu_seconds is None:
            raise InputError("attained_gpu_seconds", "nothing", f"a number: {self.name!r} needs it")

    def learned(self, gpu_seconds: float) -> Policy:
        """Return the policy that knows of one job more that has ended; of very many it keeps every second by length."""
        if self.weights != "gittins" or gpu_seconds < _LEAST_SAMPLE:
            return self
        known = [] if self.samples == NO_SAMPLES else self.samples.split("/")
        line = sorted([*known, f"{gpu_seconds:.3f}"], key=float)
        return replace(self, samples="/".join(line if len(line) <= MOST_SAMPLES else line[1::2]))

    def wakes(self, running: JobHistory, waiting: JobHistory) -> float:
        """Return when jobs have had enough more service to be ranked anew."""
        return float(self.again)
