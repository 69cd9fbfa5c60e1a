"""Running groups whose CPUs and memory their nodes have, and the GPUs that they leave others with enough of those."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints, gpus_that_fit
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.sharing_now import Held
from muri_opt.systems.capacity.free_capacity import occupy_entries
from muri_opt.systems.capacity.room_sets import RoomSets
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.nodes.state import State


def within_room(state: State, kept: Mapping[Group, Held]) -> dict[Group, Held]:
    """Return the running groups that may go on together; one that takes more than a node has left has to stop.

    A round refuses only what surely is too much. What is counted for each GPU is rounded up: ten CPUs on three GPUs
    count as 3.334 with each, which a node of ten does not have.
    """
    amounts = state.case.round_.amounts
    if amounts.C.min(initial=UNLIMITED) == amounts.M.min(initial=UNLIMITED) == UNLIMITED:
        return dict(kept)
    rooms = RoomSets(amounts.G.tolist(), amounts.C.tolist(), amounts.M.tolist())
    needs = list(zip(amounts.c.tolist(), amounts.m.tolist(), strict=True))
    homes = ((group, held, state.at_home(group, held)) for group, held in kept.items())
    return {group: held for group, held, home in homes if home is None or _takes(rooms, state, needs, group, home)}


def usable_gpus(round_: Round, kept: Mapping[Group, Held], jobs: Ints) -> int:
    """Return how many GPUs some of the jobs could have at most beside groups that are kept.

    On each node those count for which there would be CPUs and memory if all needed as little as any of them.
    """
    amounts, index = round_.amounts, round_.cluster.node_index
    free = FreeCapacity(amounts)
    parts = [(at, index[node], count) for at, held in enumerate(kept.values()) for node, count in held]
    of, nodes, taken = np.array(parts, dtype=np.int64).reshape(-1, 3).T
    occupy_entries(free, [*kept], (of, nodes, taken))
    least = int(amounts.c[jobs].min(initial=UNLIMITED)), int(amounts.m[jobs].min(initial=UNLIMITED))
    return int(np.maximum(gpus_that_fit(least, free.gpus, free.cpus, free.memory), 0).sum())


def _takes(rooms: RoomSets, state: State, needs: list[tuple[int, int]], group: Group, home: Place) -> bool:
    """Let a group have its place, if there is room, and say whether."""
    if home.way is not None:
        parts = state.case.models.plans_of(group[0]).shape(home.way).parts
        nodes = home.largest_first
        if not rooms.holds_parts(parts, nodes):
            return False
        rooms.take_parts(parts, nodes)
        return True
    kind = sum([needs[job][0] for job in group]), sum([needs[job][1] for job in group])
    if not rooms.holds(kind, home.parts):
        return False
    rooms.take(kind, home.parts)
    return True
