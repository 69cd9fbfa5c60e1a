"""What was decided, why the solve stopped, and what was checked."""

from muri_opt.solution.after import after, changed
from muri_opt.solution.budget import Budget, unlimited
from muri_opt.solution.certificate import Agreement, Certificate, Evidence, LinearDuals, Proof, Violation
from muri_opt.solution.decision import Assignment, Change, Decision, Waiting, WaitingReason
from muri_opt.solution.gangs import Placed, gang_decision, group_decision
from muri_opt.solution.limits import Limits, relative_gap
from muri_opt.solution.placements import placement_decision
from muri_opt.solution.plans import plan_decision
from muri_opt.solution.result import Result, Stats, parse_result, read_result, result_json
from muri_opt.solution.shares import share_decision
from muri_opt.solution.termination import Limit, Reason, Termination
from muri_opt.solution.waiting_words import change_text

__all__ = [
    "Agreement",
    "Assignment",
    "Budget",
    "Certificate",
    "Change",
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
