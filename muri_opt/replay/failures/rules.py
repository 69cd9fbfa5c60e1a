"""What is done about failures: a retry rule, perhaps a pre-run, and what is known so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from muri_opt.replay.failures.failure_statistics import Experience
from muri_opt.replay.failures.prerun import PreRun
from muri_opt.replay.failures.retry import AdaptiveRetry, FixedRetry, RetryRule


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRules:
    """A retry rule, a pre-run or none, and the experience the rule decides with."""

    retry: RetryRule
    pre_run: PreRun | None = None
    experience: Experience = field(default_factory=Experience)


TWO_MINUTES: Final = PreRun(milliseconds=120_000)
"""A short pre-run for every gang: most failure classes strike within two minutes in half of their trials."""


def compared_rules(pre_run: PreRun = TWO_MINUTES) -> Mapping[str, FailureRules]:
    """Return the published rule, each remedy alone and both, by name; the first is what the others are held against."""
    known = Experience()
    fixed, adaptive = FixedRetry(), AdaptiveRetry()
    return {
        "fixed retry": FailureRules(retry=fixed, experience=known),
        "adaptive retry": FailureRules(retry=adaptive, experience=known),
        "pre-run, fixed": FailureRules(retry=fixed, pre_run=pre_run, experience=known),
        "pre-run, adaptive": FailureRules(retry=adaptive, pre_run=pre_run, experience=known),
    }
