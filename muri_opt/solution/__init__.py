"""What was decided, why the solve stopped, and what was checked."""

from typing import TYPE_CHECKING

from muri_opt.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.solution.budget import Budget, unlimited
    from muri_opt.solution.certificate import Agreement, Certificate, Evidence, LinearDuals, Proof, Violation
    from muri_opt.solution.change_words import change_text
    from muri_opt.solution.claims import Claims
    from muri_opt.solution.decision import Assignment, Change, Decision, Waiting, WaitingReason
    from muri_opt.solution.gangs import Placed, gang_decision, group_decision
    from muri_opt.solution.limits import Limits, relative_gap
    from muri_opt.solution.placements import placement_decision
    from muri_opt.solution.plans import plan_decision
    from muri_opt.solution.result import Result, Stats, parse_result, read_result, result_json
    from muri_opt.solution.round_after import after, changed
    from muri_opt.solution.shares import share_decision
    from muri_opt.solution.termination import Limit, Reason, Termination

__all__ = [
    "Agreement",
    "Assignment",
    "Budget",
    "Certificate",
    "Change",
    "Claims",
    "Decision",
    "Evidence",
    "Limit",
    "Limits",
    "LinearDuals",
    "Placed",
    "Proof",
    "Reason",
    "Result",
    "Stats",
    "Termination",
    "Violation",
    "Waiting",
    "WaitingReason",
    "after",
    "change_text",
    "changed",
    "gang_decision",
    "group_decision",
    "parse_result",
    "placement_decision",
    "plan_decision",
    "read_result",
    "relative_gap",
    "result_json",
    "share_decision",
    "unlimited",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.solution.round_after": ("after", "changed"),
        "muri_opt.solution.budget": ("Budget", "unlimited"),
        "muri_opt.solution.certificate": ("Agreement", "Certificate", "Evidence", "LinearDuals", "Proof", "Violation"),
        "muri_opt.solution.change_words": ("change_text",),
        "muri_opt.solution.claims": ("Claims",),
        "muri_opt.solution.decision": ("Assignment", "Change", "Decision", "Waiting", "WaitingReason"),
        "muri_opt.solution.gangs": ("Placed", "gang_decision", "group_decision"),
        "muri_opt.solution.limits": ("Limits", "relative_gap"),
        "muri_opt.solution.placements": ("placement_decision",),
        "muri_opt.solution.plans": ("plan_decision",),
        "muri_opt.solution.result": ("Result", "Stats", "parse_result", "read_result", "result_json"),
        "muri_opt.solution.shares": ("share_decision",),
        "muri_opt.solution.termination": ("Limit", "Reason", "Termination"),
    },
)
