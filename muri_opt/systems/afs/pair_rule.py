"""The pair rule of AFS: which of two jobs gets the next GPU.

Let a be the job that would finish earlier with its present share, b the other; p the present speed, p' the speed with
one GPU more, and f the speed b will have once a has finished. Giving the GPU to b makes the sum of both completion
times smaller iff

    p_a (2 f - p_b) > p'_a (2 f - p'_b).

AFS is "apathetic" about b's future share: f = p'_b, as if b kept only the contested GPU and whatever a held went to
jobs yet to come (Hwang, Kim, Kim, Shin, Park, NSDI 2021). Larger f is more optimistic; without bound b never wins,
which is shortest remaining time first. A job without a GPU counts as the longer one and has f = p' always: it wins iff
p'_a < 2 p_a, so on curves that at most double each job gets its first GPU before any gets its second.

The rule is not transitive. With r = p'/p and h(r) = 2 - 1/r the longer job wins iff r_a < h(r_b), and for remaining
times t1 < t2 < t3 with h(r2) <= r1 < h(r3) <= r2 the short job beats the middle one, the middle one beats the long
one, and the long one beats the short one. So the order in which jobs are compared matters, and is a parameter.
"""

from __future__ import annotations

from typing import Final

from muri_opt.errors import InputError, unknown_name

TIES: Final = ("longer", "shorter")
UNBOUNDED: Final = -1
"""Stands for a future speed without bound."""


def longer_wins(now: int, more: int, longer_now: int, longer_more: int, longer_future: int, *, tie: bool) -> bool:
    """Return whether the job that would finish later gets the GPU; ``tie`` is whether it does at equality.

    ``now`` and ``more`` are p and p' of the job that would finish earlier; the rest are p, p' and f of the longer one.
    Each job's speeds may be in its own unit.
    """
    if longer_future == UNBOUNDED:
        return False
    left = now * (2 * longer_future - longer_now)
    right = more * (2 * longer_future - longer_more)
    return left > right or (tie and left == right)


def check_rule(tie: str, phi: int | None) -> None:
    """Refuse a tie direction that does not exist and a future share below 1."""
    if tie not in TIES:
        raise unknown_name("tie", tie, TIES)
    if phi is not None and (type(phi) is not int or phi < 1):
        raise InputError("phi", repr(phi), "a whole number from 1 (AFS), or None for no bound (shortest first)")
