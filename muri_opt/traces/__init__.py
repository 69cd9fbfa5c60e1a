"""Public traces of GPU clusters: their jobs, machines and attempts, and the round of any moment."""

from muri_opt.traces.counts import Dropped, ReadReport
from muri_opt.traces.examples import EXAMPLES, example
from muri_opt.traces.jobs import Attempt, TraceJob
from muri_opt.traces.moments import Moment
from muri_opt.traces.reading import FORMATS, parse_trace, read_trace
from muri_opt.traces.statistics import Times, TraceStatistics, statistics
from muri_opt.traces.trace import Trace

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
