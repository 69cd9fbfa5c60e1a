"""Execution plans: the ways to train a model on a cluster, what they need and how fast they are."""

from muri_opt.plans.coefficients import COEFFICIENTS, Coefficients, Times
from muri_opt.plans.configuration_plans import PodNeeds, TaskLimits, configuration_plans
from muri_opt.plans.configurations import JobConfiguration, configurations_of
from muri_opt.plans.enumeration import PlacedPlan, enumerate_plans
from muri_opt.plans.execution import STATES, ExecutionPlan
from muri_opt.plans.fitting import Fit, fit, sample_errors
from muri_opt.plans.forms import FORMS, Form
from muri_opt.plans.free import FreeNodes
from muri_opt.plans.memory import Memory, memory
from muri_opt.plans.model import Model
from muri_opt.plans.offers import Offer, as_plans, best_within, job_plans, offers, without_dominated
from muri_opt.plans.options import PlanOptions
from muri_opt.plans.performance import Measurement, PerformanceModel
from muri_opt.plans.performance_files import (
    PERFORMANCE_FORMAT,
    fit_summary,
    parse_performance,
    performance_json,
    read_performance,
)
from muri_opt.plans.profile import fit_profile
from muri_opt.plans.rules import CHANGES, COSTS, POWERS, REFERENCES, PlanRules, strategy
from muri_opt.plans.sample import Sample
from muri_opt.plans.sample_files import SAMPLES_FORMAT, SampleSet, read_samples
from muri_opt.plans.shape import Links, Shape
from muri_opt.plans.steps import is_predictable

__all__ = [
    "CHANGES",
    "COEFFICIENTS",
    "COSTS",
    "FORMS",
    "PERFORMANCE_FORMAT",
    "POWERS",
    "REFERENCES",
    "SAMPLES_FORMAT",
    "STATES",
    "Coefficients",
    "ExecutionPlan",
    "Fit",
    "Form",
    "FreeNodes",
    "JobConfiguration",
    "Links",
    "Measurement",
    "Memory",
    "Model",
    "Offer",
    "PerformanceModel",
    "PlacedPlan",
    "PlanOptions",
    "PlanRules",
    "PodNeeds",
    "Sample",
    "SampleSet",
    "Shape",
    "TaskLimits",
    "Times",
    "as_plans",
    "best_within",
    "configuration_plans",
    "configurations_of",
    "enumerate_plans",
    "fit",
    "fit_profile",
    "fit_summary",
    "is_predictable",
    "job_plans",
    "memory",
    "offers",
    "parse_performance",
    "performance_json",
    "read_performance",
    "read_samples",
    "sample_errors",
    "strategy",
    "without_dominated",
]
