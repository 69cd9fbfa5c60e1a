"""Predictions: how many steps a job has left, how long a step takes, and whether to believe it."""

from muri_opt.profiling.job_length.accuracy import (
    FIRST_PRIOR,
    PREDICTABLE_FROM,
    REPEATED_PRIOR,
    accuracy,
    is_predictable,
    loss_accuracy,
    prior,
)
from muri_opt.profiling.job_length.job_table import JobRecord, JobTable, parse_job_table, read_job_table
from muri_opt.profiling.job_length.loss_files import LossSeries, parse_losses, read_losses
from muri_opt.profiling.job_length.losses import LossFit, NotPredictable, fit_losses
from muri_opt.profiling.job_length.optimus_speed import AsyncSpeed, SpeedPoint, SyncSpeed, fit_async, fit_sync
from muri_opt.profiling.job_length.remaining import OPTIMUS_RULE, ConvergenceRule, remaining_steps
from muri_opt.profiling.job_length.step_time import Configuration, StepSample, StepTime, fit_step_time
from muri_opt.profiling.job_length.table_statistics import RunningTimes, TableStatistics, statistics
from muri_opt.profiling.job_length.worker_curves import CoreEfficiency, GpuShareFactor, fit_efficiency, fit_share_factor

__all__ = [
    "FIRST_PRIOR",
    "OPTIMUS_RULE",
    "PREDICTABLE_FROM",
    "REPEATED_PRIOR",
    "AsyncSpeed",
    "Configuration",
    "ConvergenceRule",
    "CoreEfficiency",
    "GpuShareFactor",
    "JobRecord",
    "JobTable",
    "LossFit",
    "LossSeries",
    "NotPredictable",
    "RunningTimes",
    "SpeedPoint",
    "StepSample",
    "StepTime",
    "SyncSpeed",
    "TableStatistics",
    "accuracy",
    "fit_async",
    "fit_efficiency",
    "fit_losses",
    "fit_share_factor",
    "fit_step_time",
    "fit_sync",
    "is_predictable",
    "loss_accuracy",
    "parse_job_table",
    "parse_losses",
    "prior",
    "read_job_table",
    "read_losses",
    "remaining_steps",
    "statistics",
]
