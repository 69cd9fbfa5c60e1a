"""Policies by name, and by text with parameters; a policy is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.policy import Policy, parse_parameters

POLICIES: Final[Mapping[str, type[Policy]]] = OnDemand(
    {
        "fifo": "muri_opt.systems.gangs.policy:FifoPolicy",
        **dict.fromkeys(("srtf", "srsf", "las", "max-min"), "muri_opt.systems.gangs.policy:GangPolicy"),
        "tiresias": "muri_opt.systems.gangs.tiresias:TiresiasPolicy",
        **dict.fromkeys(("muri-s", "muri-l"), "muri_opt.systems.muri.policy:MuriPolicy"),
        "afs-l": "muri_opt.systems.afs.afs_l:AfsPolicy",
        "afs-p": "muri_opt.systems.afs.afs_p:UnknownLengthPolicy",
        "optimus": "muri_opt.systems.afs.baselines:OptimusPolicy",
        "max-min-elastic": "muri_opt.systems.afs.baselines:MaxMinPolicy",
        "srtf-elastic": "muri_opt.systems.afs.baselines:ShortestFirstPolicy",
        "rubick": "muri_opt.systems.rubick.policy:RubickPolicy",
        "synergy": "muri_opt.systems.rubick.baselines.synergy:SynergyPolicy",
        "antman": "muri_opt.systems.rubick.baselines.antman:AntManPolicy",
        "sia": "muri_opt.systems.rubick.baselines.sia:SiaPolicy",
        "equal-share": "muri_opt.systems.rubick.baselines.equal_share:EqualSharePolicy",
        "aiturbo": "muri_opt.systems.aiturbo.policy:AITurboPolicy",
        "optimus-ps": "muri_opt.systems.aiturbo.optimus_ps:OptimusTasksPolicy",
        "philly": "muri_opt.systems.philly.policy:PhillyPolicy",
    }
)


def policy_from(policy: str | Policy) -> Policy:
    """Return the policy that a name or text such as ``srtf:nodes=fewest`` stands for; a policy object is itself.

    >>> policy_from("afs-l:scan=arrival").scan
    'arrival'
    """
    if isinstance(policy, Policy):
        return policy
    name, colon, text = str(policy).partition(":")
    if name not in POLICIES:
        raise unknown_name("policy", name, POLICIES)
    kind = POLICIES[name]
    make: Callable[..., Policy] = kind
    return make(name=name, **parse_parameters(name, text, kind.choices) if colon else {})
