"""Numbers, states and compressed lists as Slurm's JSON has them, of several versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def gib(tres: str) -> float:
    found = re.search(r"mem=([\d.]+)([MGT])", tres)
    assert found is not None, tres
    return float(found[1]) * {"M": 1 / 1024, "G": 1.0, "T": 1024.0}[found[2]]


def tasks(text: str) -> list[int]:
    """Return the tasks of an array that are one record still, such as ``0-9%3``."""
    found = []
    for part in text.partition("%")[0].split(","):
        first, _, rest = part.partition("-")
        last, _, step = rest.partition(":")
        found += list(range(int(first), int(last or first) + 1, int(step or 1))) if first else []
    return found


def node_names(text: str) -> list[str]:
    """Return the names in a compressed list such as ``gpu[01-04,07],cpu1``."""
    found = []
    for head, inside in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?", text):
        for part in inside.split(",") if inside else [""]:
            first, _, last = part.partition("-")
            span = range(int(first), int(last or first) + 1) if first else [None]
            found += [head if place is None else f"{head}{place:0{len(first)}}" for place in span]
    return found


def node_state(record: Mapping[str, Any]) -> str:
    said = record["state"] if isinstance(record["state"], list) else [record["state"], *record.get("state_flags", ())]
    states = {str(one).upper().rstrip("*") for one in said}
    if states & {"DOWN", "FAIL", "NOT_RESPONDING", "POWERED_DOWN", "FUTURE"}:
        return "down"
    return "drain" if states & {"DRAIN", "DRAINING", "DRAINED", "MAINT", "RESERVED"} else "up"


def number(said: Any) -> float:
    """Return a number, plain or wrapped, and 0 where it is not set."""
    if isinstance(said, Mapping):
        return said["number"] if said.get("set") and not said.get("infinite") else 0
    return said or 0


def word(said: Any) -> str | None:
    return (said[0] if said else None) if isinstance(said, list) else said
