"""All policies for people: what each does, what it needs, and which fields of format 2 it honours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from textwrap import wrap
from typing import TypedDict

from muri_opt.report.tables import indented, table
from muri_opt.rounds.used_fields import FIELDS
from muri_opt.studies.runner.policy_code import from_elsewhere
from muri_opt.systems import POLICIES, has_program, policy_from, systems, unit_of
from muri_opt.systems.policy import Allowed, Policy, Span

HONOURED, REFUSED = "honoured", "refused"


class Described(TypedDict):
    """One policy: fields of a job that it needs, and fields of format 2 that it honours, in their order."""

    summary: str
    needs: list[str]
    honours: list[str]


def described() -> dict[str, Described]:
    """Return all policies by name."""
    found: dict[str, Described] = {}
    for name in POLICIES:
        policy = policy_from(name)
        honours = [field for field in FIELDS if field in policy.honoured]
        found[name] = {"summary": policy.summary, "needs": list(policy.needs), "honours": honours}
    return found


def policies_text(found: Mapping[str, Described]) -> str:
    """Return one line for each policy, then which fields are honoured by which policies."""
    rows = [(name, ", ".join(one["needs"]) or "-", one["summary"]) for name, one in found.items()]
    lines = table(("policy", "needs", "what it does"), rows)
    for honours, names in _alike(found, list(found)).items():
        lines += ["", ", ".join(names), f"  honours: {', '.join(honours) or 'no field of format 2'}"]
        lines.append(f"  refuses: {', '.join(field for field in FIELDS if field not in honours) or 'none'}")
    return "\n".join(lines) + "\n"


class Parameter(TypedDict):
    """A parameter of a policy: its default, and what it may be."""

    default: str
    allowed: str


class Detailed(Described):
    """Everything about one policy.

    ``not_promised`` are invariants of the testing kit that it does not keep.
    """

    policy: str
    system: str
    value: str
    exact: bool
    parameters: dict[str, Parameter]
    not_promised: list[str]
    example: str


def detailed(name: str, example: str) -> Detailed:
    """Return everything about a policy, with the parameters that are given, and a command that uses it."""
    policy = policy_from(name)
    owner = next((system for system in systems() if policy.name in system.policies), None)
    honours = [field for field in FIELDS if field in policy.honoured]
    return {
        "policy": policy.spec,
        "summary": policy.summary,
        "system": "" if owner is None else owner.name,
        "value": unit_of(policy.rules),
        "exact": has_program(policy.rules),
        "needs": list(policy.needs),
        "parameters": _parameters(policy),
        "honours": honours,
        "not_promised": [] if owner is None else sorted(owner.not_promised.get(policy.name, ())),
        "example": example,
    }


def detailed_text(found: Detailed) -> str:
    """Return one policy for people: what it does, needs, counts, promises, and all its parameters."""
    proof = (
        "the value and, where there is a bound, the bound are checked by the verifier's own code"
        + "; method exact solves its program" * found["exact"]
    )
    kept = ", ".join(found["not_promised"])
    invariants = f"all invariants of the testing kit but {kept}" if kept else "all invariants of the testing kit"
    if from_elsewhere(policy_from(found["policy"])):
        invariants = "no invariant: it is not of this package, and nobody has tested it here (docs/testing.md)"
    pairs = [
        ("policy", found["policy"]),
        ("does", found["summary"]),
        ("needs", ", ".join(found["needs"]) or "nothing beside id and gpus of jobs"),
        ("counts", found["value"]),
        ("promises", proof),
        ("", invariants),
        ("honours", ", ".join(found["honours"]) or "no field of format 2"),
        ("refuses", ", ".join(field for field in FIELDS if field not in found["honours"]) or "none"),
    ]
    lines = [line for label, text in pairs for line in _wrapped(label, text)]
    if found["parameters"]:
        rows = [(name, one["default"], one["allowed"]) for name, one in found["parameters"].items()]
        lines += ["", "parameters", *indented(table(("name", "default", "may be"), rows))]
    return "\n".join([*lines, "", "example", f"  {found['example']}"]) + "\n"


def _wrapped(label: str, text: str) -> list[str]:
    first, *others = wrap(text, 107, break_on_hyphens=False) or [""]
    return [f"{label:<13}{first}", *(f"{'':<13}{line}" for line in others)]


def _parameters(policy: Policy) -> dict[str, Parameter]:
    usual = {field.name: field.default for field in fields(policy)}
    return {
        name: {"default": str(usual[name]), "allowed": _allowed_text(allowed)}
        for name, allowed in policy.choices.items()
    }


def _allowed_text(allowed: Allowed) -> str:
    if not isinstance(allowed, Span):
        return ", ".join(allowed)
    kind = "whole number" if allowed.whole else "number"
    most = "" if allowed.most == float("inf") else f" to {allowed.most:g}"
    return ", ".join([f"{kind} from {allowed.least:g}{most}", *allowed.words])


def honours_table() -> str:
    """Return a table in Markdown: for each field of format 2, whether policies honour it or refuse the round.

    A column is for the policies of one system that honour the same.
    """
    found = described()
    columns: list[tuple[str, tuple[str, ...]]] = []
    for system in systems():
        for honours, names in _alike(found, list(system.policies)).items():
            columns.append((", ".join(f"`{name}`" for name in names), honours))
    lines = ["| field | " + " | ".join(names for names, _ in columns) + " |", "| --- |" + " --- |" * len(columns)]
    for field in FIELDS:
        cells = [HONOURED if field in honours else REFUSED for _, honours in columns]
        lines.append(f"| `{field}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _alike(found: Mapping[str, Described], names: Sequence[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the names by what they honour."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(found[name]["honours"]), []).append(name)
    return groups
