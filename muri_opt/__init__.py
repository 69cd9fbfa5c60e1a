"""Decide one scheduling round of a deep-learning GPU cluster, with a proof of how good the decision is."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.errors import InputError as InputError, NoAnswer as NoAnswer, RefusalError as RefusalError
    from muri_opt.replay.what_if.what_if import WhatIf as WhatIf, what_if as what_if
    from muri_opt.rounds import (
        Assignment as Assignment,
        Certificate as Certificate,
        Changes as Changes,
        Cluster as Cluster,
        Decision as Decision,
        Guarantee as Guarantee,
        Job as Job,
        Limit as Limit,
        Limits as Limits,
        Node as Node,
        NodeRange as NodeRange,
        Plan as Plan,
        Proof as Proof,
        Reason as Reason,
        Result as Result,
        Round as Round,
        Tenant as Tenant,
        Termination as Termination,
        Together as Together,
        Violation as Violation,
        Waiting as Waiting,
        WaitingReason as WaitingReason,
        Within as Within,
        changes as changes,
        parse_round as parse_round,
        read_round as read_round,
        result_json as result_json,
        write_round as write_round,
    )
    from muri_opt.solve.loading import warm_up as warm_up
    from muri_opt.solve.results import parse_result as parse_result, read_result as read_result
    from muri_opt.solve.round import solve_round as solve_round
    from muri_opt.solve.session.session import Session as Session, Step as Step
    from muri_opt.systems import (
        POLICIES as POLICIES,
        Policy as Policy,
        System as System,
        policy_from as policy_from,
        register_system as register_system,
    )
    from muri_opt.systems.muri.interleaving import (
        Interleaving as Interleaving,
        best_period as best_period,
        group_periods as group_periods,
        pair_periods as pair_periods,
        weights_ppm as weights_ppm,
    )
    from muri_opt.verify import verify as verify

__version__ = "0.1.0"

_all, _on_demand, _names = names_on_demand(
    __name__,
    {
        "muri_opt.errors": ("InputError", "NoAnswer", "RefusalError"),
        "muri_opt.replay.what_if.what_if": ("WhatIf", "what_if"),
        "muri_opt.rounds": (
            "Assignment",
            "Certificate",
            "Changes",
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
            "changes",
            "parse_round",
            "read_round",
            "result_json",
            "write_round",
        ),
        "muri_opt.solve.loading": ("warm_up",),
        "muri_opt.solve.results": ("parse_result", "read_result"),
        "muri_opt.solve.round": ("solve_round",),
        "muri_opt.solve.session.session": ("Session", "Step"),
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
__all__ = sorted([*_all, "__version__", "verify"])


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for; ``verify`` is the package, which can be called."""
    return import_module("muri_opt.verify") if name == "verify" else _on_demand(name)


def __dir__() -> list[str]:
    return sorted({*_names(), "verify"})
