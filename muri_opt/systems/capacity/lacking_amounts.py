"""Which of the free GPUs a gang could use with its CPUs and its memory, and who holds what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.eligibility import Bools
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders

MOST_HOLDERS = 4
"""Jobs that are named as holding GPUs that another one lacks, at most."""
_CPUS: Final = "CPUs"
_MEMORY: Final = "memory"
_AT_ONCE = 256
"""Parts and needs that are looked at together."""
_Asked = tuple[int, int]
"""A part of the cluster, and what is needed of an amount with each GPU."""


class _Covered(NamedTuple):
    """The free GPUs for which there is enough of one amount, and in words that these are not all; else nothing."""

    gpus: int
    words: str


class LackingAmounts:
    """How many of the free GPUs of parts of the cluster jobs have CPUs and memory for; equal needs are looked at once.

    ``inside[p, s]`` says whether node s is in part p.
    """

    def __init__(self, round_: Round, left: Leftover, holders: Holders, inside: Bools) -> None:
        self._left, self._holders = left, holders
        self._needs = {_CPUS: round_.amounts.c, _MEMORY: round_.amounts.m}
        self._nodes = np.flatnonzero(left.gpus)  # few, in a cluster that is full
        self._inside, self._free = inside[:, self._nodes], left.gpus[self._nodes]
        self._has = {
            _CPUS: (left.cpus[self._nodes], holders.cpus, MILLI_PER_CPU, " CPUs"),
            _MEMORY: (left.memory[self._nodes], holders.memory, MIB_PER_GIB, " GiB"),
        }
        self._known: dict[str, dict[_Asked, _Covered]] = {_CPUS: {}, _MEMORY: {}}

    def look_at(self, jobs: Sequence[int], parts: Sequence[int]) -> None:
        """Look at once at what many jobs lack, each in a part: what :meth:`of` says of them is then known."""
        for name, needs in self._needs.items():
            asked = dict.fromkeys(zip(parts, needs[jobs].tolist(), strict=True))
            new = [one for one in asked if one[1] and one not in self._known[name]]
            for start in range(0, len(new), _AT_ONCE):
                some = new[start : start + _AT_ONCE]
                self._known[name].update(zip(some, self._look(name, some), strict=True))

    def of(self, job: int, room: int, part: int = 0) -> list[str]:
        """Return for how many of the GPUs of a part a job has CPUs and memory, where these are in the way.

        ``room`` are the GPUs that it could use in all.
        """
        asks, found = self._left.asks.item(job), list[str]()
        for name, needs in self._needs.items():
            need = needs.item(job)
            if need:
                if (part, need) not in self._known[name]:
                    self.look_at([job], [part])
                one = self._known[name][part, need]
                if one.words and (one.gpus < asks or one.gpus == room):
                    found.append(one.words)
        return found

    def _look(self, name: str, asked: Sequence[_Asked]) -> list[_Covered]:
        has, held, unit, suffix = self._has[name]
        part, need = np.array(asked, dtype=np.int64).T
        kinds, kind = np.unique(need, return_inverse=True)
        covered = np.minimum(self._free, has // kinds[:, None])
        there = self._inside[part]
        lacks = there & (covered < self._free)[kind]
        gpus: list[int] = (covered[kind] * there).sum(axis=1).tolist()
        found = [_Covered(each, "") for each in gpus]
        rows = np.flatnonzero(lacks.any(axis=1))
        most = self._holders.most_of_each(held, self._nodes, lacks[rows])
        for row, jobs in zip(rows.tolist(), most, strict=True):
            named = ", ".join([f"{job!r} holds {amount / unit:g}{suffix}" for job, amount in jobs])
            found[row] = _Covered(gpus[row], f"{gpus[row]} with its {name}" + (f" ({named})" if named else ""))
        return found


def holders_text(holders: Holders, nodes: Ints, lacks: int) -> str:
    """Return the jobs that hold most of the GPUs of these nodes, as many as hold what is lacking; few are named."""
    return named_holders(holders.most(holders.gpus, nodes, MOST_HOLDERS), lacks)


def named_holders(most: Sequence[tuple[str, int]], lacks: int) -> str:
    """Return as many of the jobs as hold what is lacking, in words."""
    named, total = list[str](), 0
    for job, gpus in most:
        named.append(f"{job!r} holds {gpus_text(gpus)}")
        total += gpus
        if total >= lacks:
            break
    return f" ({', '.join(named)})" if named else ""
