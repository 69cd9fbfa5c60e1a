"""From profiled runs to a performance model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from muri_opt.profiling.plan_speed.fitting import Fit, fit
from muri_opt.profiling.plan_speed.performance import PerformanceModel
from muri_opt.profiling.plan_speed.sample import Sample
from muri_opt.profiling.plan_speed.sample_files import SampleSet


def fit_profile(
    profile: SampleSet, *, form: str = "published", fixed: Mapping[str, float] | None = None
) -> tuple[PerformanceModel, Fit]:
    """Return the performance model fitted to the samples, with the measured throughputs, and the fit itself."""
    found = fit(profile.model, profile.links, profile.samples, form=form, fixed=fixed)
    performance = PerformanceModel(
        model=profile.model,
        links=profile.links,
        form=form,
        coefficients=found.coefficients,
        forward_ms=_forward(profile.samples),
        measured=profile.measured,
    )
    return performance, found


def _forward(samples: Sequence[Sample]) -> dict[int, float]:
    """Return the mean forward time for each number of GPUs, of data parallel plans if there are any."""
    times: dict[int, list[float]] = defaultdict(list)
    plain = [sample for sample in samples if sample.plan.pure_data]
    for sample in plain or samples:
        times[sample.plan.gpus].append(sample.forward_ms)
    return {gpus: fmean(found) for gpus, found in times.items()}
