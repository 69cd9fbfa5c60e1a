"""Which of the free GPUs a gang could use with its CPUs and its memory, and who holds what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders

MOST_HOLDERS = 4
"""Jobs that are named as holding GPUs that another one lacks, at most."""


class _Covered(NamedTuple):
    """The free GPUs for which there is enough of one amount, and in words that these are not all; else nothing."""

    gpus: int
    words: str


class LackingAmounts:
    """How many of the ``free`` GPUs per node jobs have CPUs and memory for; equal needs are looked at once."""

    def __init__(self, round_: Round, left: Leftover, holders: Holders, free: Ints) -> None:
        self._amounts, self._left, self._holders = round_.amounts, left, holders
        self._nodes = np.flatnonzero(free)  # few, in a cluster that is full
        self._free, self._cpus, self._memory = free[self._nodes], left.cpus[self._nodes], left.memory[self._nodes]
        self._known: dict[tuple[str, int], _Covered] = {}

    def of(self, job: int, room: int) -> list[str]:
        """Return for how many of the GPUs a job has CPUs and memory, where these are in the way.

        ``room`` are the GPUs that it could use in all.
        """
        amounts, asks = self._amounts, int(self._left.asks[job])
        needs = ("CPUs", amounts.c.item(job)), ("memory", amounts.m.item(job))
        found = (self._covered(name, need) for name, need in needs if need)
        return [one.words for one in found if one.words and (one.gpus < asks or one.gpus == room)]

    def _covered(self, name: str, need: int) -> _Covered:
        known = self._known.get((name, need))
        if known is None:
            known = self._known[name, need] = self._look(name, need)
        return known

    def _look(self, name: str, need: int) -> _Covered:
        holders, free = self._holders, self._free
        unit, has, held, suffix = MILLI_PER_CPU, self._cpus, holders.cpus, " CPUs"
        if name == "memory":
            unit, has, held, suffix = MIB_PER_GIB, self._memory, holders.memory, " GiB"
        covered = np.minimum(free, has // need)
        lacking, gpus = self._nodes[covered < free], int(covered.sum())
        if not len(lacking):
            return _Covered(gpus, "")
        most = [f"{job!r} holds {amount / unit:g}{suffix}" for job, amount in holders.most(held, lacking)]
        return _Covered(gpus, f"{gpus} with its {name}" + (f" ({', '.join(most)})" if most else ""))


def holders_text(holders: Holders, nodes: Ints, lacks: int) -> str:
    """Return the jobs that hold most of the GPUs of these nodes, as many as hold what is lacking; few are named."""
    return named_holders(most_holders(holders, nodes), lacks)


def most_holders(holders: Holders, nodes: Ints) -> list[tuple[str, int]]:
    """Return the jobs that are named as holding GPUs of these nodes, with so many, largest first."""
    return holders.most(holders.gpus, nodes, MOST_HOLDERS)


def named_holders(most: Sequence[tuple[str, int]], lacks: int) -> str:
    """Return as many of the jobs as hold what is lacking, in words."""
    named, total = list[str](), 0
    for job, gpus in most:
        named.append(f"{job!r} holds {gpus_text(gpus)}")
        total += gpus
        if total >= lacks:
            break
    return f" ({', '.join(named)})" if named else ""
