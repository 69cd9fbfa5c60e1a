"""Which of the free GPUs a gang could use with its CPUs and its memory, and who holds what it lacks."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders

MOST_HOLDERS = 4
"""Jobs that are named as holding GPUs that another one lacks, at most."""


def lacking_amounts(round_: Round, left: Leftover, holders: Holders, job: int, free: Ints, room: Ints) -> list[str]:
    """Return how many of the ``free`` GPUs per node a job has CPUs and memory for, where these are in the way.

    ``room`` are the GPUs per node that it could use in all.
    """
    amounts, asks = round_.amounts, int(left.asks[job])
    words = []
    for name, need, unit, has, held in (
        ("CPUs", int(amounts.c[job]), MILLI_PER_CPU, left.cpus, holders.cpus),
        ("memory", int(amounts.m[job]), MIB_PER_GIB, left.memory, holders.memory),
    ):
        covered = np.minimum(free, has // need) if need else free
        lacking = np.flatnonzero(covered < free)
        if len(lacking) and (covered.sum() < asks or covered.sum() == room.sum()):
            suffix = " GiB" if name == "memory" else " CPUs"
            most = [f"{job!r} holds {amount / unit:g}{suffix}" for job, amount in holders.most(held, lacking)]
            at_most = f"{int(covered.sum())} with its {name}"
            words.append(at_most + (f" ({', '.join(most)})" if most else ""))
    return words


def holders_text(holders: Holders, nodes: Ints, lacks: int) -> str:
    """Return the jobs that hold most of the GPUs of these nodes, as many as hold what is lacking; few are named."""
    named, total = list[str](), 0
    for job, gpus in holders.most(holders.gpus, nodes, MOST_HOLDERS):
        named.append(f"{job!r} holds {gpus_text(gpus)}")
        total += gpus
        if total >= lacks:
            break
    return f" ({', '.join(named)})" if named else ""
