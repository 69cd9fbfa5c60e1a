"""What goes in and comes out: cluster, jobs, plans, the round; decision, result, certificate, limits; their files."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.rounds.budget import Budget as Budget, unlimited as unlimited
    from muri_opt.rounds.certificate import (
        Agreement as Agreement,
        Certificate as Certificate,
        Evidence as Evidence,
        LinearDuals as LinearDuals,
        MatchingDuals as MatchingDuals,
        OddSet as OddSet,
        Prices as Prices,
        Proof as Proof,
        Violation as Violation,
    )
    from muri_opt.rounds.change_wording import change_text as change_text
    from muri_opt.rounds.claims import Claims as Claims
    from muri_opt.rounds.cluster import Cluster as Cluster, Node as Node, Tenant as Tenant
    from muri_opt.rounds.configurations import (
        JobConfiguration as JobConfiguration,
        configurations_of as configurations_of,
    )
    from muri_opt.rounds.decision import (
        Assignment as Assignment,
        Change as Change,
        Decision as Decision,
        Waiting as Waiting,
        WaitingReason as WaitingReason,
    )
    from muri_opt.rounds.dropped_fields import without_fields as without_fields
    from muri_opt.rounds.files import parse_round as parse_round, read_round as read_round, write_round as write_round
    from muri_opt.rounds.job import Guarantee as Guarantee, Job as Job, Plan as Plan
    from muri_opt.rounds.job_changes import Changes as Changes, JobChange as JobChange, changes as changes
    from muri_opt.rounds.limits import Limits as Limits, relative_gap as relative_gap
    from muri_opt.rounds.next_round import after as after, changed as changed
    from muri_opt.rounds.result import (
        Result as Result,
        Stats as Stats,
        decode_result as decode_result,
        result_json as result_json,
    )
    from muri_opt.rounds.round import Round as Round, canonical_json as canonical_json
    from muri_opt.rounds.shape import NodeRange as NodeRange, Within as Within
    from muri_opt.rounds.termination import Limit as Limit, Reason as Reason, Termination as Termination
    from muri_opt.rounds.together import Together as Together
    from muri_opt.rounds.used_fields import INFORMATION as INFORMATION

__all__, __getattr__, __dir__ = names_on_demand(
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
        "muri_opt.rounds.job_changes": ("Changes", "JobChange", "changes"),
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
        "muri_opt.rounds.dropped_fields": ("without_fields",),
    },
)
