"""AFS: how many GPUs each elastic job gets, by its rules and by those it is compared with."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.afs.afs_l import AfsPolicy
    from muri_opt.systems.afs.afs_p import UnknownLengthPolicy
    from muri_opt.systems.afs.afs_p_rule import afs_p_shares
    from muri_opt.systems.afs.baseline_rules import max_min_shares, optimus_shares, srtf_shares
    from muri_opt.systems.afs.baselines import MaxMinPolicy, OptimusPolicy, ShortestFirstPolicy
    from muri_opt.systems.afs.clock_rules import ClockRules
    from muri_opt.systems.afs.curves import NEVER, Curves, scaling_table
    from muri_opt.systems.afs.decision import share_decision
    from muri_opt.systems.afs.event_clock import run_clock
    from muri_opt.systems.afs.greedy import afs_shares
    from muri_opt.systems.afs.next_measurement import next_measurements
    from muri_opt.systems.afs.node_sizes import gpus_per_node, share_sizes
    from muri_opt.systems.afs.optimum.search import ElasticOptimum, elastic_optimum
    from muri_opt.systems.afs.pair_rule import TIES
    from muri_opt.systems.afs.plain_greedy import plain_afs_shares
    from muri_opt.systems.afs.policy import ElasticPolicy
    from muri_opt.systems.afs.program import SharingFormulation
    from muri_opt.systems.afs.restart_hysteresis import kept_shares
    from muri_opt.systems.afs.scan_orders import SCANS, scan_order
    from muri_opt.systems.afs.share_steps import legal_shares
    from muri_opt.systems.afs.system import SYSTEM

__all__ = [
    "NEVER",
    "SCANS",
    "SYSTEM",
    "TIES",
    "AfsPolicy",
    "ClockRules",
    "Curves",
    "ElasticOptimum",
    "ElasticPolicy",
    "MaxMinPolicy",
    "OptimusPolicy",
    "SharingFormulation",
    "ShortestFirstPolicy",
    "UnknownLengthPolicy",
    "afs_p_shares",
    "afs_shares",
    "elastic_optimum",
    "gpus_per_node",
    "kept_shares",
    "legal_shares",
    "max_min_shares",
    "next_measurements",
    "optimus_shares",
    "plain_afs_shares",
    "run_clock",
    "scaling_table",
    "scan_order",
    "share_decision",
    "share_sizes",
    "srtf_shares",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.afs.afs_l": ("AfsPolicy",),
        "muri_opt.systems.afs.afs_p": ("UnknownLengthPolicy",),
        "muri_opt.systems.afs.afs_p_rule": ("afs_p_shares",),
        "muri_opt.systems.afs.baseline_rules": ("max_min_shares", "optimus_shares", "srtf_shares"),
        "muri_opt.systems.afs.baselines": ("MaxMinPolicy", "OptimusPolicy", "ShortestFirstPolicy"),
        "muri_opt.systems.afs.clock_rules": ("ClockRules",),
        "muri_opt.systems.afs.curves": ("Curves", "NEVER", "scaling_table"),
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
        "muri_opt.systems.afs.system": ("SYSTEM",),
    },
)
