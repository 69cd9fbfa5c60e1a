"""Which rounds a policy takes: those it can decide, and of which it ignores no field."""

from __future__ import annotations

from collections.abc import Container, Mapping

from muri_opt.rounds import Round
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.systems.policy import Policy
from muri_opt.systems.registry import POLICIES


def admit(policy: Policy, round_: Round) -> None:
    """Refuse a round that uses a field which the policy would ignore, with who honours it, or one it cannot decide.

    >>> admit(policy_from("fifo"), shipped_round("toy/two-gangs"))
    """
    check_used(policy.spec, policy.honoured, round_.used_fields)
    policy.check(round_)


def check_used(spec: str, honoured: Container[str], used: Mapping[str, str]) -> None:
    """Refuse fields that are used and that a policy does not honour."""
    field = unhonoured(used, honoured)
    if field is not None:
        raise refusal(used, field, f"policy {spec!r}", honouring(field))


def honouring(field: str) -> list[str]:
    """Return the names of the policies that honour a field of format 2, with a setting where it takes one.

    >>> honouring("round.together")
    ['muri-s:run=free', 'muri-l:run=free']
    >>> "fifo" in honouring("job.model")
    True
    """
    plain = [name for name, kind in POLICIES.items() if field in kind.honours]
    return plain + [
        f"{name}:{kind.honours_with[field]}" for name, kind in POLICIES.items() if field in kind.honours_with
    ]
