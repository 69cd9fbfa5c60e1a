"""Failures of training jobs: how they come, whether to retry, and running ahead on one GPU."""

from muri_opt.replay.failures.admission import Admission, Ahead, Refused, Retried, admit
from muri_opt.replay.failures.attempts import JobFailures, PastTrial, Trial
from muri_opt.replay.failures.classes import PHILLY_FAILURES, FailureClass, FailureTable
from muri_opt.replay.failures.cluster_run import ClusterJob
from muri_opt.replay.failures.failure_statistics import Counts, Experience
from muri_opt.replay.failures.generator import FailureModel, draw_failures
from muri_opt.replay.failures.prerun import (
    NEVER,
    Length,
    PoolEffect,
    PreRun,
    best_length,
    best_lengths,
    break_even_gpus,
    first_failures,
    run_pool,
)
from muri_opt.replay.failures.retry import AdaptiveRetry, FixedRetry, RetryRule, Verdict
from muri_opt.replay.failures.rules import TWO_MINUTES, FailureRules, compared_rules
from muri_opt.replay.failures.simulation import POOL_GPUS, FailureReport, RuleReport, simulate
from muri_opt.replay.failures.workload import Workload, draw_workload

__all__ = [
    "NEVER",
    "PHILLY_FAILURES",
    "POOL_GPUS",
    "TWO_MINUTES",
    "AdaptiveRetry",
    "Admission",
    "Ahead",
    "ClusterJob",
    "Counts",
    "Experience",
    "FailureClass",
    "FailureModel",
    "FailureReport",
    "FailureRules",
    "FailureTable",
    "FixedRetry",
    "JobFailures",
    "Length",
    "PastTrial",
    "PoolEffect",
    "PreRun",
    "Refused",
    "Retried",
    "RetryRule",
    "RuleReport",
    "Trial",
    "Verdict",
    "Workload",
    "admit",
    "best_length",
    "best_lengths",
    "break_even_gpus",
    "compared_rules",
    "draw_failures",
    "draw_workload",
    "first_failures",
    "run_pool",
    "simulate",
]
