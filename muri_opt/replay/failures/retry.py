"""Whether a job that failed runs again: a fixed number of times, or as long as it is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from muri_opt.errors import InputError
from muri_opt.replay.failures.attempts import MAX_MILLISECONDS, PastTrial
from muri_opt.replay.failures.failure_statistics import Experience
from muri_opt.rounds.quantities import MAX_COUNT, MAX_GPUS, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether to retry, why, and the GPU-milliseconds the next run is expected to lose."""

    retry: bool
    reason: str
    expected_loss: Fraction


class RetryRule(Protocol):
    """A rule for jobs that failed."""

    def decide(self, history: Sequence[PastTrial], *, gpus: int, value: int | None, experience: Experience) -> Verdict:
        """Return whether the job of these failed trials runs again on ``gpus`` GPUs.

        ``value`` is what a passing run is worth, in GPU-milliseconds; None where nobody knows.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRetry:
    """Philly's rule: every job is retried a fixed number of times, whatever the reason."""

    retries: int = 3

    def __post_init__(self) -> None:
        whole("retries", self.retries, MAX_COUNT)

    def decide(self, history: Sequence[PastTrial], *, gpus: int, value: int | None, experience: Experience) -> Verdict:
        """Return yes as long as retries are left."""
        last = _last(history)
        used = len(history) - 1
        again = used < self.retries
        reason = f"retry {used + 1} of {self.retries}" if again else f"all {self.retries} retries used"
        return Verdict(retry=again, reason=reason, expected_loss=experience.expected_loss(last.failure, gpus))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveRetry:
    """Retry if the chance to pass, times the value, exceeds the GPUs times the mean time to failure.

    A user error that struck twice in a row is deterministic and never retried. A job of unknown value is taken to need
    ``worth_milliseconds``, or ``multiple`` times its longest failed run if that is more: whoever has run for long has
    longer to run.
    """

    worth_milliseconds: int = 4 * 3_600_000
    multiple: int = 3

    def __post_init__(self) -> None:
        whole("worth_milliseconds", self.worth_milliseconds, MAX_MILLISECONDS, 1)
        whole("multiple", self.multiple, MAX_COUNT, 1)

    def decide(self, history: Sequence[PastTrial], *, gpus: int, value: int | None, experience: Experience) -> Verdict:
        """Return yes if one more run is worth its expected loss."""
        last = _last(history)
        whole("gpus", gpus, MAX_GPUS, 1)
        loss = experience.expected_loss(last.failure, gpus)
        kind = experience.table.find(last.failure).kind
        if kind == "user" and len(history) > 1 and history[-2].failure == last.failure:
            return Verdict(retry=False, reason=f"{last.failure!r} twice in a row: a user error", expected_loss=loss)
        if value is None:
            longest = max(trial.milliseconds for trial in history)
            value = gpus * max(self.worth_milliseconds, self.multiple * longest)
        chance = experience.chance(last.failure)
        gain, risk = chance * value, gpus * experience.mean_milliseconds(last.failure)
        again = gain > risk
        reason = (
            f"after {last.failure!r} a run passes with a chance of {float(chance):.3f}: worth {_hours(gain)} GPU "
            f"hours, {'more' if again else 'not more'} than the {_hours(risk)} at risk"
        )
        return Verdict(retry=again, reason=reason, expected_loss=loss)


def _last(history: Sequence[PastTrial]) -> PastTrial:
    if not history:
        raise InputError("history", "no trial", "at least one failed trial")
    return history[-1]


def _hours(gpu_milliseconds: Fraction) -> str:
    return f"{float(gpu_milliseconds / 3_600_000):.3g}"
