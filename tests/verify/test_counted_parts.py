"""Counting the nodes of parts of a cluster once is the same as looking at all nodes for every job."""

from __future__ import annotations

from random import Random

import pytest
from asked_rounds import GROUPS, asked_round
from msgspec.structs import replace

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
            assert counted.gpus(asked) == sum(rooms[node].gpus for part in asked.parts for node in part)
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


def test_who_asks_for_the_same_has_the_same_parts() -> None:
    """Parts are known by their identity: those of a job that is asked for by itself are none of their own."""
    for seed in range(30):
        round_ = asked_round(seed, "types", most_jobs=6)
        every = asked_of(round_)
        for job in round_.jobs if every is not None else ():
            mine = asked_job(round_, replace(job, not_before=None, state="waiting", placement=None))
            assert mine.parts is every[job.id].parts
