"""Numbers, states and compressed lists as Slurm's JSON has them, of versions from 22.05 on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from muri_opt.errors import InputError

MOST_NAMES: Final = 100_000
"""Names that a compressed list may stand for: what is larger is no list of nodes or tasks."""
_UNSET: Final = 0xFFFF_FFFE
"""What some versions print for a number that is not set, or one more."""
_UNITS: Final = {"": 1 / 1024, "K": 1 / 1024**2, "M": 1 / 1024, "G": 1.0, "T": 1024.0, "P": 1024.0**2}
_MEMORY: Final = re.compile(r"(?:^|,)mem=([\d.]+)([KMGTP]?)")
_DOWN: Final = {"DOWN", "FAIL", "NOT_RESPONDING", "POWERED_DOWN", "FUTURE", "UNKNOWN", "POWER_DOWN", "ERROR", "INVALID"}
_DRAIN: Final = {"DRAIN", "DRAINING", "DRAINED", "MAINT", "MAINTENANCE", "RESERVED", "FAILING", "REBOOT_ISSUED"}


def number(said: Any) -> float:
    """Return a number, plain or wrapped, and 0 where it is not set.

    >>> number(7), number({"set": True, "infinite": False, "number": 7}), number(None)
    (7.0, 7.0, 0.0)
    """
    if isinstance(said, Mapping):
        said = said.get("number") if said.get("set") and not said.get("infinite") else 0
    try:
        return float(said or 0)
    except (TypeError, ValueError):
        return 0.0


def word(said: Any) -> str:
    """Return a word that newer versions have in a list; nothing is an empty one."""
    first = (said[0] if said else "") if isinstance(said, list) else said
    return str(first or "")


def gib(tres: Any) -> float | None:
    """Return the memory in a text such as ``cpu=4,mem=8G,node=1``.

    >>> gib("cpu=4,mem=512M,node=1")
    0.5
    """
    found = _MEMORY.search(str(tres or ""))
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def part(tres: Any, name: str) -> int:
    """Return a whole number in a text such as ``cpu=4,mem=8G,node=1``, and 0 where it is not there."""
    found = re.search(rf"(?:^|,){name}=(\d+)(?:,|$)", str(tres or ""))
    return 0 if found is None else int(found[1])


def gpus_in(text: Any) -> dict[str | None, int]:
    """Return the GPUs by type in a text such as ``gpu:a100:4(S:0-1),shard:8`` or ``gres/gpu:2``.

    >>> gpus_in("gpu:a100:4(S:0-1),gpu:v100:2,shard:8"), gpus_in("gres:gpu:3"), gpus_in("gres/gpu=3")
    ({'a100': 4, 'v100': 2}, {None: 3}, {None: 3})
    """
    found: dict[str | None, int] = {}
    for one in re.sub(r"\([^)]*\)", "", str(text or "")).split(","):
        words = [word for word in re.split(r"[:/=]", one) if word != "gres"]
        if words[:1] != ["gpu"]:
            continue
        count = int(words.pop()) if words[-1].isdecimal() else 1
        gpu_type = words[1] if len(words) > 1 else None
        found[gpu_type] = found.get(gpu_type, 0) + count
    return found


def node_names(text: Any) -> list[str]:
    """Return the names in a compressed list.

    >>> node_names("gpu[01-03,07],cpu1"), node_names("r[1-2]n[1-2]")
    (['gpu01', 'gpu02', 'gpu03', 'gpu07', 'cpu1'], ['r1n1', 'r1n2', 'r2n1', 'r2n2'])
    """
    found: list[str] = []
    for one in _parts(str(text or "")):
        names = [""]
        for head, inside in re.findall(r"([^\[\]]*)(?:\[([^\]]*)\])?", one):
            spans = list(_span(inside)) if inside else [""]
            if len(names) * len(spans) + len(found) > MOST_NAMES:
                raise InputError("nodes", f"a list of more than {MOST_NAMES:,} names", f"at most {MOST_NAMES:,}")
            names = [name + head + place for name in names for place in spans]
        found += [name for name in names if name]
    return found


def tasks(text: Any) -> list[int]:
    """Return the tasks of an array that are one record still, such as ``0-9%3`` or ``1,5-9:2``."""
    found: list[int] = []
    for one in str(text or "").partition("%")[0].split(","):
        first, _, rest = one.partition("-")
        last, _, step = rest.partition(":")
        if not all(word.isdecimal() for word in (first, last or "0", step or "1")):
            continue
        every = range(int(first), int(last or first) + 1, max(int(step or 1), 1))
        if len(every) > MOST_NAMES:
            raise InputError("array", f"{len(every):,} tasks", f"at most {MOST_NAMES:,}")
        found += every
    return found


def one_task(said: Any) -> list[int]:
    """Return the task of an array that a record is, or nothing where it is none; newer versions say if it is set."""
    if isinstance(said, Mapping):
        said = said.get("number") if said.get("set") else None
    return [said] if isinstance(said, int) and 0 <= said < _UNSET else []


def array_of(record: Mapping[str, Any]) -> str:
    """Return the id of the array that the tasks of a record are of, its own where it is none."""
    return str(int(number(record.get("array_job_id"))) or record.get("job_id"))


def node_state(record: Mapping[str, Any]) -> Literal["up", "drain", "down"]:
    """Return what a node may be used for."""
    said = record.get("state")
    every = [*said] if isinstance(said, list) else [said, *(record.get("state_flags") or ())]
    states = {str(one).upper().rstrip("*~#!%$@^-+") for one in every}
    if states & _DOWN:
        return "down"
    return "drain" if states & _DRAIN else "up"


def _parts(text: str) -> Iterator[str]:
    """Yield the parts between commas that are in no brackets."""
    depth, begins = 0, 0
    for place, mark in enumerate(text):
        depth += (mark == "[") - (mark == "]")
        if mark == "," and depth == 0:
            yield text[begins:place]
            begins = place + 1
    yield text[begins:]


def _span(inside: str) -> Iterator[str]:
    for one in inside.split(","):
        first, _, last = one.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            yield one
        elif int(last or first) - int(first) > MOST_NAMES:
            raise InputError("nodes", f"a list of more than {MOST_NAMES:,} names", f"at most {MOST_NAMES:,}")
        else:
            yield from (f"{place:0{len(first)}}" for place in range(int(first), int(last or first) + 1))
