"""Where jobs may start, and on how few nodes, told for nodes that are alike: against a look at each node."""

from __future__ import annotations

import random

from muri_opt import Cluster, Job, Node, Round
from muri_opt.rounds.shape import NodeRange, Within
from muri_opt.verify.amounts import Need, Room
from muri_opt.verify.demands import Asked, asked_job, starts_of

WORDS = ("ssd", "fast", "zone-a", "zone-b")


def drawn_round(seed: int) -> Round:
    drawn = random.Random(seed)
    nodes = tuple(
        Node(
            id=f"n{at}",
            gpus=8,
            gpu_type=drawn.choice(("a", "b", None)),
            labels=(f"host-{at}", *drawn.sample(WORDS, 2)),
            state=drawn.choice(("up", "up", "up", "drain", "down")),
            rack=drawn.choice(("r0", "r1", None)),
            available_until=drawn.choice((None, None, 50.0)),
        )
        for at in range(12)
    )
    jobs = tuple(
        Job(
            id=f"j{at}",
            gpus=2,
            gpu_types=drawn.choice((None, ("a",), ("a", "b"))),
            requires=tuple(drawn.sample((*WORDS[:2], "host-3"), drawn.randint(0, 1))),
            excludes=tuple(drawn.sample((*WORDS[2:], "host-4"), drawn.randint(0, 1))),
            within=drawn.choice((None, Within(level="rack", required=True))),
            time_limit_seconds=drawn.choice((None, 10.0, 100.0)),
        )
        for at in range(12)
    )
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs)


def plain_parts(round_: Round, job: Job) -> list[tuple[int, ...]]:
    """Return where a job may start, by the words of the format."""
    parts: dict[object, list[int]] = {}
    for place, node in enumerate(round_.cluster.nodes):
        rack = None if job.within is None else node.rack
        able = (
            node.state == "up"
            and (job.gpu_types is None or node.gpu_type in job.gpu_types)
            and all(label in node.labels for label in job.requires)
            and not any(label in node.labels for label in job.excludes)
            and (job.within is None or rack is not None)
            and (node.available_until is None or (job.time_limit_seconds or 1e-6) <= node.available_until)
        )
        if able:
            parts.setdefault((node.gpu_type, rack), []).append(place)
    return [tuple(places) for places in parts.values()]


def test_parts_of_the_cluster():
    seen = 0
    for seed in range(60):
        round_ = drawn_round(seed)
        every = starts_of(round_)
        for job in round_.jobs:
            expected = plain_parts(round_, job)
            assert [*every[job.id].parts] == expected == [*asked_job(round_, job).parts]
            seen += len(expected) > 1
    assert seen > 50


def plain_count(asked: Asked, rooms: list[Room], need: Need) -> int | None:
    """Return the fewest nodes of one part, by trying each number of nodes on those that hold most."""
    found = []
    for part in asked.parts or ((),):
        holds = sorted((rooms[node].holds(need) for node in part), reverse=True)
        for number in range(max(1, asked.fewest), min(asked.most, need.gpus, len(holds)) + 1):
            each, rest = divmod(need.gpus, number)
            even = rest == 0 and holds[number - 1] >= each
            if (even if asked.even else sum(holds[:number]) >= need.gpus) and holds[number - 1] > 0:
                found.append(number)
                break
    return min(found, default=None)


def test_fewest_nodes():
    seen = set()
    for seed in range(400):
        drawn = random.Random(seed)
        rooms = [
            Room(drawn.choice((0, 1, 2, 4, 8)), drawn.choice((None, drawn.randint(0, 40))), None) for _ in range(7)
        ]
        parts = drawn.choice((((0, 1, 2, 3, 4, 5, 6),), ((0, 1, 2), (3, 4, 5, 6)), ((0, 1), (2, 3)), ()))
        fewest = drawn.randint(1, 3)
        shape = {"fewest": fewest, "most": drawn.randint(fewest, 6), "even": drawn.random() < 0.4}
        asked = Asked(parts=parts, home=None, must=False, **shape)
        need = Need(drawn.randint(0, 12), drawn.choice((0, 3)), 0)
        expected = plain_count(asked, rooms, need)
        assert asked.node_count(rooms, need) == expected
        seen.add((expected, asked.even))
    assert len(seen) > 8


def test_most_gpus_inside_a_part():
    """Any number of GPUs from the fewest nodes on: up to the most of which each could be somewhere."""
    seen = set()
    for seed in range(400):
        drawn = random.Random(seed)
        holding = {gpus: drawn.randint(1, 3) for gpus in drawn.sample(range(1, 9), drawn.randint(0, 3))}
        fewest = drawn.randint(1, 4)
        most = drawn.randint(fewest, 6)
        asked = Asked(parts=((),), fewest=fewest, most=most, even=False, home=None, must=False)
        could = [gpus for gpus in range(1, 80) if asked.nodes_among(holding, gpus) is not None]
        assert could == [*range(fewest, asked.most_among(holding) + 1)]
        seen.add(bool(could))
    assert seen == {True, False}


def test_nodes_that_are_added_count_too():
    asked = Asked(parts=((0,),), fewest=1, most=4, even=False, home=None, must=False)
    rooms = [Room(2, None, None)]
    assert asked.node_count(rooms, Need(4, 0, 0)) is None
    assert asked.node_count(rooms, Need(4, 0, 0), [Room(2, None, None)]) == 2
    nowhere = Asked(parts=(), fewest=1, most=4, even=False, home=None, must=False)
    assert nowhere.node_count(rooms, Need(2, 0, 0), [Room(2, None, None)]) == 1


def test_shapes_come_from_the_round():
    round_ = Round(
        cluster=Cluster(nodes=(Node(id="n", gpus=4),)),
        jobs=(Job(id="j", gpus=4, nodes=NodeRange(least=2, most=3), even=True),),
    )
    asked = starts_of(round_)["j"]
    assert (asked.fewest, asked.most, asked.even, asked.counts(4)) == (2, 3, True, [2])
