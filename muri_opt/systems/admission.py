"""Which rounds a policy takes: those it can decide, and of which it ignores no field."""

from __future__ import annotations

from muri_opt.rounds import Round
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.systems.policy import Policy
from muri_opt.systems.registry import POLICIES


def admit(policy: Policy, round_: Round) -> None:
    """Refuse a round that uses a field which the policy would ignore, with who honours it, or one it cannot decide.

    >>> admit(policy_from("fifo"), shipped_round("toy/two-gangs"))
    """
    field = unhonoured(round_, policy.honoured)
    if field is not None:
        raise refusal(round_, field, f"policy {policy.spec!r}", honouring(field))
    policy.check(round_)


def honouring(field: str) -> list[str]:
    """Return the names of the policies that honour a field of format 2.

    >>> "fifo" in honouring("job.model")
    True
    """
    return [name for name, kind in POLICIES.items() if field in kind.honours]
