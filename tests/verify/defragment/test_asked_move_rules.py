"""The verifier's rules of where moved jobs and the waiting one may be: each has a name, and breaking it is told."""

from __future__ import annotations

from dataclasses import replace as with_fields

import pytest
from fragmented_rounds import running
from msgspec.structs import replace

from muri_opt import Cluster, InputError, Job, Node, RefusalError, Round
from muri_opt.rounds import Within
from muri_opt.solve.defragmentation import defragment
from muri_opt.systems.defragment import Cost, Defragmentation, Move
from muri_opt.verify.defragment.check import check_defragmentation

GUEST = Job(id="w0", gpus=4)


def cluster(**said: object) -> Cluster:
    """Return three nodes of 4 GPUs, of which the last has more said of it."""
    nodes = [Node(id=f"n{s}", gpus=4, gpu_type="a", rack="r0") for s in range(3)]
    return Cluster(levels=("rack",), nodes=(*nodes[:2], replace(nodes[2], **said)))


def one(here: Cluster, guest: Job = GUEST, **said: object) -> Round:
    """Return a round in which a job of 2 GPUs runs on n0 and, to keep the second node in use, another on n1."""
    jobs = (running(0, {"n0": 2}, **said), running(1, {"n1": 3}, restart_seconds=None), guest)
    return Round(format="muri-opt/round/2", cluster=here, jobs=jobs)


def moved(target: dict[str, int], **changes: object) -> Defragmentation:
    """Return the answer in which the job goes elsewhere and the waiting one to its node."""
    move = Move(job="r0", source={"n0": 2}, target=target)
    found = defragment(one(cluster()), job="w0")
    answer = with_fields(
        found, moves=(move,), placement={"n0": 4}, cost=Cost(gpus=2, jobs=1), bound=None, proof=None, certificate=None
    )
    return with_fields(answer, **changes)


MOVES = {
    "gpu-type/asked": (one(cluster(gpu_type="b"), gpu_types=("a",)), {"n2": 2}),
    "labels/lacking": (one(cluster(labels=("x",)), requires=("y",)), {"n2": 2}),
    "labels/excluded": (one(cluster(labels=("x",)), excludes=("x",)), {"n2": 2}),
    "within": (one(cluster(rack=None), within=Within(level="rack")), {"n2": 2}),
    "node-state/drain": (one(cluster(state="drain")), {"n2": 2}),
    "node-state/down": (one(cluster(state="down")), {"n2": 2}),
    "available-until": (one(cluster(available_until=5.0), time_limit_seconds=6.0), {"n2": 2}),
    "movable": (one(cluster(), movable=False), {"n2": 2}),
    "movable/not preemptible": (one(cluster(), preemptible=False), {"n2": 2}),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_move_that_breaks_a_rule_is_told_which(name: str) -> None:
    round_, target = MOVES[name]
    found = {breach.rule for breach in check_defragmentation(round_, moved(target)).violations}
    assert found - {"termination"} == {name.partition("/")[0]}


@pytest.mark.parametrize("name", MOVES)
def test_no_answer_breaks_it(name: str) -> None:
    round_, _ = MOVES[name]
    for asked in ({"job": "w0"}, {"nodes": 1}):
        found = defragment(round_, **asked)
        assert found.certificate.violations == ()


def test_a_spread_job_is_moved_to_one_type() -> None:
    nodes = tuple(Node(id=f"n{s}", gpus=2, gpu_type=kind) for s, kind in enumerate("aabb"))
    jobs = (
        running(0, {"n0": 1, "n1": 1}),
        running(1, {"n2": 1}, restart_seconds=None),
        Job(id="w0", gpus=2, gpu_types=("a",)),
    )
    round_ = Round(format="muri-opt/round/2", cluster=Cluster(nodes=nodes), jobs=jobs)
    found = defragment(round_, job="w0")
    assert (found.cost, found.certificate.violations) == (Cost(gpus=2, jobs=1), ())
    mixed = with_fields(found, moves=(with_fields(found.moves[0], target={"n0": 1, "n3": 1}),), placement={"n1": 2})
    assert {breach.rule for breach in check_defragmentation(round_, mixed).violations} == {"gpu-type"}


def test_the_waiting_job_is_put_where_it_asks() -> None:
    guest = replace(GUEST, gpu_types=("b",))
    round_ = one(cluster(gpu_type="b"), guest)
    found = defragment(round_, job="w0")
    assert (found.placement, found.cost) == ({"n2": 4}, Cost(gpus=0, jobs=0))
    wrong = {breach.rule for breach in check_defragmentation(round_, moved({"n2": 2})).violations}
    assert "gpu-type" in wrong


def test_a_lost_job_is_nowhere_and_not_moved() -> None:
    lost = running(0, {"n2": 2})
    round_ = Round(format="muri-opt/round/2", cluster=cluster(state="down"), jobs=(lost, GUEST))
    assert defragment(round_, nodes=2).cost == Cost(gpus=0, jobs=0)
    answer = moved({"n0": 2}, moves=(Move(job="r0", source={"n2": 2}, target={"n0": 2}),), placement={"n1": 4})
    assert "lost" in {breach.rule for breach in check_defragmentation(round_, answer).violations}
    freed = with_fields(defragment(round_, nodes=2), freed=("n0", "n2"))
    assert "freed" in {breach.rule for breach in check_defragmentation(round_, freed).violations}


def test_a_drained_node_can_be_emptied_and_takes_nothing() -> None:
    jobs = (running(0, {"n2": 1}), running(1, {"n0": 1}), running(2, {"n1": 1}))
    round_ = Round(format="muri-opt/round/2", cluster=cluster(state="drain"), jobs=jobs)
    found = defragment(round_, nodes=2)
    assert found.certificate.violations == ()
    assert all("n2" not in move.target for move in found.moves)
    assert "n2" in found.freed


@pytest.mark.parametrize("said", [{"held": "asked"}, {"not_before": 10.0}])
def test_no_room_is_made_for_a_job_that_may_not_start(said: dict[str, object]) -> None:
    with pytest.raises(InputError, match="which is held or begins later"):
        defragment(one(cluster(), replace(GUEST, **said)), job="w0")


@pytest.mark.parametrize("said", [{"even": True}, {"within": Within(level="rack", required=False)}])
def test_shapes_and_preferred_places_are_refused(said: dict[str, object]) -> None:
    with pytest.raises(RefusalError):
        defragment(one(cluster(), **said), job="w0")
