"""Muri: jobs that interleave their stages on the same GPUs."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.muri.group_values import GroupRules
    from muri_opt.systems.muri.grouping import BucketMatching, Grouping, group_jobs
    from muri_opt.systems.muri.interleaving.batch_periods import Periods, group_periods, pair_periods
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
    from muri_opt.systems.muri.options import AUTHORS, PAPER, GroupingOptions
    from muri_opt.systems.muri.policy import ORDER_OF, MuriPolicy
    from muri_opt.systems.muri.program import GroupingFormulation
    from muri_opt.systems.muri.system import SYSTEM

__all__ = [
    "AUTHORS",
    "ORDER_OF",
    "PAPER",
    "PATTERNS",
    "SLOWDOWN",
    "SYSTEM",
    "Bar",
    "BucketMatching",
    "GroupRules",
    "Grouping",
    "GroupingFormulation",
    "GroupingOptions",
    "Interleaving",
    "MuriPolicy",
    "Periods",
    "Timeline",
    "alone_microseconds",
    "best_period",
    "group_jobs",
    "group_periods",
    "pair_periods",
    "pair_weights_ppm",
    "period_of",
    "slot_count",
    "slowed_ratio",
    "timeline",
    "weights_ppm",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.muri.group_values": ("GroupRules",),
        "muri_opt.systems.muri.grouping": ("BucketMatching", "Grouping", "group_jobs"),
        "muri_opt.systems.muri.interleaving.batch_periods": ("Periods", "group_periods", "pair_periods"),
        "muri_opt.systems.muri.interleaving.best_order": ("Interleaving", "best_period", "period_of"),
        "muri_opt.systems.muri.interleaving.patterns": ("PATTERNS", "slot_count"),
        "muri_opt.systems.muri.interleaving.timeline": ("Bar", "Timeline", "timeline"),
        "muri_opt.systems.muri.interleaving.weights": (
            "SLOWDOWN",
            "alone_microseconds",
            "pair_weights_ppm",
            "slowed_ratio",
            "weights_ppm",
        ),
        "muri_opt.systems.muri.options": ("AUTHORS", "GroupingOptions", "PAPER"),
        "muri_opt.systems.muri.policy": ("MuriPolicy", "ORDER_OF"),
        "muri_opt.systems.muri.program": ("GroupingFormulation",),
        "muri_opt.systems.muri.system": ("SYSTEM",),
    },
)
