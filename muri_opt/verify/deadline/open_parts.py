"""How many GPUs of a job the empty cluster holds where the job may start."""

from __future__ import annotations

from collections.abc import Mapping

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import CountedRooms, Room, empty_rooms, need_of
from muri_opt.verify.counted_parts import empty_parts
from muri_opt.verify.demands import asked_of

Part = tuple[int, ...] | None
"""Nodes by their positions, ``None`` for all."""


def open_parts(round_: Round, job: Job) -> list[tuple[Part, int]]:
    """Return the parts of the empty cluster that a job may choose from, with how many of its GPUs fit into each."""
    asked, need = asked_of(round_), need_of(job)
    if asked is None:
        return [(None, _most(empty_nodes(round_)[1].holding(need)))]
    mine = asked[job.id]
    return [*zip(mine.parts, map(_most, empty_parts(round_).holding(mine, need)), strict=True)]


def most_gpus_of_each(round_: Round) -> list[int]:
    """Return for each job how many of its GPUs fit into one of its parts, the largest of them."""
    asked, known = asked_of(round_), dict[tuple[int, int, int], int]()
    found = []
    for job in round_.jobs:
        need = need_of(job)
        key = 0 if asked is None else id(asked[job.id].parts), need.milli, need.mebibytes
        if key not in known:
            known[key] = max([most for _, most in open_parts(round_, job)], default=0)
        found.append(known[key])
    return found


@recalled
def empty_nodes(round_: Round) -> tuple[list[Room], CountedRooms]:
    """Return what the nodes of the empty cluster have, one by one and counted."""
    rooms = empty_rooms(round_)
    return rooms, CountedRooms(rooms)


def _most(holding: Mapping[int, int]) -> int:
    """Return how many GPUs fit on all nodes, which are counted by how many each holds."""
    return sum(most * nodes for most, nodes in holding.items())
