"""The decision of a policy's own algorithm, whoever wrote it."""

from __future__ import annotations

from muri_opt.errors import InputError
from muri_opt.rounds import Budget, Decision, Round
from muri_opt.systems import Policy
from muri_opt.verify import completed


def decided(policy: Policy, round_: Round, seed: int, budget: Budget | None = None) -> Decision:
    """Return the decision of a policy's own algorithm, to its end or within a budget, with what it leaves out."""
    try:
        decision = policy.decide(round_, seed) if budget is None else policy.decide_within(round_, seed, budget)
    except SystemExit as error:  # it is not for a policy to end the program that asked it
        raise RuntimeError(f"policy {policy.spec!r} asked to end the program") from error
    if not isinstance(decision, Decision):
        raise InputError(f"decision of policy {policy.spec!r}", type(decision).__name__, "a Decision")
    return completed(round_, policy.rules, decision)
