"""Room by kinds of jobs, as bit sets: the same nodes as are found by looking at all of them."""

from functools import partial
from random import Random

import numpy as np
import pytest

from muri_opt.rounds.amounts import gpus_that_fit
from muri_opt.rounds.node_bits import EVERY_NODE, bits_of, rows_of_bits
from muri_opt.systems.capacity.free_capacity import entries
from muri_opt.systems.capacity.known_parts import KnownParts
from muri_opt.systems.capacity.node_fit import best_fit
from muri_opt.systems.capacity.room_sets import FEW_NODES, RoomSets


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("nodes", [3, FEW_NODES - 1, 2 * FEW_NODES])
def test_the_same_nodes_are_found_as_by_looking_at_all(nodes: int, many: bool) -> None:
    draw = Random(nodes)
    for _ in range(6):
        free = np.array([[draw.randint(0, 8), draw.randint(0, 40), draw.randint(0, 60)] for _ in range(nodes)]).T
        of = (31, 29) if many else (8, 9)  # nearly every job needs something else, or many need the same
        sets, kinds = (
            RoomSets(*free.tolist()),
            [tuple(map(partial(draw.randint, 0), of)) for _ in range(999 if many else 4)],
        )
        found = 0
        while found < 4 * nodes:
            kind, gpus = draw.choice(kinds), draw.choice([1, 1, 2, 3, 8, 16])
            room = free[0].copy()
            for has, need in zip(free[1:], kind, strict=True):
                room = np.minimum(room, has // need) if need else room
            share, parts = best_fit(room, gpus), sets.best_fit(kind, gpus)
            assert (share is None) == (parts is None)
            if share is None or parts is None:
                found += 1
                continue
            assert sorted(parts) == [(node, int(share[node])) for node in share.nonzero()[0].tolist()]
            assert sets.holds(kind, parts)
            sets.take(kind, parts)
            free -= share * np.array([[1], [kind[0]], [kind[1]]])
            assert sets.free == free.tolist()
            found += 1


def test_known_parts_say_what_shares_say() -> None:
    draw, known = Random(1), KnownParts()
    shares = [np.array([draw.choice([0, 0, 1, 4]) for _ in range(9)]) for _ in range(20)]
    shares += [known.share([(5, 2), (1, 3)], 9), known.share([], 9)]
    for told, plain in zip(known.entries(shares), entries(shares), strict=True):
        assert np.array_equal(told, plain)
    assert known.of(shares[-2]) == [(1, 3), (5, 2)]
    assert shares[-2].tolist() == [0, 3, 0, 0, 0, 2, 0, 0, 0]


def tightest_nodes(free, parts, among):
    """Return the nodes of parts by looking at all of them: the fewest free GPUs, then the first."""
    found = []
    for gpus, *others in parts:
        able = [
            (int(free[0][node]), node)
            for node in range(len(free[0]))
            if among >> node & 1 and node not in found and free[0][node] >= gpus
            if all(need <= has[node] for need, has in zip(others, free[1:], strict=True))
        ]
        if not able:
            return None
        found.append(min(able)[1])
    return found


@pytest.mark.parametrize("nodes", [3, 40, 2 * FEW_NODES])
def test_parts_of_plans_are_on_the_tightest_nodes_that_have_room(nodes: int) -> None:
    draw, placed = Random(nodes), 0
    for _ in range(6):
        free = np.array([[draw.randint(0, 8), draw.randint(0, 40), draw.randint(0, 60)] for _ in range(nodes)]).T
        sets = RoomSets(*free.tolist())
        for _ in range(2 * nodes):
            part = draw.choice([1, 1, 2, 4]), draw.randint(0, 20), draw.randint(0, 20)
            parts = [(part[0] + 1, *part[1:])] * draw.choice([0, 0, 1]) + [part] * draw.choice([1, 1, 2])
            among = draw.choice([-1, -1, draw.getrandbits(nodes)])
            expected = tightest_nodes(free, parts, among)
            given = None if expected is None else [(node, part[0]) for node, part in zip(expected, parts, strict=True)]
            assert sets.fit_parts(parts, among) == given
            if expected is not None:
                sets.take_parts(parts, expected)
                for node, needs in zip(expected, parts, strict=True):
                    free[:, node] -= needs
                placed += 1
    assert placed > 6


@pytest.mark.parametrize("many", [4, 400])
@pytest.mark.parametrize("nodes", [3, 40, 2 * FEW_NODES])
def test_the_first_region_that_holds_a_share_gives_it(nodes: int, many: int) -> None:
    draw, found = Random(nodes), 0
    for _ in range(3):
        free = np.array([[draw.randint(0, 8), draw.randint(0, 40), draw.randint(0, 60)] for _ in range(nodes)]).T
        sets, kinds = RoomSets(*free.tolist()), [(draw.randint(0, 8), draw.randint(0, 9)) for _ in range(many)]
        for turn in range(max(nodes, 20)):
            kind, gpus = draw.choice(kinds), draw.choice([1, 1, 2, 3, 8, 16])
            regions = [draw.choice([EVERY_NODE, draw.getrandbits(nodes)]) for _ in range(draw.randint(0, 3))]
            room = np.maximum(gpus_that_fit(kind, *free), 0)
            assert [sets.room(kind, one) for one in regions] == [
                int(room @ rows_of_bits([one], nodes)[0]) for one in regions
            ]
            if turn % 16 == 0:
                assert sets.with_room(kinds) == [bits_of(gpus_that_fit(one, *free) > 0) for one in kinds]
            shares = [best_fit(np.where(rows_of_bits([one], nodes)[0], room, 0), gpus) for one in regions]
            expected = next((share for share in shares if share is not None), None)
            parts = sets.best_fit(kind, gpus, regions)
            assert (expected is None) == (parts is None)
            if expected is not None and parts is not None:
                assert sorted(parts) == [(node, int(expected[node])) for node in expected.nonzero()[0].tolist()]
                sets.take(kind, parts)
                free -= expected * np.array([[1], [kind[0]], [kind[1]]])
                found += 1
    assert found > 3
