"""Why a running job that has to go on cannot: others hold its GPUs, or its nodes lack CPUs or memory for it."""

from __future__ import annotations

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU

_PARTS = "counted in equal parts for each GPU, rounded up"


def no_room_for(round_: Round, job: int, held: Ints, left: FreeCapacity, policy: str) -> InputError:
    """Return the error of a job that nobody may stop and for which there is no room where it is."""
    where = f"jobs[{job}] ({round_.jobs[job].id!r}).preemptible"
    if (held > left.gpus).any():
        found = "false, for a job that shares its GPUs with another that may not be stopped"
        return InputError(where, found, f"a job that may be stopped: under the policy {policy!r} no jobs share GPUs")
    found = f"false, for a job whose CPUs or memory, {_PARTS}, are more than its nodes have left"
    return InputError(where, found, "a job that may be stopped, or that asks for so much less")


def check_left(round_: Round, left: FreeCapacity) -> None:
    """Refuse what has to go on where that takes more CPUs or memory than a node has."""
    for has, unit, parts in ((left.cpus, "CPUs", MILLI_PER_CPU), (left.memory, "GiB", MIB_PER_GIB)):
        for place in np.flatnonzero(has < 0).tolist():
            found = f"{-has[place] / parts:g} {unit} too few for the running jobs that have to go on, {_PARTS}"
            allowed = "enough of them, or jobs that may be stopped or ask for so much less"
            raise InputError(f"cluster.nodes[{place}] ({round_.cluster.nodes[place].id!r})", found, allowed)
