"""Programs, values, bounds and rules by the text of a policy."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from muri_opt import Decision, Policy, Proof, Result, Round, Violation, policy_from
from muri_opt.rounds import Evidence
from muri_opt.systems import Formulation, program_of, unit_of
from muri_opt.verify import (
    chapter_kind,
    chapter_of,
    decision_value as value_by_rules,
    proved_bound as bound_by_rules,
    settings,
)


def formulation_of(policy: str | Policy) -> Formulation:
    """Return the exact program of the policy's rounds."""
    return program_of(policy_from(policy).rules)


def value_unit_of(policy: str | Policy) -> str:
    """Return what the value of the policy counts."""
    return unit_of(policy_from(policy).rules)


def settings_of(policy: str | Policy) -> Any:
    """Return the verifier's reading of the policy's rules."""
    rules = policy_from(policy).rules
    kind = chapter_kind(rules["chapter"])
    return kind.read(settings.chosen(kind.settings, rules))


def decision_value(round_: Round, policy: str, decision: Decision) -> int:
    """Return the value of a decision under the policy."""
    return value_by_rules(round_, policy_from(policy).rules, decision)


def proved_bound(
    round_: Round, policy: str, decision: Decision, evidence: tuple[Evidence, ...]
) -> tuple[int, Proof] | None:
    """Return the bound that the verifier proves under the policy."""
    return bound_by_rules(round_, policy_from(policy).rules, decision, evidence)


def broken_rules(round_: Round, decision: Decision, policy: str) -> list[Violation]:
    """Return the rules of the policy that a decision breaks."""
    return chapter_of(round_, policy_from(policy).rules).breaches(decision)


def wrong_reasons(round_: Round, decision: Decision, policy: str) -> list[Violation]:
    """Return what is wrong with the reasons of waiting jobs."""
    return [*chapter_of(round_, policy_from(policy).rules).reason_breaches(decision)]


def enumerated_optimum(round_: Round, policy: str, *, steps: int = 20_000) -> int | None:
    """Return the optimum under the policy by the verifier's enumeration."""
    return chapter_of(round_, policy_from(policy).rules).optimum(steps)


def under(result: Result, policy: str) -> Result:
    """Return a result as if it were of this policy, to be checked by its rules."""
    return replace(result, policy=policy, rules=rules_of(policy))


def rules_of(policy: str) -> dict[str, str]:
    """Return the rules of the policy, as a result has them."""
    return dict(policy_from(policy).rules)
