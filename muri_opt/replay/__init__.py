"""The clock around the round: a workload in, completion times out."""

from muri_opt.replay.engine.bad_decisions import ReplayError
from muri_opt.replay.outcome import JobOutcomes, Outcome, Timeline
from muri_opt.replay.run import replay
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.files import read_workload

__all__ = ["JobOutcomes", "Outcome", "ReplayError", "Timeline", "Workload", "read_workload", "replay"]
