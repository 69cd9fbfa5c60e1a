"""The arithmetic of sharing GPUs in time: period, order, efficiency of jobs that interleave their stages."""

from muri_opt.systems.muri.interleaving.batch_periods import (
    Periods,
    group_periods,
    pair_periods,
    periods_alone,
    periods_of_rows,
)
from muri_opt.systems.muri.interleaving.best_order import Interleaving, best_period, period_of
from muri_opt.systems.muri.interleaving.patterns import PATTERNS, slot_count
from muri_opt.systems.muri.interleaving.timeline import Bar, Timeline, timeline
from muri_opt.systems.muri.interleaving.weights import (
    SLOWDOWN,
    alone_microseconds,
    pair_weights_ppm,
    slowed_ratio,
    weights_ppm,
)

__all__ = [
    "PATTERNS",
    "SLOWDOWN",
    "Bar",
    "Interleaving",
    "Periods",
    "Timeline",
    "alone_microseconds",
    "best_period",
    "group_periods",
    "pair_periods",
    "pair_weights_ppm",
    "period_of",
    "periods_alone",
    "periods_of_rows",
    "slot_count",
    "slowed_ratio",
    "timeline",
    "weights_ppm",
]
