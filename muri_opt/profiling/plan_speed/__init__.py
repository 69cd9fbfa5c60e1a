"""Execution plans of large models: what they need, how fast they are, fitted to measurements."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.profiling.plan_speed.coefficients import COEFFICIENTS, Coefficients, Times
    from muri_opt.profiling.plan_speed.enumeration import PlacedPlan, enumerate_plans
    from muri_opt.profiling.plan_speed.execution import STATES, ExecutionPlan
    from muri_opt.profiling.plan_speed.fitting import Fit, fit, sample_errors
    from muri_opt.profiling.plan_speed.formulas import FORMS, Form
    from muri_opt.profiling.plan_speed.performance import Measurement, PerformanceModel
    from muri_opt.profiling.plan_speed.performance_files import (
        PERFORMANCE_FORMAT,
        fit_summary,
        parse_performance,
        performance_json,
        read_performance,
    )
    from muri_opt.profiling.plan_speed.plan_memory import Memory, memory
    from muri_opt.profiling.plan_speed.plan_offers import (
        Offer,
        as_plans,
        best_within,
        job_plans,
        offers,
        without_dominated,
    )
    from muri_opt.profiling.plan_speed.profile import fit_profile
    from muri_opt.profiling.plan_speed.sample import Sample
    from muri_opt.profiling.plan_speed.sample_files import SAMPLES_FORMAT, SampleSet, read_samples
    from muri_opt.profiling.plan_speed.shape import Links, Shape
    from muri_opt.profiling.plan_speed.task_plans import PodNeeds, TaskLimits, configuration_plans
    from muri_opt.profiling.plan_speed.transformer import Model

__all__ = [
    "COEFFICIENTS",
    "FORMS",
    "PERFORMANCE_FORMAT",
    "SAMPLES_FORMAT",
    "STATES",
    "Coefficients",
    "ExecutionPlan",
    "Fit",
    "Form",
    "Links",
    "Measurement",
    "Memory",
    "Model",
    "Offer",
    "PerformanceModel",
    "PlacedPlan",
    "PodNeeds",
    "Sample",
    "SampleSet",
    "Shape",
    "TaskLimits",
    "Times",
    "as_plans",
    "best_within",
    "configuration_plans",
    "enumerate_plans",
    "fit",
    "fit_profile",
    "fit_summary",
    "job_plans",
    "memory",
    "offers",
    "parse_performance",
    "performance_json",
    "read_performance",
    "read_samples",
    "sample_errors",
    "without_dominated",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.profiling.plan_speed.coefficients": ("COEFFICIENTS", "Coefficients", "Times"),
        "muri_opt.profiling.plan_speed.enumeration": ("PlacedPlan", "enumerate_plans"),
        "muri_opt.profiling.plan_speed.execution": ("ExecutionPlan", "STATES"),
        "muri_opt.profiling.plan_speed.fitting": ("Fit", "fit", "sample_errors"),
        "muri_opt.profiling.plan_speed.formulas": ("FORMS", "Form"),
        "muri_opt.profiling.plan_speed.performance": ("Measurement", "PerformanceModel"),
        "muri_opt.profiling.plan_speed.performance_files": (
            "PERFORMANCE_FORMAT",
            "fit_summary",
            "parse_performance",
            "performance_json",
            "read_performance",
        ),
        "muri_opt.profiling.plan_speed.plan_memory": ("Memory", "memory"),
        "muri_opt.profiling.plan_speed.plan_offers": (
            "Offer",
            "as_plans",
            "best_within",
            "job_plans",
            "offers",
            "without_dominated",
        ),
        "muri_opt.profiling.plan_speed.profile": ("fit_profile",),
        "muri_opt.profiling.plan_speed.sample": ("Sample",),
        "muri_opt.profiling.plan_speed.sample_files": ("SAMPLES_FORMAT", "SampleSet", "read_samples"),
        "muri_opt.profiling.plan_speed.shape": ("Links", "Shape"),
        "muri_opt.profiling.plan_speed.task_plans": ("PodNeeds", "TaskLimits", "configuration_plans"),
        "muri_opt.profiling.plan_speed.transformer": ("Model",),
    },
)
