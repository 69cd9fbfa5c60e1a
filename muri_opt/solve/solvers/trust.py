"""Versions of solvers that have been seen to lie: what a backend declares of them, and how one is recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFault:
    """Versions from ``first`` to ``last``, both included, that call wrong answers right with the settings used here.

    ``seen`` says what was seen, in the words "which ...", and ``remedy`` what to install or use instead.
    """

    first: Version
    last: Version
    seen: str
    remedy: str


def version_number(said: str) -> Version | None:
    """Return the last dotted number in what a solver says of itself, ``None`` where there is none."""
    found = re.findall(r"\d+(?:\.\d+)+", said)
    return tuple(int(part) for part in found[-1].split(".")) if found else None


def known_fault(said: str, faults: Iterable[KnownFault]) -> KnownFault | None:
    """Return the fault of the version that a solver says it has, ``None`` where none is known."""
    number = version_number(said)
    if number is None:
        return None
    return next((fault for fault in faults if fault.first <= number <= fault.last), None)
