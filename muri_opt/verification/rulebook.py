"""What the verifier knows of each policy: its own reading, shared with no other part."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.errors import InputError, unknown_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules a decision of a policy must keep, and how its value is counted."""

    order: str
    lexicographic: bool
    fewest_nodes: bool
    largest_group: int = 1


_ORDERS = ("fifo", "srtf", "srsf", "las", "max-min")
_SETTINGS = {"objective": ("weighted", "lexicographic"), "nodes": ("any", "fewest")}


def rules_of(policy: str) -> Rules:
    """Return the rules of a policy given as in a result: ``name`` or ``name:key=value,...``."""
    name, _, rest = policy.partition(":")
    if name not in _ORDERS:
        raise unknown_name("policy", name, _ORDERS)
    settings = {"objective": "weighted", "nodes": "any"}
    for pair in rest.split(",") if rest else ():
        key, _, value = pair.partition("=")
        if value not in _SETTINGS.get(key, ()):
            raise InputError("policy", repr(pair), "objective=weighted|lexicographic or nodes=any|fewest")
        settings[key] = value
    return Rules(
        order=name, lexicographic=settings["objective"] == "lexicographic", fewest_nodes=settings["nodes"] == "fewest"
    )
