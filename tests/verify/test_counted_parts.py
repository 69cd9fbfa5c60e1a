"""Counting the nodes of parts of a cluster once is the same as looking at all nodes for every job."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from asked_rounds import GROUPS, asked_round
from handmade import gang, round_of
from msgspec.structs import replace

from muri_opt import Node, NodeRange
from muri_opt.verify.amounts import Room, empty_rooms, need_of
from muri_opt.verify.counted_parts import CountedParts
from muri_opt.verify.demands import asked_job, asked_of


def some_room(draw: Random) -> Room:
    return Room(draw.randint(0, 4), draw.choice([None, 2_000, 4_000]), draw.choice([None, 1_024]))


@pytest.mark.parametrize("group", GROUPS)
def test_a_job_could_start_on_as_few_nodes_as_by_looking_at_all(group: str) -> None:
    draw, found = Random(group), 0
    for seed in range(60):
        round_ = asked_round(seed, group, most_jobs=6)
        every = asked_of(round_)
        if every is None:
            continue
        rooms = [some_room(draw) if draw.random() < 0.4 else room for room in empty_rooms(round_)]
        counted = CountedParts(rooms)
        for job in round_.jobs:
            asked, need = every[job.id], need_of(job)
            assert counted.node_count(asked, need) == asked.node_count(rooms, need)
            assert counted.can_start(asked, need) == (asked.node_count(rooms, need) is not None)
            assert counted.gpus(asked.parts) == sum(rooms[node].gpus for part in asked.parts for node in part)
            changed = {node: some_room(draw) for node in range(len(rooms)) if draw.random() < 0.4}
            added = [some_room(draw) for _ in range(draw.choice([0, 0, 1, 2]))]
            then = [changed.get(node, room) for node, room in enumerate(rooms)]
            expected = asked.node_count(then, need, added)
            assert counted.node_count_with(asked, need, changed, added) == expected
            found += expected is not None
        assert [counted.node_count(every[job.id], need_of(job)) for job in round_.jobs] == [
            every[job.id].node_count(rooms, need_of(job)) for job in round_.jobs
        ]  # nothing was changed by asking
    assert group == "priority" or found > 30


def test_a_job_could_start_where_very_many_rooms_are_different() -> None:
    """In these rounds any nodes will do, or a job alone asks for a shape; each of ninety nodes has its own amounts."""
    draw, found = Random(5), Counter[bool]()
    nodes = [Node(id=f"n{s}", gpus=4, cpus=2.0 + s, memory_gib=1.0 + s % 7, gpu_type="ab"[s % 2]) for s in range(90)]
    for seed in range(30):
        amounts = {"cpus": draw.uniform(1, 4_000), "memory_gib": draw.uniform(1, 200)}
        shape = NodeRange(least=2, most=draw.randint(2, 60)) if seed % 3 == 0 else None
        job = gang(0, draw.choice([2, 8, 40, 100]), gpu_types=("b",), nodes=shape, **amounts)
        round_ = round_of(nodes, [job])
        asked, need = asked_job(round_, round_.jobs[0]), need_of(round_.jobs[0])
        able = asked.node_count(empty_rooms(round_), need) is not None
        assert CountedParts(empty_rooms(round_)).can_start(asked, need) == able
        found[able] += 1
    assert min(found.values()) > 3


def test_who_asks_for_the_same_has_the_same_parts() -> None:
    """Parts are known by their identity: those of a job that is asked for by itself are none of their own."""
    for seed in range(30):
        round_ = asked_round(seed, "types", most_jobs=6)
        every = asked_of(round_)
        for job in round_.jobs if every is not None else ():
            mine = asked_job(round_, replace(job, not_before=None, state="waiting", placement=None))
            assert mine.parts is every[job.id].parts
