"""Muri's published algorithm: which jobs interleave on the same GPUs."""

from muri_opt.policies.muri.grouping import BucketMatching, Grouping, group_jobs
from muri_opt.policies.muri.options import AUTHORS, PAPER, GroupingOptions
from muri_opt.policies.muri.policy import ORDER_OF, MuriPolicy

__all__ = ["AUTHORS", "ORDER_OF", "PAPER", "BucketMatching", "Grouping", "GroupingOptions", "MuriPolicy", "group_jobs"]
