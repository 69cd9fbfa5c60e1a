"""Execution plans by the published rules: Rubick, and what it is compared with."""

from muri_opt.policies.planning.antman import AntManPolicy
from muri_opt.policies.planning.base import PlanPolicy
from muri_opt.policies.planning.equal_share import EqualSharePolicy
from muri_opt.policies.planning.rubick import RubickPolicy
from muri_opt.policies.planning.sia import SiaPolicy
from muri_opt.policies.planning.synergy import SynergyPolicy

PLANNING: dict[str, type[PlanPolicy]] = {
    kind.own_name: kind for kind in (RubickPolicy, SynergyPolicy, AntManPolicy, SiaPolicy, EqualSharePolicy)
}

__all__ = [
    "PLANNING",
    "AntManPolicy",
    "EqualSharePolicy",
    "PlanPolicy",
    "RubickPolicy",
    "SiaPolicy",
    "SynergyPolicy",
]
