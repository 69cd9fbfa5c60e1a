"""What was checked of an answer, by whom, and the evidence anybody can check again."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

import msgspec

from muri_opt.rounds.long_numbers import long_numbers


class Proof(StrEnum):
    """How the bound of a result was established; all but the last two were checked in exact integers.

    Duals of a matching or a linear program; every set of jobs counted against GPUs and quotas; every decision of a
    small round enumerated; two independent solvers; or nobody but the solver that claims it. The last proves nothing:
    what rests on it is the result's ``claimed_bound``, never its ``bound``.

    >>> solve_round(shipped_round("toy/two-gangs"), "fifo", "exact").certificate.proof
    <Proof.COUNTING: 'Counting'>
    """

    MATCHING_DUALS = "MatchingDuals"
    LINEAR_DUALS = "LinearDuals"
    COUNTING = "Counting"
    EXHAUSTIVE = "Exhaustive"
    AGREEMENT = "Agreement"
    CLAIM_ONLY = "ClaimOnly"

    @property
    def words(self) -> str:
        """How the bound was established, in words for tables.

        >>> Proof.LINEAR_DUALS.words
        'dual values'
        """
        return _WORDS[self]


_WORDS = {
    Proof.MATCHING_DUALS: "dual values of a matching",
    Proof.LINEAR_DUALS: "dual values",
    Proof.COUNTING: "counting",
    Proof.EXHAUSTIVE: "enumeration",
    Proof.AGREEMENT: "agreement of solvers",
    Proof.CLAIM_ONLY: "one solver's claim",
}


class Violation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One broken rule: its name, the job, node, tenant or field concerned, and the numbers.

    >>> Violation(rule="capacity", where="node 'n0'", detail="3 of 2 GPUs").rule
    'capacity'
    """

    rule: str
    where: str
    detail: str


class OddSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An odd number of jobs, by their positions in the round, and what a group with two or more of them pays once."""

    jobs: tuple[int, ...]
    price: int


class LinearDuals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag=True):
    """Multipliers of a program's constraints, per label, as whole numbers over one denominator.

    Any non-negative multipliers give a valid bound, so rounding a solver's duals to this form costs no rigour.
    """

    proof: ClassVar[Proof] = Proof.LINEAR_DUALS
    odd_sets: ClassVar[tuple[OddSet, ...]] = ()

    denominator: int
    multipliers: Mapping[str, tuple[int, ...]]


class MatchingDuals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag=True):
    """Multipliers as of :class:`LinearDuals`, and prices of odd sets of jobs: the dual solution of a matching.

    Disjoint groups that have two jobs or more of a set of 2k + 1 are at most k. Like any multipliers, any non-negative
    prices give a valid bound.
    """

    proof: ClassVar[Proof] = Proof.MATCHING_DUALS

    denominator: int
    multipliers: Mapping[str, tuple[int, ...]]
    odd_sets: tuple[OddSet, ...]


class Agreement(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag=True,
):
    """Independent solvers that each claimed a bound at least as good as ``bound``; without one, the same optimum."""

    backends: tuple[str, ...]
    bound: int | None = None

    @property
    def independent(self) -> bool:
        """Whether these are two solvers or more."""
        return len(set(self.backends)) > 1


Prices = LinearDuals | MatchingDuals
"""Evidence that consists of prices."""
Evidence = Prices | Agreement


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verifier's findings: ``proof`` is who proved the result's bound, ``checked_bound`` what was checked here.

    ``proof`` is ``None`` where the result has no bound and nobody claims one. ``evidence`` is what the checks were
    made from.

    >>> Certificate(feasible=True, proof=Proof.COUNTING, checked_bound=120).checked_bound
    120
    """

    feasible: bool
    violations: tuple[Violation, ...] = ()
    proof: Proof | None = None
    checked_bound: int | None = None
    evidence: tuple[Evidence, ...] = ()

    def __repr__(self) -> str:
        """Return all fields, whose numbers may be long."""
        with long_numbers():
            return super().__repr__()
