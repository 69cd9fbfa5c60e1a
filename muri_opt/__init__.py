"""Decide one scheduling round of a deep-learning GPU cluster, with a proof of how good the decision is."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "weights_ppm",
    "write_round",
]

_HOMES = {
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
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for: ``muri-opt --help`` needs none of them."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
