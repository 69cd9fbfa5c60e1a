"""The decision of a policy's own algorithm, whoever wrote it."""

from __future__ import annotations

from muri_opt.errors import InputError
from muri_opt.rounds import Decision, Round
from muri_opt.systems import Policy
from muri_opt.verify import completed


def decided(policy: Policy, round_: Round, seed: int) -> Decision:
    """Return the decision of a policy's own algorithm, with what it leaves out filled in."""
    decision = policy.decide(round_, seed)
    if not isinstance(decision, Decision):
        raise InputError(f"decision of policy {policy.spec!r}", type(decision).__name__, "a Decision")
    return completed(round_, policy.rules, decision)
