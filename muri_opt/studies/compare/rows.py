"""What a gap study finds: a row for every round, policy and method."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from muri_opt.rounds import Proof

REFUSED: Final = "REFUSED"
"""In the place of a termination reason: the policy or the method does not take the round; ``detail`` says why."""
VIOLATED: Final = "VIOLATED"
"""In the place of a termination reason: the answer broke rules of the round; ``detail`` names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRow:
    """One solve: of which round, how, what came of it and how long it took on the machine it ran on.

    ``reason`` is the result's termination reason, ``REFUSED`` or ``VIOLATED``; ``proof`` is how the bound was
    established, ``claimed_bound`` what one solver claims beyond it. ``known_value`` and ``known_bound`` are the best
    that the library has stored of the round.
    """

    instance: str
    jobs: int
    nodes: int
    gpus: int
    policy: str
    method: str
    fingerprint: str
    reason: str
    detail: str
    value: int | None
    bound: int | None
    gap: float | None
    proof: str | None
    solve_seconds: float
    claimed_bound: int | None = None
    known_value: int | None = None
    known_bound: int | None = None

    @property
    def refused(self) -> bool:
        """Whether nothing was solved because the policy or the method does not take the round."""
        return self.reason == REFUSED

    @property
    def proved(self) -> bool:
        """Whether the value meets the solve's own bound, which was checked or agreed upon."""
        return self.value is not None and self.value == self.bound and self.proof != Proof.CLAIM_ONLY

    @property
    def said(self) -> int | None:
        """The least bound that the solve proves or claims."""
        return self.bound if self.claimed_bound is None else self.claimed_bound

    @property
    def ended(self) -> bool:
        """Whether the solve ran to its end: its value meets the bound that it proves or claims."""
        return self.value is not None and self.value == self.said

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the row as one flat mapping, in the order of the columns of a table."""
        return asdict(self)
