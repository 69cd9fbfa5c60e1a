"""What the published policies of the library promise: all of safety, and all of rationality but what is listed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.systems import POLICIES
from muri_opt.testing.invariant import Invariant
from muri_opt.testing.invariants_rationality import RATIONALITY
from muri_opt.testing.invariants_safety import SAFETY

_PLACED: Final = frozenset({"node-order", "more-capacity", "preempts-for-a-start", "minimal-victims"})
"""What goes by where jobs are put, with no regard to where they are."""

NOT_PROMISED: Final[Mapping[str, frozenset[str]]] = {
    "max-min": frozenset({"waiting-removed"}),
    "philly": frozenset({"node-order"}),
    "muri-s": _PLACED | {"waiting-removed"},
    "muri-l": _PLACED | {"waiting-removed"},
    "afs-l": frozenset({"job-order", "same-jobs"}),
    "optimus": frozenset({"same-jobs"}),
    "srtf-elastic": frozenset({"job-order", "same-jobs", "more-capacity"}),
    "sia": frozenset({"node-order", "same-jobs", "waiting-removed", "idempotent", "settles"}),
    "antman": frozenset({"more-capacity"}),
    "synergy": frozenset({"more-capacity", "preempts-for-a-start"}),
    "equal-share": _PLACED | {"waiting-removed"},
    "aiturbo": frozenset({"node-order", "waiting-removed", "more-capacity", "idempotent", "settles"}),
    "optimus-ps": _PLACED | {"alone", "waiting-removed"},
}
"""By policy the names of the invariants that its published rules break. A policy that is not named keeps all."""


def promised(policy: str) -> tuple[Invariant, ...]:
    """Return the invariants that the algorithm of a policy keeps by its own rules and value, as it is by default.

    Amounts of fairness are measured, and nobody promises any.

    >>> len(promised("fifo")) > 10
    True
    """
    if policy not in POLICIES:
        raise unknown_name("policy", policy, POLICIES)
    broken = NOT_PROMISED.get(policy, frozenset())
    return tuple(one for one in (*SAFETY, *RATIONALITY) if one.name not in broken)
