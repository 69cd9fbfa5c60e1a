"""Rows of the same round under the same policy, side by side: what is known of it by all methods together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from muri_opt.rounds import Agreement, Claims, Proof, relative_gap
from muri_opt.studies.compare.rows import CompareRow

_NOT_CHECKED = (None, Proof.AGREEMENT, Proof.CLAIM_ONLY)


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
        """The least bound that was checked, or that two solvers agree upon."""
        agreed = None if self.agreement is None else self.agreement.bound
        proved = [row.bound for row in self.rows if row.proof != Proof.CLAIM_ONLY]
        return min((bound for bound in (*proved, agreed) if bound is not None), default=None)

    @property
    def said(self) -> int | None:
        """The least bound that any method proves or claims."""
        return min((row.said for row in self.rows if row.said is not None), default=None)

    @property
    def agreement(self) -> Agreement | None:
        """What methods of two solvers agree upon; nothing where somebody is wrong.

        Only a named backend is one solver: ``auto`` and ``exact`` may have used the same.
        """
        claims = Claims()
        for row in self.rows:
            backend = row.method.partition("@")[2]
            if backend and row.said is not None:
                claims = claims.with_claim(backend, row.said)
        return None if self.contradiction else claims.agreement

    @property
    def optimal(self) -> bool:
        """Whether the best value is proved to be the optimum, and nobody contradicts it."""
        return self.best is not None and self.best == self.bound and not self.contradiction

    @property
    def proof(self) -> str | None:
        """How the optimum is known, at best: checked in whole numbers, by solvers that agree, or as one claims.

        ``None`` where nobody knows the optimum.
        """
        if not self.optimal:
            claimed = self.best is not None and self.best == self.said
            return Proof.CLAIM_ONLY if claimed else None
        proofs = [row.proof for row in self.rows if row.bound == self.bound]
        return next((proof for proof in proofs if proof not in _NOT_CHECKED), Proof.AGREEMENT)

    @property
    def contradiction(self) -> bool:
        """Whether a value lies above a bound that somebody proves or claims: then somebody is wrong."""
        return self.best is not None and self.said is not None and self.best > self.said

    def loss(self, row: CompareRow) -> float | None:
        """Return the part of the best known bound that a row's value falls short of; ``None`` without the two."""
        return None if row.value is None or self.bound is None else relative_gap(self.bound, row.value)


def pairs_of(rows: Iterable[CompareRow]) -> list[Pair]:
    """Return the pairs of round and policy in the order in which they first appear."""
    found: dict[tuple[str, str], list[CompareRow]] = {}
    for row in rows:
        found.setdefault((row.instance, row.policy), []).append(row)
    return [Pair(instance=key[0], policy=key[1], rows=tuple(mine)) for key, mine in found.items()]
