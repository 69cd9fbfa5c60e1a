"""Decide one scheduling round of a deep-learning GPU cluster, with a proof of how good the decision is."""

from typing import TYPE_CHECKING

from muri_opt.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.errors import InputError, RefusalError
    from muri_opt.instance import (
        Cluster,
        Guarantee,
        Job,
        Node,
        Plan,
        Round,
        Tenant,
        parse_round,
        read_round,
        write_round,
    )
    from muri_opt.interleaving import Interleaving, best_period, group_periods, pair_periods, weights_ppm
    from muri_opt.loading import warm_up
    from muri_opt.policies import POLICIES, Policy, policy_from
    from muri_opt.solution import (
        Assignment,
        Certificate,
        Decision,
        Limit,
        Limits,
        Proof,
        Reason,
        Result,
        Termination,
        Violation,
        Waiting,
        WaitingReason,
        parse_result,
        read_result,
        result_json,
    )
    from muri_opt.solve import solve_round
    from muri_opt.verification import verify

__version__ = "0.1.0"

__all__ = [
    "POLICIES",
    "Assignment",
    "Certificate",
    "Cluster",
    "Decision",
    "Guarantee",
    "InputError",
    "Interleaving",
    "Job",
    "Limit",
    "Limits",
    "Node",
    "Plan",
    "Policy",
    "Proof",
    "Reason",
    "RefusalError",
    "Result",
    "Round",
    "Tenant",
    "Termination",
    "Violation",
    "Waiting",
    "WaitingReason",
    "__version__",
    "best_period",
    "group_periods",
    "pair_periods",
    "parse_result",
    "parse_round",
    "policy_from",
    "read_result",
    "read_round",
    "result_json",
    "solve_round",
    "verify",
    "warm_up",
    "weights_ppm",
    "write_round",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.errors": ("InputError", "RefusalError"),
        "muri_opt.instance": (
            "Cluster",
            "Guarantee",
            "Job",
            "Node",
            "Plan",
            "Round",
            "Tenant",
            "parse_round",
            "read_round",
            "write_round",
        ),
        "muri_opt.interleaving": ("Interleaving", "best_period", "group_periods", "pair_periods", "weights_ppm"),
        "muri_opt.loading": ("warm_up",),
        "muri_opt.policies": ("POLICIES", "Policy", "policy_from"),
        "muri_opt.solution": (
            "Assignment",
            "Certificate",
            "Decision",
            "Limit",
            "Limits",
            "Proof",
            "Reason",
            "Result",
            "Termination",
            "Violation",
            "Waiting",
            "WaitingReason",
            "parse_result",
            "read_result",
            "result_json",
        ),
        "muri_opt.solve": ("solve_round",),
        "muri_opt.verification": ("verify",),
    },
)
