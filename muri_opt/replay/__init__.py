"""The clock around the round: a workload in, completion times out."""

from muri_opt.replay.outcome import JobOutcomes, Outcome, Timeline
from muri_opt.replay.workload import Workload

__all__ = ["JobOutcomes", "Outcome", "Timeline", "Workload"]
