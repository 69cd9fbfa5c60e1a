"""How many nodes hold how many GPUs of a gang, told at once where nodes differ, as by a look at each of them."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from muri_opt.verify.amounts import CountedRooms, Need, Room, smallest_node_count


def drawn_room(draw: Random) -> Room:
    """Return a room, which may be full, or more than full, and limits CPUs and memory or does not."""
    milli, mebibytes = draw.choice((None, draw.randint(-9, 90))), draw.choice((None, draw.randint(-9, 70)))
    return Room(gpus=draw.randint(-1, 9), milli=milli, mebibytes=mebibytes)


@pytest.mark.parametrize("nodes", [1, 60, 400])
def test_nodes_are_counted_as_by_a_look_at_each(nodes: int) -> None:
    draw = Random(nodes)
    for _ in range(20):
        rooms = [drawn_room(draw) for _ in range(nodes)]
        counted = CountedRooms(rooms)
        for _ in range(20):
            need = Need(gpus=draw.randint(1, 3 * nodes), milli=draw.randint(0, 12), mebibytes=draw.randint(0, 9))
            most = (room.holds(need._replace(gpus=10)) for room in rooms if room.gpus > 0)
            assert counted.holding(need) == Counter(one for one in most if one)
            assert counted.fewest(need) == smallest_node_count(Counter(room for room in rooms if room.gpus > 0), need)
