"""What goes in and comes out: cluster, jobs, plans, the round; decision, result, certificate, limits; their files."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.rounds.budget import Budget, unlimited
    from muri_opt.rounds.certificate import (
        Agreement,
        Certificate,
        Evidence,
        LinearDuals,
        MatchingDuals,
        OddSet,
        Prices,
        Proof,
        Violation,
    )
    from muri_opt.rounds.change_wording import change_text
    from muri_opt.rounds.claims import Claims
    from muri_opt.rounds.cluster import Cluster, Node, Tenant
    from muri_opt.rounds.configurations import JobConfiguration, configurations_of
    from muri_opt.rounds.decision import Assignment, Change, Decision, Waiting, WaitingReason
    from muri_opt.rounds.files import parse_round, read_round, write_round
    from muri_opt.rounds.job import Guarantee, Job, Plan
    from muri_opt.rounds.limits import Limits, relative_gap
    from muri_opt.rounds.next_round import after, changed
    from muri_opt.rounds.result import Result, Stats, decode_result, result_json
    from muri_opt.rounds.round import Round, canonical_json
    from muri_opt.rounds.shape import NodeRange, Within
    from muri_opt.rounds.termination import Limit, Reason, Termination
    from muri_opt.rounds.together import Together
    from muri_opt.rounds.used_fields import INFORMATION

__all__ = [
    "INFORMATION",
    "Agreement",
    "Assignment",
    "Budget",
    "Certificate",
    "Change",
    "Claims",
    "Cluster",
    "Decision",
    "Evidence",
    "Guarantee",
    "Job",
    "JobConfiguration",
    "Limit",
    "Limits",
    "LinearDuals",
    "MatchingDuals",
    "Node",
    "NodeRange",
    "OddSet",
    "Plan",
    "Prices",
    "Proof",
    "Reason",
    "Result",
    "Round",
    "Stats",
    "Tenant",
    "Termination",
    "Together",
    "Violation",
    "Waiting",
    "WaitingReason",
    "Within",
    "after",
    "canonical_json",
    "change_text",
    "changed",
    "configurations_of",
    "decode_result",
    "parse_round",
    "read_round",
    "relative_gap",
    "result_json",
    "unlimited",
    "write_round",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.rounds.budget": ("Budget", "unlimited"),
        "muri_opt.rounds.certificate": (
            "Agreement",
            "Certificate",
            "Evidence",
            "LinearDuals",
            "MatchingDuals",
            "OddSet",
            "Prices",
            "Proof",
            "Violation",
        ),
        "muri_opt.rounds.change_wording": ("change_text",),
        "muri_opt.rounds.claims": ("Claims",),
        "muri_opt.rounds.cluster": ("Cluster", "Node", "Tenant"),
        "muri_opt.rounds.configurations": ("JobConfiguration", "configurations_of"),
        "muri_opt.rounds.decision": ("Assignment", "Change", "Decision", "Waiting", "WaitingReason"),
        "muri_opt.rounds.files": ("parse_round", "read_round", "write_round"),
        "muri_opt.rounds.job": ("Guarantee", "Job", "Plan"),
        "muri_opt.rounds.limits": ("Limits", "relative_gap"),
        "muri_opt.rounds.next_round": ("after", "changed"),
        "muri_opt.rounds.result": ("Result", "Stats", "decode_result", "result_json"),
        "muri_opt.rounds.round": ("Round", "canonical_json"),
        "muri_opt.rounds.shape": ("NodeRange", "Within"),
        "muri_opt.rounds.termination": ("Limit", "Reason", "Termination"),
        "muri_opt.rounds.together": ("Together",),
        "muri_opt.rounds.used_fields": ("INFORMATION",),
    },
)
