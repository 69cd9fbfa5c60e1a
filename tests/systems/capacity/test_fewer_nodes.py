"""Shares that do not stay where they are: on as few nodes as trying all places gives, and never on more."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from elastic_draws import elastic, round_with

from muri_opt import policy_from
from muri_opt.systems.capacity.fewer_nodes import on_fewer_nodes
from muri_opt.systems.capacity.room_sets import RoomSets


def fits_whole(rooms: list[tuple[int, int, int]], shares: list[tuple[int, int, int]]) -> bool:
    """Return whether every share can have a node of its own or with others, by trying all."""
    for nodes in product(range(len(rooms)), repeat=len(shares)):
        used = [[0, 0, 0] for _ in rooms]
        for node, (gpus, cpus, memory) in zip(nodes, shares, strict=True):
            for kind, amount in enumerate((gpus, gpus * cpus, gpus * memory)):
                used[node][kind] += amount
        if all(a <= b for use, room in zip(used, rooms, strict=True) for a, b in zip(use, room, strict=True)):
            return True
    return False


def test_no_share_is_on_two_nodes_where_all_could_be_on_one() -> None:
    draw, fewer = Random(3), 0
    for _ in range(400):
        rooms = [(draw.randint(4, 8), draw.randint(6, 20), draw.randint(6, 20)) for _ in range(draw.randint(2, 3))]
        kinds = [(draw.randint(1, 2), draw.randint(0, 2)) for _ in range(2)]
        sizes = sorted((draw.randint(1, 4) for _ in range(draw.randint(3, 6))), reverse=True)
        shares = [(size, *draw.choice(kinds)) for size in sizes]
        sets, known = RoomSets(*zip(*rooms, strict=True)), []
        for gpus, *kind in shares:
            parts = sets.best_fit((kind[0], kind[1]), gpus)
            if parts is not None:
                sets.take((kind[0], kind[1]), parts)
            known.append(parts)
        if None in known:
            continue
        found = on_fewer_nodes(rooms, shares, known)
        assert [sum(gpus for _, gpus in parts) for parts in found] == [gpus for gpus, _, _ in shares]
        before, after = (sum(map(len, some)) for some in (known, found))
        fewer += after < before
        assert after == (len(shares) if fits_whole(rooms, shares) else before)
        for node, room in enumerate(rooms):
            here = [
                (gpus, share) for share, parts in zip(shares, found, strict=True) for at, gpus in parts if at == node
            ]
            assert sum(gpus for gpus, _ in here) <= room[0]
            assert sum(gpus * share[1] for gpus, share in here) <= room[1]
            assert sum(gpus * share[2] for gpus, share in here) <= room[2]
    assert fewer >= 3


@pytest.mark.parametrize("policy", ["afs-l", "max-min-elastic", "optimus"])
def test_jobs_start_on_one_node_each_where_they_can(policy: str) -> None:
    sizes = [3, 3, 2, 2]
    jobs = [elastic(j, tuple(float(k) for k in range(1, size + 1))) for j, size in enumerate(sizes)]
    found = policy_from(policy).decide(round_with([6, 4], jobs), 0)
    assert [dict(one.gpus) for one in found.assignments] == [{"n0": 3}, {"n0": 3}, {"n1": 2}, {"n1": 2}]
