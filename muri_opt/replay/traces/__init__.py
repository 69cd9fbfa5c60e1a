"""Public traces of GPU clusters: their jobs, machines and attempts, and the round of any moment."""

from muri_opt.replay.traces.examples import EXAMPLES, example
from muri_opt.replay.traces.jobs import Attempt, TraceJob
from muri_opt.replay.traces.reading import FORMATS, parse_trace, read_trace
from muri_opt.replay.traces.round_at import Moment
from muri_opt.replay.traces.skipped_rows import Dropped, ReadReport
from muri_opt.replay.traces.statistics import Times, TraceStatistics, statistics
from muri_opt.replay.traces.trace import Trace

__all__ = [
    "EXAMPLES",
    "FORMATS",
    "Attempt",
    "Dropped",
    "Moment",
    "ReadReport",
    "Times",
    "Trace",
    "TraceJob",
    "TraceStatistics",
    "example",
    "parse_trace",
    "read_trace",
    "statistics",
]
