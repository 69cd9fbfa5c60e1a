"""What a cluster has learnt about failures: the chance that a retry passes, and how long a failing run takes.

All in exact rationals, so that a decision never depends on rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from muri_opt.errors import InputError
from muri_opt.replay.failures.attempts import PastTrial
from muri_opt.replay.failures.classes import KINDS, PHILLY_FAILURES, FailureTable, Kind
from muri_opt.replay.failures.generator import FailureModel, mean_over_median
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import pairs
from muri_opt.rounds.quantities import MAX_COUNT, whole

_PRIOR: Final[Mapping[Kind, tuple[int, int]]] = MappingProxyType(
    {"user": (1, 3), "infrastructure": (3, 1), "unclear": (1, 1)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What was seen of one class: retries that passed and failed, failing runs and their milliseconds in all."""

    passed: int = 0
    failed: int = 0
    runs: int = 0
    milliseconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """Counts by class, on top of a prior.

    The chance that the run after a failure passes has the Beta prior (passed, failed) of its kind: by default 1/4 for
    user errors, 3/4 for the infrastructure, 1/2 where it is unclear. The mean time to failure starts as one run of
    the mean of a log-normal time with the class' median and ``spread``.
    """

    table: FailureTable = PHILLY_FAILURES
    prior: Mapping[Kind, tuple[int, int]] = field(default_factory=lambda: _PRIOR)
    spread: float = 1.0
    counts: tuple[Counts, ...] = ()

    def __post_init__(self) -> None:
        FailureModel(spread=self.spread)  # the same range
        prior = dict(pairs("prior", self.prior))
        for kind in KINDS:
            parts = prior.get(kind)
            if not isinstance(parts, tuple) or len(parts) != 2:
                raise InputError(f"prior[{kind}]", shown(parts), "two whole numbers of at least 1")
            for part in parts:
                whole(f"prior[{kind}]", part, MAX_COUNT, 1)
        object.__setattr__(self, "prior", MappingProxyType(prior))
        counts = self.counts or (Counts(),) * len(self.table.classes)
        if len(counts) != len(self.table.classes):
            raise InputError("counts", f"{len(counts)}", f"{len(self.table.classes)}, one a class")
        object.__setattr__(self, "counts", counts)

    def chance(self, failure: str) -> Fraction:
        """Return the mean of the Beta posterior: the chance that the run after this failure passes."""
        known = self.table.find(failure)
        good, bad = self.prior[known.kind]
        seen = self.counts[self.table.places[failure]]
        return Fraction(good + seen.passed, good + bad + seen.passed + seen.failed)

    def mean_milliseconds(self, failure: str) -> Fraction:
        """Return the mean time to this failure, the prior counting as one run."""
        seen = self.counts[self.table.places[self.table.find(failure).name]]
        return Fraction(self._prior_milliseconds(failure) + seen.milliseconds, 1 + seen.runs)

    def expected_loss(self, failure: str, gpus: int) -> Fraction:
        """Return the GPU-milliseconds one more run on so many GPUs is expected to lose."""
        return (1 - self.chance(failure)) * gpus * self.mean_milliseconds(failure)

    def failed(self, trial: PastTrial) -> Experience:
        """Return the experience after one more failing run."""
        return self._with(trial.failure, runs=1, milliseconds=trial.milliseconds)

    def retried(self, failure: str, *, passed: bool) -> Experience:
        """Return the experience after a run that followed this failure and passed or failed."""
        return self._with(failure, passed=int(passed), failed=int(not passed))

    def after(self, jobs: Iterable[tuple[Sequence[PastTrial], bool]]) -> Experience:
        """Return the experience after these jobs: the failed trials of each, and whether it passed in the end."""
        known = self
        for trials, passed in jobs:
            for position, trial in enumerate(trials):
                known = known.failed(trial)
                if position:
                    known = known.retried(trials[position - 1].failure, passed=False)
            if passed and trials:
                known = known.retried(trials[-1].failure, passed=True)
        return known

    def _prior_milliseconds(self, failure: str) -> int:
        return round(self.table.find(failure).median_milliseconds * mean_over_median(self.spread))

    def _with(self, failure: str, **more: int) -> Experience:
        place = self.table.places[self.table.find(failure).name]
        old = self.counts[place]
        new = replace(old, **{name: getattr(old, name) + number for name, number in more.items()})
        return replace(self, counts=(*self.counts[:place], new, *self.counts[place + 1 :]))
