"""The result of a round of which only a part was to be decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from muri_opt.rounds import Certificate, Result, changes
from muri_opt.verify import verify

if TYPE_CHECKING:
    from muri_opt.systems.capacity.set_apart import SetApart


def joined(apart: SetApart, result: Result) -> Result:
    """Return the result of the rest as that of the whole round, verified as such; the value counts what is decided."""
    decision = None if result.decision is None else apart.joined(result.decision)
    draft = replace(
        result,
        fingerprint=apart.whole.fingerprint,
        decision=decision,
        changes=None if decision is None else changes(apart.whole, decision),
        certificate=Certificate(feasible=False, evidence=result.certificate.evidence),
    )
    return replace(draft, certificate=verify(apart.whole, draft))
