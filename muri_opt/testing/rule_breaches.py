"""Breaches of the verifier's rules as findings of invariants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from muri_opt.rounds import Violation
from muri_opt.testing.invariant import Case, Finding

QUOTA: Final = frozenset({"quota", "preemption-quota", "quota-by-type", "borrowing"})


def rule_finding(case: Case, named: frozenset[str], *, others: bool = False) -> Finding | None:
    """Return the breaches of the named rules, or of all but these."""
    return _finding([one for one in case.breaches() if (one.rule in named) != others])


def quota_finding(case: Case, *, above: bool) -> Finding | None:
    """Return the breaches of the quotas of tenants that are ``above`` others, or of all others."""
    parents = {tenant.parent for tenant in case.round_.cluster.tenants}
    return _finding([one for one in case.breaches() if one.rule in QUOTA and (one.where in parents) == above])


def _finding(breaches: Sequence[Violation]) -> Finding | None:
    words = "; ".join(f"{one.where}: {one.detail} ({one.rule})" for one in breaches)
    return Finding(amount=float(len(breaches)), detail=words) if breaches else None
