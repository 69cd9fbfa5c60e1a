"""Decide one scheduling round of a deep-learning GPU cluster, with a proof of how good the decision is."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.errors import InputError, RefusalError
    from muri_opt.rounds import (
        Assignment,
        Certificate,
        Cluster,
        Decision,
        Guarantee,
        Job,
        Limit,
        Limits,
        Node,
        NodeRange,
        Plan,
        Proof,
        Reason,
        Result,
        Round,
        Tenant,
        Termination,
        Together,
        Violation,
        Waiting,
        WaitingReason,
        Within,
        parse_round,
        read_round,
        result_json,
        write_round,
    )
    from muri_opt.solve.loading import warm_up
    from muri_opt.solve.results import parse_result, read_result
    from muri_opt.solve.round import solve_round
    from muri_opt.systems import POLICIES, Policy, System, policy_from, register_system
    from muri_opt.systems.muri.interleaving import Interleaving, best_period, group_periods, pair_periods, weights_ppm
    from muri_opt.verify import verify

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
    "NodeRange",
    "Plan",
    "Policy",
    "Proof",
    "Reason",
    "RefusalError",
    "Result",
    "Round",
    "System",
    "Tenant",
    "Termination",
    "Together",
    "Violation",
    "Waiting",
    "WaitingReason",
    "Within",
    "__version__",
    "best_period",
    "group_periods",
    "pair_periods",
    "parse_result",
    "parse_round",
    "policy_from",
    "read_result",
    "read_round",
    "register_system",
    "result_json",
    "solve_round",
    "verify",
    "warm_up",
    "weights_ppm",
    "write_round",
]

_on_demand, _names = names_on_demand(
    __name__,
    {
        "muri_opt.errors": ("InputError", "RefusalError"),
        "muri_opt.rounds": (
            "Assignment",
            "Certificate",
            "Cluster",
            "Decision",
            "Guarantee",
            "Job",
            "Limit",
            "Limits",
            "Node",
            "NodeRange",
            "Plan",
            "Proof",
            "Reason",
            "Result",
            "Round",
            "Tenant",
            "Termination",
            "Together",
            "Violation",
            "Waiting",
            "WaitingReason",
            "Within",
            "parse_round",
            "read_round",
            "result_json",
            "write_round",
        ),
        "muri_opt.solve.loading": ("warm_up",),
        "muri_opt.solve.results": ("parse_result", "read_result"),
        "muri_opt.solve.round": ("solve_round",),
        "muri_opt.systems": ("POLICIES", "Policy", "System", "policy_from", "register_system"),
        "muri_opt.systems.muri.interleaving": (
            "Interleaving",
            "best_period",
            "group_periods",
            "pair_periods",
            "weights_ppm",
        ),
    },
)


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for; ``verify`` is the package, which can be called."""
    return import_module("muri_opt.verify") if name == "verify" else _on_demand(name)


def __dir__() -> list[str]:
    return sorted({*_names(), "verify"})
