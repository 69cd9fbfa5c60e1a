"""Step times of workers on CPUs and on GPUs, as AITurbo's lab models them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.nonnegative_fit import MOST_COEFFICIENT, fit_times
from muri_opt.profiling.job_length.optimus_speed import MOST_TASKS
from muri_opt.profiling.job_length.worker_curves import CoreEfficiency, GpuShareFactor
from muri_opt.rounds.field_checks import check_kind, items
from muri_opt.rounds.quantities import MAX_COUNT, MAX_CPUS, MAX_SECONDS, finite, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Parameter servers and workers of a job; every worker has either ``cores`` or a ``share`` of a GPU."""

    ps: int
    workers: int
    cores: float | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        for name in ("ps", "workers"):
            object.__setattr__(self, name, whole(name, getattr(self, name), MOST_TASKS, 1))
        if (self.cores is None) == (self.share is None):
            raise InputError("share", "nothing" if self.share is None else "cores too", "either cores or a GPU share")
        name, most = ("cores", MAX_CPUS) if self.share is None else ("share", 1.0)
        object.__setattr__(self, name, finite(name, getattr(self, name), most, positive=True))

    @property
    def gpus(self) -> float:
        """Return the GPUs of all workers together."""
        return 0.0 if self.share is None else self.workers * self.share


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSample:
    """A measured step: with which configuration, global batch, and how many seconds it took."""

    configuration: Configuration
    batch: int
    seconds: float

    def __post_init__(self) -> None:
        check_kind("configuration", self.configuration, Configuration)
        object.__setattr__(self, "batch", whole("batch", self.batch, MAX_COUNT, 1))
        object.__setattr__(self, "seconds", finite("seconds", self.seconds, MAX_SECONDS, positive=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds of a step: T = c (th0 m + th1) + th23 w / p + th4 w + th5 p + th6 GPUs, with m = batch / w.

    c is 1 / eff(cores) for workers on cores, and for workers on GPUs the factor of their share, or 1 on whole GPUs if
    no factor is given. The published form has th2 + th3 in place of ``th23``: no sample could tell them apart.
    """

    COEFFICIENTS: ClassVar[dict[str, str]] = {
        "th0": "runs with several batches per worker",
        "th1": "runs with several numbers of workers, servers and cores or shares",
        "th23": "runs with several ratios of workers to parameter servers",
        "th4": "runs with several numbers of workers",
        "th5": "runs with several numbers of parameter servers",
        "th6": "runs on GPUs, and on CPUs or on several shares",
    }

    th0: float
    th1: float
    th23: float
    th4: float
    th5: float
    th6: float
    efficiency: CoreEfficiency | None = None
    share_factor: GpuShareFactor | None = None

    def __post_init__(self) -> None:
        for name in self.COEFFICIENTS:
            object.__setattr__(self, name, finite(name, getattr(self, name), MOST_COEFFICIENT))
        if not any((self.th0, self.th1, self.th23, self.th4, self.th5)):
            raise InputError("coefficients", "nothing above 0 but th6", "one other than th6 above 0")
        _check_curves(self.efficiency, self.share_factor)

    def seconds_per_step(self, configuration: Configuration, batch: int) -> float:
        """Return the seconds of a step with a global batch of so many samples."""
        check_kind("configuration", configuration, Configuration)
        amounts = _amounts(configuration, whole("batch", batch, MAX_COUNT, 1), self.efficiency, self.share_factor)
        found = (self.th0, self.th1, self.th23, self.th4, self.th5, self.th6)
        return sum(value * amount for value, amount in zip(found, amounts, strict=True))


def fit_step_time(
    samples: Iterable[StepSample],
    *,
    efficiency: CoreEfficiency | None = None,
    share_factor: GpuShareFactor | None = None,
    fixed: Mapping[str, float] | None = None,
) -> StepTime:
    """Return the model of least squared error of the seconds, no coefficient negative.

    The two curves are fitted before, from runs of one worker. Coefficients in ``fixed`` keep the value given, such as
    ``th6`` without runs on GPUs; samples that leave a free one open are refused by its name.
    """
    _check_curves(efficiency, share_factor)
    held = items("samples", samples)
    if not held:
        raise InputError("samples", "none", "at least one sample")
    rows = []
    for position, sample in enumerate(held):
        check_kind(f"samples[{position}]", sample, StepSample)
        try:
            rows.append(_amounts(sample.configuration, sample.batch, efficiency, share_factor))
        except InputError as error:
            raise error.inside(f"samples[{position}]") from None
    seconds = np.array([sample.seconds for sample in held])
    found = fit_times(StepTime.COEFFICIENTS, np.array(rows), seconds, fixed)
    return StepTime(**found, efficiency=efficiency, share_factor=share_factor)


def _amounts(
    at: Configuration, batch: int, efficiency: CoreEfficiency | None, share_factor: GpuShareFactor | None
) -> tuple[float, ...]:
    """Return what each coefficient is multiplied with."""
    c, w, p = _computing(at, efficiency, share_factor), at.workers, at.ps
    return c * batch / w, c, w / p, float(w), float(p), at.gpus


def _computing(at: Configuration, efficiency: CoreEfficiency | None, share_factor: GpuShareFactor | None) -> float:
    """Return how long computing takes, relative to a worker with a whole GPU, or to one of efficiency 1."""
    if at.cores is not None:
        if efficiency is None:
            raise InputError("cores", f"{at.cores:g}", "a GPU share, as no efficiency of cores is given")
        return 1 / efficiency.efficiency(at.cores)
    share = 1.0 if at.share is None else at.share
    if share_factor is not None:
        return share_factor.factor(share)
    if share < 1:
        raise InputError("share", f"{share:g}", "1, as no factor of GPU shares is given")
    return 1.0


def _check_curves(efficiency: CoreEfficiency | None, share_factor: GpuShareFactor | None) -> None:
    if efficiency is not None:
        check_kind("efficiency", efficiency, CoreEfficiency)
    if share_factor is not None:
        check_kind("share_factor", share_factor, GpuShareFactor)
