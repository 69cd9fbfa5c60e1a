"""Muri: jobs that interleave their stages on the same GPUs."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.muri.group_values import GroupRules as GroupRules
    from muri_opt.systems.muri.grouping import (
        BucketMatching as BucketMatching,
        Grouping as Grouping,
        group_jobs as group_jobs,
    )
    from muri_opt.systems.muri.interleaving.batch_periods import (
        Periods as Periods,
        group_periods as group_periods,
        pair_periods as pair_periods,
    )
    from muri_opt.systems.muri.interleaving.best_order import (
        Interleaving as Interleaving,
        best_period as best_period,
        period_of as period_of,
    )
    from muri_opt.systems.muri.interleaving.patterns import PATTERNS as PATTERNS, slot_count as slot_count
    from muri_opt.systems.muri.interleaving.timeline import Bar as Bar, Timeline as Timeline, timeline as timeline
    from muri_opt.systems.muri.interleaving.weights import (
        SLOWDOWN as SLOWDOWN,
        alone_microseconds as alone_microseconds,
        pair_weights_ppm as pair_weights_ppm,
        slowed_ratio as slowed_ratio,
        weights_ppm as weights_ppm,
    )
    from muri_opt.systems.muri.mean_value import free_rates as free_rates, rates_together as rates_together
    from muri_opt.systems.muri.options import AUTHORS as AUTHORS, PAPER as PAPER, GroupingOptions as GroupingOptions
    from muri_opt.systems.muri.policy import ORDER_OF as ORDER_OF, MuriPolicy as MuriPolicy
    from muri_opt.systems.muri.program import GroupingFormulation as GroupingFormulation
    from muri_opt.systems.muri.system import SYSTEM as SYSTEM

__all__, __getattr__, __dir__ = names_on_demand(
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
        "muri_opt.systems.muri.mean_value": ("free_rates", "rates_together"),
        "muri_opt.systems.muri.options": ("AUTHORS", "GroupingOptions", "PAPER"),
        "muri_opt.systems.muri.policy": ("MuriPolicy", "ORDER_OF"),
        "muri_opt.systems.muri.program": ("GroupingFormulation",),
        "muri_opt.systems.muri.system": ("SYSTEM",),
    },
)
