"""Which of the free GPUs a gang could use with its CPUs and its memory, and who holds what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints, unlike
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


class LackingAmounts:
    """For how many of the free GPUs of parts of the cluster jobs have CPUs and memory; equal needs are looked at once.

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

    def of_each(self, jobs: Sequence[int], rooms: Sequence[int], parts: Sequence[int]) -> list[list[str]]:
        """Return for how many of the GPUs of its part each job has CPUs and memory, where these are in the way.

        ``rooms`` are the GPUs that each could use in all. Where there is enough of either, but not on the same nodes,
        that is told.
        """
        found: list[list[str]] = [[] for _ in jobs]
        asks, room, part = self._left.asks[jobs], np.array(rooms, dtype=np.int64), np.array(parts, dtype=np.int64)
        for name, needs in self._needs.items():
            asking = np.flatnonzero(needs[jobs])
            if not len(asking):
                continue
            asked, of = unlike(np.column_stack([part, needs[jobs]])[asking])
            covered, lacks = self._covered(name, asked)
            gpus = covered[of]
            binds = lacks[of] & ((gpus < asks[asking]) | (gpus == room[asking]))
            told = np.unique(of[binds])
            words = dict(zip(told.tolist(), self._words(name, asked[told], covered[told]), strict=True))
            for at, one in zip(asking[binds].tolist(), of[binds].tolist(), strict=True):
                found[at].append(words[one])
        for at in np.flatnonzero(room < np.minimum(asks, (self._inside @ self._free)[part])).tolist():
            if not found[at]:
                found[at].append(f"{rooms[at]} with both its CPUs and its memory")
        return found

    def _covered(self, name: str, asked: Ints) -> tuple[Ints, Bools]:
        """Return for how many free GPUs there is enough of an amount, and whether these are not all of them.

        ``asked`` has parts of the cluster and what is needed with each GPU in its rows.
        """
        gpus, lacks = np.zeros(len(asked), dtype=np.int64), np.zeros(len(asked), dtype=np.bool_)
        for start in range(0, len(asked), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            each, there = self._on_each(name, asked[some])
            gpus[some] = (each * there).sum(axis=1)
            lacks[some] = (there & (each < self._free)).any(axis=1)
        return gpus, lacks

    def _on_each(self, name: str, asked: Ints) -> tuple[Ints, Bools]:
        """Return the same of each node, and which nodes are in the part."""
        part, need = asked.T
        return np.minimum(self._free, self._has[name][0] // need[:, np.newaxis]), self._inside[part]

    def _words(self, name: str, asked: Ints, gpus: Ints) -> Iterator[str]:
        """Yield that there is enough for so many GPUs, and who holds most of the amount on the nodes that lack it."""
        _, held, unit, suffix = self._has[name]
        for start in range(0, len(asked), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            each, there = self._on_each(name, asked[some])
            most = self._holders.most_of_each(held, self._nodes, there & (each < self._free))
            for count, groups in zip(gpus[some].tolist(), most, strict=True):
                named = ", ".join([f"{who} {amount / unit:g}{suffix}" for who, amount in groups])
                yield f"{count} with its {name}" + (f" ({named})" if named else "")


def holders_text(holders: Holders, nodes: Ints, lacks: int) -> str:
    """Return the jobs that hold most of the GPUs of these nodes, as many as hold what is lacking; few are named."""
    return named_holders(holders.most(holders.gpus, nodes, MOST_HOLDERS), lacks)


def named_holders(most: Sequence[tuple[str, int]], lacks: int) -> str:
    """Return as many of the groups as hold what is lacking, in words."""
    named, total = list[str](), 0
    for who, gpus in most:
        named.append(f"{who} {gpus_text(gpus)}")
        total += gpus
        if total >= lacks:
            break
    return f" ({', '.join(named)})" if named else ""
