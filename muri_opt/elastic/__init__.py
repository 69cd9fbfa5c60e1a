"""Elastic shares: how many GPUs each job of a round gets, by AFS and by the rules it is compared with."""

from muri_opt.elastic.baselines import max_min_shares, optimus_shares, srtf_shares
from muri_opt.elastic.clock import run_clock
from muri_opt.elastic.clock_rules import ClockRules
from muri_opt.elastic.curves import NEVER, Curves, scaling_table
from muri_opt.elastic.greedy import afs_shares
from muri_opt.elastic.kept import kept_shares
from muri_opt.elastic.ladder import legal_shares
from muri_opt.elastic.optimum import ElasticOptimum, elastic_optimum
from muri_opt.elastic.pair_rule import TIES
from muri_opt.elastic.profile import next_measurements
from muri_opt.elastic.scan import SCANS, scan_order
from muri_opt.elastic.sizes import gpus_per_node, share_sizes
from muri_opt.elastic.unknown import afs_p_shares

__all__ = [
    "NEVER",
    "SCANS",
    "TIES",
    "ClockRules",
    "Curves",
    "ElasticOptimum",
    "afs_p_shares",
    "afs_shares",
    "elastic_optimum",
    "gpus_per_node",
    "kept_shares",
    "legal_shares",
    "max_min_shares",
    "next_measurements",
    "optimus_shares",
    "run_clock",
    "scaling_table",
    "scan_order",
    "share_sizes",
    "srtf_shares",
]
