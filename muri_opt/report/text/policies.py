"""All policies for people: what each does, what it needs, and which fields of format 2 it honours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from muri_opt.report.tables import table
from muri_opt.rounds.used_fields import FIELDS
from muri_opt.systems import POLICIES, policy_from, systems

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
