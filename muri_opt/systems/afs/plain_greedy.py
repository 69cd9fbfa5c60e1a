"""AFS-L as its paper states it: for every GPU a scan over all jobs (NSDI 2021, section 4, procedure TopPriority).

This is the definition to read. :func:`~muri_opt.systems.afs.greedy.afs_shares` finds the same shares hundreds of times
faster; a test holds the two equal. Nothing is shared between them, so that an error in one is not in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from muri_opt.systems.curves import NEVER

Rows = Sequence[Sequence[int]]


def plain_afs_shares(
    speed: Rows,
    cap: Sequence[int],
    time: Rows,
    gpus: int,
    *,
    scan: Sequence[int],
    tie: str = "longer",
    phi: int | None = 1,
    ladder: Sequence[int] | None = None,
) -> list[int]:
    """Return how many of ``gpus`` GPUs each job gets; the arguments are those of :func:`afs_shares`, as plain lists.

    >>> speed, time = [[0, 10, 18, 24], [0, 10, 19, 27]], [[NEVER, 100, 55, 41], [NEVER, 300, 157, 111]]
    >>> plain_afs_shares(speed, [3, 3], time, 3, scan=[0, 1])
    [2, 1]
    """
    legal = range(1, 1 + max(cap, default=0)) if ladder is None else ladder
    steps = tuple(tuple(share for share in (0, *legal) if share <= most) for most in cap)
    rule = _Rule(speed=speed, time=time, steps=steps, longer_at_tie=tie == "longer", phi=phi)
    shares, left = [0] * len(cap), gpus
    while (job := rule.top_priority(shares, left, scan)) is not None:
        left -= rule.step(job, shares[job])
        shares[job] += rule.step(job, shares[job])
    return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """The pair rule and the scan; ``steps[j]`` are the shares job j may have, 0 first."""

    speed: Rows
    time: Rows
    steps: Sequence[Sequence[int]]
    longer_at_tie: bool
    phi: int | None

    def top_priority(self, shares: list[int], left: int, scan: Sequence[int]) -> int | None:
        """Return the last candidate of a scan over the jobs that can use some of the GPUs ``left``."""
        candidate = None
        for job in scan:
            if 0 < self.step(job, shares[job]) <= left and (candidate is None or self._prefers(job, candidate, shares)):
                candidate = job
        return candidate

    def step(self, job: int, share: int) -> int:
        """Return how many GPUs more a job's next share has; 0 if this is its last."""
        return next((other - share for other in self.steps[job] if other > share), 0)

    def _prefers(self, job: int, candidate: int, shares: list[int]) -> bool:
        """Return whether a scanned job replaces the candidate."""
        if shares[job] == shares[candidate] == 0:
            return self.time[job][1] <= self.time[candidate][1]
        ends = {one: self.time[one][shares[one]] if shares[one] else NEVER for one in (job, candidate)}
        if ends[job] < ends[candidate]:
            return not self._longer_wins(job, candidate, shares)
        return self._longer_wins(candidate, job, shares)

    def _longer_wins(self, a: int, b: int, shares: list[int]) -> bool:
        """Return whether b, which would finish later than a, gets the GPU: p_a (2 f - p_b) > p'_a (2 f - p'_b)."""
        if self.phi is None and shares[b]:
            return False
        p_a, p_b = self._speed(a, shares[a]), self._speed(b, shares[b])
        more_a, more_b = self._speed(a, shares[a] + 1), self._speed(b, shares[b] + 1)
        future = self._speed(b, shares[b] + (self.phi or 1)) if shares[b] else more_b
        give_b, give_a = p_a * (2 * future - p_b), more_a * (2 * future - more_b)
        return give_b > give_a or (give_b == give_a and self.longer_at_tie)

    def _speed(self, job: int, gpus: int) -> Fraction:
        """Return a job's speed, straight between the shares it may have and the same beyond the last of them."""
        shares, speed = self.steps[job], self.speed[job]
        gpus = min(gpus, shares[-1])
        low = max(share for share in shares if share <= gpus)
        high = min(share for share in shares if share >= gpus)
        rise = Fraction(speed[high] - speed[low], max(1, high - low))
        return speed[low] + (gpus - low) * rise
