"""Policies by name, and by text with parameters; a policy is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.lazy import OnDemand
from muri_opt.policies.base import Policy, parse_parameters

POLICIES: Final[Mapping[str, type[Policy]]] = OnDemand(
    {
        "fifo": "muri_opt.policies.gangs:FifoPolicy",
        **dict.fromkeys(("srtf", "srsf", "las", "max-min"), "muri_opt.policies.gangs:GangPolicy"),
        "tiresias": "muri_opt.policies.tiresias:TiresiasPolicy",
        **dict.fromkeys(("muri-s", "muri-l"), "muri_opt.policies.muri.policy:MuriPolicy"),
        "afs-l": "muri_opt.policies.elastic.afs:AfsPolicy",
        "afs-p": "muri_opt.policies.elastic.afs_unknown:UnknownLengthPolicy",
        "optimus": "muri_opt.policies.elastic.baselines:OptimusPolicy",
        "max-min-elastic": "muri_opt.policies.elastic.baselines:MaxMinPolicy",
        "srtf-elastic": "muri_opt.policies.elastic.baselines:ShortestFirstPolicy",
        "rubick": "muri_opt.policies.planning.rubick:RubickPolicy",
        "synergy": "muri_opt.policies.planning.synergy:SynergyPolicy",
        "antman": "muri_opt.policies.planning.antman:AntManPolicy",
        "sia": "muri_opt.policies.planning.sia:SiaPolicy",
        "equal-share": "muri_opt.policies.planning.equal_share:EqualSharePolicy",
        "aiturbo": "muri_opt.policies.planning.aiturbo:AITurboPolicy",
        "optimus-ps": "muri_opt.policies.planning.optimus_ps:OptimusTasksPolicy",
        "philly": "muri_opt.policies.philly.policy:PhillyPolicy",
    }
)


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
