"""How far from the limit: mean completion times that no schedule of a workload is below."""

from muri_opt.replay.bounds.lower_bound import LowerBound, lower_bound

__all__ = ["LowerBound", "lower_bound"]
