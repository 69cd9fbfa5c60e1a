"""Rubick's published algorithm: slopes, taking from the lowest, growing the highest."""

from muri_opt.policies.planning.rubick.policy import RubickPolicy

__all__ = ["RubickPolicy"]
