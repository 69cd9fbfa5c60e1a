"""What the published policies of the library promise: all of safety, and all of rationality but what is listed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.systems import POLICIES, systems
from muri_opt.testing.invariant import Invariant
from muri_opt.testing.invariants_rationality import RATIONALITY
from muri_opt.testing.invariants_safety import SAFETY

NOT_PROMISED: Final[Mapping[str, frozenset[str]]] = {
    policy: broken for system in systems() for policy, broken in system.not_promised.items()
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
    broken = next((system.not_promised.get(policy, ()) for system in systems() if policy in system.policies), ())
    return tuple(one for one in (*SAFETY, *RATIONALITY) if one.name not in broken)
