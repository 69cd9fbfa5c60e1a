"""Rows of the same round under the same policy, side by side: what is known of it by all methods together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from muri_opt.comparison.rows import CompareRow
from muri_opt.solution import Proof, Reason, relative_gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One round under one policy, solved by every method of the study; ``rows`` in the order of the methods."""

    instance: str
    policy: str
    rows: tuple[CompareRow, ...]

    @property
    def best(self) -> int | None:
        """The best value that any method reached."""
        return max((row.value for row in self.rows if row.value is not None), default=None)

    @property
    def bound(self) -> int | None:
        """The least bound that any method gave."""
        return min((row.bound for row in self.rows if row.bound is not None), default=None)

    @property
    def optimal(self) -> bool:
        """Whether some method proved its value to be the optimum, and no other contradicts it."""
        return self.best is not None and self.best == self.bound

    @property
    def proof(self) -> str | None:
        """How the optimum is known, at best: checked in whole numbers, by solvers that agree, or as one claims.

        ``None`` where the optimum is not known.
        """
        if not self.optimal:
            return None
        proofs = [row.proof for row in self.rows if row.bound == self.bound and row.proof is not None]
        weak = (Proof.AGREEMENT, Proof.CLAIM_ONLY)
        checked = next((proof for proof in proofs if proof not in weak), None)
        if checked is not None:
            return checked
        # only a named backend is one solver: 'auto' and 'exact' may have used the same
        claims = {row.method for row in self.rows if row.reason == Reason.OPTIMAL and "@" in row.method}
        return Proof.AGREEMENT if len(claims) > 1 or Proof.AGREEMENT in proofs else Proof.CLAIM_ONLY

    @property
    def contradiction(self) -> bool:
        """Whether a value lies above a bound: then somebody is wrong."""
        return self.best is not None and self.bound is not None and self.best > self.bound

    def loss(self, row: CompareRow) -> float | None:
        """Return the part of the best known bound that a row's value falls short of; ``None`` without the two."""
        return None if row.value is None or self.bound is None else relative_gap(self.bound, row.value)


def pairs_of(rows: Iterable[CompareRow]) -> list[Pair]:
    """Return the pairs of round and policy in the order in which they first appear."""
    found: dict[tuple[str, str], list[CompareRow]] = {}
    for row in rows:
        found.setdefault((row.instance, row.policy), []).append(row)
    return [Pair(instance=key[0], policy=key[1], rows=tuple(mine)) for key, mine in found.items()]
