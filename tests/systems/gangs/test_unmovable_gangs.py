"""A running gang that may not be moved is stopped only where those before it leave it no room at home."""

from __future__ import annotations

import pytest
from asked_brute_force import asked_decisions
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt import Cluster, Job, Node, NodeRange, Round, policy_from, solve_round
from muri_opt.rounds import after
from muri_opt.systems.orders.priority import priority_order
from muri_opt.testing.strategies_demands import seeded_demanding_rounds

POLICIES = ["srtf", "srsf", "las", "max-min", "fair-share", "tiresias", "fifo:objective=weighted,preempt=yes"]
ONE_NODE = NodeRange(least=1, most=1)


def gang(name: str, gpus: int, attained: float, node: str | None = None, **fields: object) -> Job:
    """Return a gang that runs on one node, or waits; those of less service come first in all orders."""
    now = {"state": "running", "placement": {node: gpus}, "restart_seconds": 60.0} if node else {}
    return Job(
        id=name,
        gpus=gpus,
        submitted=attained,
        remaining_iterations=int(attained) + 1,
        iteration_seconds=1.0,
        attained_gpu_seconds=attained,
        **now,
        **fields,
    )


def round_of(nodes: dict[str, int], *jobs: Job) -> Round:
    cluster = Cluster(nodes=tuple(Node(id=name, gpus=gpus) for name, gpus in nodes.items()))
    return Round(format="muri-opt/round/2", cluster=cluster, jobs=jobs)


def small_rounds(seeds: range) -> list[Round]:
    """Return rounds of few jobs, of which some may not be moved, without memory."""
    drawn = seeded_demanding_rounds(len(seeds), seeds.start, frozenset({"job.movable"}))
    small = [round_ for round_ in drawn if len(round_.jobs) < 6 and len(round_.cluster.nodes) < 4]
    return [
        replace(
            round_,
            cluster=replace(
                round_.cluster, nodes=tuple(replace(node, memory_gib=None) for node in round_.cluster.nodes)
            ),
            jobs=tuple(replace(job, memory_gib=None) for job in round_.jobs),
        )
        for round_ in small
    ]


def places(round_: Round, spec: str) -> dict[str, dict[str, int]]:
    decision = policy_from(spec).decide(round_, 0)
    return {job: dict(one.gpus) for one in decision.assignments for job in one.jobs}


@pytest.mark.parametrize("spec", POLICIES)
def test_one_that_comes_first_starts_on_the_idle_node(spec: str) -> None:
    round_ = round_of({"a": 1, "b": 1}, gang("y", 1, 3.0, "a", movable=False), gang("z", 1, 0.0))
    assert places(round_, spec) == {"y": {"a": 1}, "z": {"b": 1}}
    assert solve_round(round_, spec, "heuristic").value == 3


def test_a_gang_of_another_queue_starts_beside_a_full_node() -> None:
    """The gang in the way has attained most service; the other node is empty."""
    small = (gang(f"s{place}", 1, 10.0 + place, "n2") for place in range(3))
    stays = gang("j19", 2, 9000.0, "n2", movable=False)
    round_ = round_of({"n2": 8, "n3": 4}, gang("j16", 2, 5.0, "n2"), stays, *small, gang("j26", 2, 1.0))
    found = places(round_, "tiresias")
    assert found["j19"] == {"n2": 2}
    assert found["j26"] == {"n3": 2}
    assert len(found) == 6


@pytest.mark.parametrize("spec", POLICIES)
def test_it_is_stopped_for_one_that_fits_only_on_its_node(spec: str) -> None:
    """It may then start elsewhere when the round is decided again: it waits, and one that waits may be anywhere."""
    round_ = round_of({"a": 2, "b": 1}, gang("y", 1, 9000.0, "a", movable=False), gang("z", 2, 0.0, nodes=ONE_NODE))
    assert places(round_, spec) == {"z": {"a": 2}}
    again = after(round_, policy_from(spec).decide(round_, 0))
    assert places(again, spec) == {"z": {"a": 2}, "y": {"b": 1}}


@pytest.mark.parametrize("order", ["las", "max-min"])
@some_then_all(200, 1500)
def test_no_places_of_those_before_it_leave_it_its_home(seeds: range, order: str) -> None:
    kept = stopped = 0
    for round_ in small_rounds(seeds):
        decision = policy_from(order).decide(round_, 0)
        line = priority_order(round_, order)
        for place, job in enumerate(round_.jobs):
            if not job.stays_put:
                continue
            if job.id in decision.running:
                kept += 1
                continue
            stopped += 1
            before = {round_.jobs[other].id for other in line[: line.index(place)]} & decision.running
            together = tuple(other for other in round_.jobs if other.id in before or other is job)
            allowed = asked_decisions(
                replace(round_, jobs=together), order, lexicographic=False, fewest=False, preempt=True
            )
            assert not any(len(runs) == len(together) for _, runs in allowed), (round_, job.id)
    assert kept
    assert stopped
