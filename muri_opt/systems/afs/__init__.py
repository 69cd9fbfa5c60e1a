"""AFS: how many GPUs each elastic job gets, by its rules and by those it is compared with."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.afs.afs_l import AfsPolicy as AfsPolicy
    from muri_opt.systems.afs.afs_p import UnknownLengthPolicy as UnknownLengthPolicy
    from muri_opt.systems.afs.afs_p_rule import afs_p_shares as afs_p_shares
    from muri_opt.systems.afs.baseline_rules import (
        max_min_shares as max_min_shares,
        optimus_shares as optimus_shares,
        srtf_shares as srtf_shares,
    )
    from muri_opt.systems.afs.baselines import (
        MaxMinPolicy as MaxMinPolicy,
        OptimusPolicy as OptimusPolicy,
        ShortestFirstPolicy as ShortestFirstPolicy,
    )
    from muri_opt.systems.afs.clock_rules import ClockRules as ClockRules
    from muri_opt.systems.afs.decision import share_decision as share_decision
    from muri_opt.systems.afs.event_clock import run_clock as run_clock
    from muri_opt.systems.afs.greedy import afs_shares as afs_shares
    from muri_opt.systems.afs.next_measurement import next_measurements as next_measurements
    from muri_opt.systems.afs.node_sizes import gpus_per_node as gpus_per_node, share_sizes as share_sizes
    from muri_opt.systems.afs.optimum.search import ElasticOptimum as ElasticOptimum, elastic_optimum as elastic_optimum
    from muri_opt.systems.afs.pair_rule import TIES as TIES
    from muri_opt.systems.afs.plain_greedy import plain_afs_shares as plain_afs_shares
    from muri_opt.systems.afs.policy import ElasticPolicy as ElasticPolicy
    from muri_opt.systems.afs.program import SharingFormulation as SharingFormulation
    from muri_opt.systems.afs.restart_hysteresis import kept_shares as kept_shares
    from muri_opt.systems.afs.scan_orders import SCANS as SCANS, scan_order as scan_order
    from muri_opt.systems.afs.share_steps import legal_shares as legal_shares
    from muri_opt.systems.afs.share_values import ShareValues as ShareValues
    from muri_opt.systems.afs.system import SYSTEM as SYSTEM
    from muri_opt.systems.curves import NEVER as NEVER, Curves as Curves, scaling_table as scaling_table

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.afs.afs_l": ("AfsPolicy",),
        "muri_opt.systems.afs.afs_p": ("UnknownLengthPolicy",),
        "muri_opt.systems.afs.afs_p_rule": ("afs_p_shares",),
        "muri_opt.systems.afs.baseline_rules": ("max_min_shares", "optimus_shares", "srtf_shares"),
        "muri_opt.systems.afs.baselines": ("MaxMinPolicy", "OptimusPolicy", "ShortestFirstPolicy"),
        "muri_opt.systems.afs.clock_rules": ("ClockRules",),
        "muri_opt.systems.curves": ("Curves", "NEVER", "scaling_table"),
        "muri_opt.systems.afs.decision": ("share_decision",),
        "muri_opt.systems.afs.event_clock": ("run_clock",),
        "muri_opt.systems.afs.greedy": ("afs_shares",),
        "muri_opt.systems.afs.next_measurement": ("next_measurements",),
        "muri_opt.systems.afs.node_sizes": ("gpus_per_node", "share_sizes"),
        "muri_opt.systems.afs.optimum.search": ("ElasticOptimum", "elastic_optimum"),
        "muri_opt.systems.afs.pair_rule": ("TIES",),
        "muri_opt.systems.afs.plain_greedy": ("plain_afs_shares",),
        "muri_opt.systems.afs.policy": ("ElasticPolicy",),
        "muri_opt.systems.afs.program": ("SharingFormulation",),
        "muri_opt.systems.afs.restart_hysteresis": ("kept_shares",),
        "muri_opt.systems.afs.scan_orders": ("SCANS", "scan_order"),
        "muri_opt.systems.afs.share_steps": ("legal_shares",),
        "muri_opt.systems.afs.share_values": ("ShareValues",),
        "muri_opt.systems.afs.system": ("SYSTEM",),
    },
)
