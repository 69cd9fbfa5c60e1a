"""Policies by name, and by text with parameters."""

from __future__ import annotations

from collections.abc import Callable

from muri_opt.errors import unknown_name
from muri_opt.policies.base import Policy, parse_parameters
from muri_opt.policies.elastic import ELASTIC
from muri_opt.policies.gangs import FifoPolicy, GangPolicy
from muri_opt.policies.muri.policy import ORDER_OF, MuriPolicy
from muri_opt.policies.philly import PhillyPolicy
from muri_opt.policies.planning import PLANNING
from muri_opt.policies.tiresias import TiresiasPolicy

POLICIES: dict[str, type[Policy]] = {
    **dict.fromkeys(GangPolicy.names, GangPolicy),
    **dict.fromkeys(FifoPolicy.names, FifoPolicy),
    **dict.fromkeys(TiresiasPolicy.names, TiresiasPolicy),
    **dict.fromkeys(ORDER_OF, MuriPolicy),
    **ELASTIC,
    **PLANNING,
    PhillyPolicy.own_name: PhillyPolicy,
}


def policy_from(policy: str | Policy) -> Policy:
    """Return the policy that a name or text such as ``srtf:nodes=fewest`` stands for; a policy object is itself."""
    if isinstance(policy, Policy):
        return policy
    name, colon, text = str(policy).partition(":")
    if name not in POLICIES:
        raise unknown_name("policy", name, POLICIES)
    kind = POLICIES[name]
    make: Callable[..., Policy] = kind
    return make(name=name, **parse_parameters(name, text, kind.choices) if colon else {})
