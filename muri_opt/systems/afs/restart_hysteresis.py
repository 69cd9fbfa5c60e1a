"""Changes of shares that pay: jobs that run keep theirs where the value, less what restarts cost, is not larger.

A rule divides GPUs as if nothing ran. Of what it changes, that is undone which does not pay: a share that would grow in
vain; one that would shrink or be taken away, if there is room for it; and one that would shrink for others to grow, if
it is worth more than what they gain. What a waiting job gets is never taken from it.

Deciding again at once changes nothing: the rule gives the same shares, what was changed is now as the rule has it, and
what was undone is undone again, by the same comparisons in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from muri_opt.systems.afs.set_choice import Limit
from muri_opt.systems.afs.share_values import ShareValues
from muri_opt.systems.curves import Ints

FEW: Final = 64
"""How many shares are looked at one by one for one that makes room alone."""


def kept_shares(shares: Ints, present: Ints, values: ShareValues, limits: Sequence[Limit]) -> Ints:
    """Return the shares in which running jobs keep their present one wherever a change does not pay.

    ``present[j]`` are the GPUs a job holds now and may keep (0: none), ``values`` what shares are worth, kept and
    changed. ``limits`` are GPUs that some of the jobs may have together; the shares keep them.

    >>> speeds = np.array([[0, 100, 190, 270, 340], [0, 100, 190, 270, 340]])
    >>> values = ShareValues(fresh=speeds, changed=speeds // 2)
    >>> kept_shares(np.array([3, 1]), np.array([2, 2]), values, [(np.arange(2), 4)])
    array([2, 2])
    """
    if not present.any():
        return shares
    jobs = np.arange(len(shares))
    now, then = values.fresh[jobs, present], values.changed[jobs, shares]
    in_vain = (present > 0) & (shares != present) & (now >= then)
    result = np.where(in_vain & (shares > present), present, shares)
    worse = in_vain & (shares < present)
    if not worse.any():
        return result
    better = (present > 0) & (shares > present) & ~in_vain
    undo = _Undo(result, present, np.abs(now - then), limits)
    undo.run(np.flatnonzero(worse), np.flatnonzero(better), stops=shares == 0)
    return result


class _Undo:
    """Shares of which some are put back to what they were; ``gain[j]`` is what that adds for job j, or takes away."""

    def __init__(self, shares: Ints, present: Ints, gain: Ints, limits: Sequence[Limit]) -> None:
        self._shares = shares
        self._gain: list[int] = gain.tolist()
        self._size: list[int] = np.abs(shares - present).tolist()
        self._present: list[int] = present.tolist()
        self._spare = [most - int(shares[members].sum()) for members, most in limits]
        self._limits: list[list[int]] = [[] for _ in self._gain]
        for place, (members, _) in enumerate(limits):
            for job in members.tolist():
                self._limits[job].append(place)

    def run(self, worse: Ints, better: Ints, *, stops: Ints) -> None:
        """Put back what is ``worse`` off, the most for a GPU first, alone or with what is ``better`` off for it."""
        waiting = sorted(worse.tolist(), key=lambda job: (-self._gain[job] / self._size[job], job))
        others = sorted(better.tolist(), key=lambda job: (self._gain[job] / self._size[job], job))
        while True:
            left = [job for job in waiting if not self._put_back(job, others, alone=bool(stops[job]))]
            if len(left) == len(waiting):
                return
            waiting = left

    def _put_back(self, job: int, others: list[int], *, alone: bool) -> bool:
        """Give a job what it had, if there is room, or room is made by what is worth no more; else change nothing."""
        size = self._size[job]
        short = {place: size - self._spare[place] for place in self._limits[job] if size > self._spare[place]}
        taken: list[int] | None = []
        if short:
            taken = None if alone else self._room(short, others, self._gain[job])
        if taken is None:
            return False
        for other in taken:
            self._set(other, -self._size[other])
            others.remove(other)
        self._set(job, size)
        return True

    def _room(self, short: dict[int, int], others: Sequence[int], most: int) -> list[int] | None:
        """Return whom to put back so that limits are no longer ``short``, losing at most so much; ``None``: nobody.

        First those that lose the least for a GPU together, then one of the first few alone.
        """
        taken, lost, lack = list[int](), 0, dict(short)
        for other in others:
            if not any(lack.get(place, 0) > 0 for place in self._limits[other]):
                continue
            taken.append(other)
            lost += self._gain[other]
            if lost > most:
                break
            for place in self._limits[other]:
                lack[place] = lack.get(place, 0) - self._size[other]
            if max(lack.values()) <= 0:
                return taken
        for other in others[:FEW]:
            mine = self._limits[other]
            if self._gain[other] <= most and all(p in mine and self._size[other] >= n for p, n in short.items()):
                return [other]
        return None

    def _set(self, job: int, more: int) -> None:
        self._shares[job] = self._present[job]
        for place in self._limits[job]:
            self._spare[place] -= more
