"""Execution plans of large models: what they need, how fast they are, fitted to measurements."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.profiling.plan_speed.coefficients import (
        COEFFICIENTS as COEFFICIENTS,
        Coefficients as Coefficients,
        Times as Times,
    )
    from muri_opt.profiling.plan_speed.enumeration import PlacedPlan as PlacedPlan, enumerate_plans as enumerate_plans
    from muri_opt.profiling.plan_speed.execution import STATES as STATES, ExecutionPlan as ExecutionPlan
    from muri_opt.profiling.plan_speed.fitting import Fit as Fit, fit as fit, sample_errors as sample_errors
    from muri_opt.profiling.plan_speed.formulas import FORMS as FORMS, Form as Form
    from muri_opt.profiling.plan_speed.performance import (
        Measurement as Measurement,
        PerformanceModel as PerformanceModel,
    )
    from muri_opt.profiling.plan_speed.performance_files import (
        PERFORMANCE_FORMAT as PERFORMANCE_FORMAT,
        fit_summary as fit_summary,
        parse_performance as parse_performance,
        performance_json as performance_json,
        read_performance as read_performance,
    )
    from muri_opt.profiling.plan_speed.plan_memory import Memory as Memory, memory as memory
    from muri_opt.profiling.plan_speed.plan_offers import (
        Offer as Offer,
        as_plans as as_plans,
        best_within as best_within,
        job_plans as job_plans,
        offers as offers,
        without_dominated as without_dominated,
    )
    from muri_opt.profiling.plan_speed.profile import fit_profile as fit_profile
    from muri_opt.profiling.plan_speed.sample import Sample as Sample
    from muri_opt.profiling.plan_speed.sample_files import (
        SAMPLES_FORMAT as SAMPLES_FORMAT,
        SampleSet as SampleSet,
        read_samples as read_samples,
    )
    from muri_opt.profiling.plan_speed.shape import Links as Links, Shape as Shape
    from muri_opt.profiling.plan_speed.task_plans import (
        PodNeeds as PodNeeds,
        TaskLimits as TaskLimits,
        configuration_plans as configuration_plans,
    )
    from muri_opt.profiling.plan_speed.transformer import Model as Model

__all__, __getattr__, __dir__ = names_on_demand(
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
