"""Jobs whose GPUs are further apart than they need to be: how fast they go, on paper and against who watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from more_examples import more_examples
from replay_watch import job, watched, work_of, workloads

from muri_opt import Assignment, Decision, Job, Node, Plan, Round
from muri_opt.errors import InputError
from muri_opt.replay.engine.round_scheduler import RoundScheduler
from muri_opt.replay.engine.spread_speeds import SpreadSpeeds
from muri_opt.replay.metrics.summary import summary
from muri_opt.replay.run import replay
from muri_opt.replay.studies.runs import StudyRun
from muri_opt.replay.studies.study import run_study
from muri_opt.rounds import Cluster

RACK, ANY = 0.854, 0.729
SPEEDS = {"rack_speed": RACK, "any_speed": ANY}
POLICIES = ("fifo", "srtf", "philly", "philly:rack_after=0,any_after=0,migrate=4", "philly:rack_after=1,any_after=3")


def racks_of(*racks: tuple[int, ...], **fields: object) -> Cluster:
    """Return nodes ``n0``, ``n1``, ... with these GPUs, in racks ``r0``, ``r1``, ..."""
    nodes = [(gpus, f"r{place}") for place, rack in enumerate(racks) for gpus in rack]
    return Cluster(
        nodes=tuple(Node(id=f"n{s}", gpus=gpus, rack=rack, **fields) for s, (gpus, rack) in enumerate(nodes))
    )


def sitting(gpus: Mapping[str, int], **fields: object):
    """Return a policy that lets all jobs share the same GPUs."""

    def function(round_: Round) -> Decision:
        jobs = tuple(one.id for one in round_.jobs)
        return Decision(assignments=(Assignment(jobs=jobs, order=tuple(range(len(jobs))), gpus=gpus, **fields),))

    return function


def end_of(one: Job, cluster: Cluster, gpus: Mapping[str, int], **fields: object) -> float:
    """Return when the job ends that has these GPUs all the time."""
    given = {"period_seconds": 1.0} | fields
    return float(replay(work_of(one), cluster, sitting(gpus, **given), verify=False, **SPEEDS).jobs.ended[0])


def level(cluster: Cluster, gpus: int, on: list[Node]) -> int:
    """Return how a gang sits by trying all sets of nodes: 0 as close as it can, 1 apart in a rack, 2 further."""
    racks = [[node.gpus for node in cluster.nodes if node.rack == rack] for rack in {n.rack for n in cluster.nodes}]
    roomy = [rack for rack in racks if sum(rack) >= gpus]
    among = roomy or [[node.gpus for node in cluster.nodes]]
    fewest = min(
        count
        for rack in among
        for count in range(1, len(rack) + 1)
        if any(sum(some) >= gpus for some in combinations(rack, count))
    )
    if roomy and len({node.rack for node in on}) > 1:
        return 2
    if len(on) <= fewest:
        return 0
    return 1 if roomy else 2


@pytest.mark.parametrize(
    ("racks", "gpus", "speed"),
    [
        (((2, 2), (2, 2)), {"n0": 2}, 1),
        (((2, 2), (2, 2)), {"n0": 1, "n1": 1}, RACK),
        (((2, 2), (2, 2)), {"n0": 1, "n2": 1}, ANY),
        (((2, 2), (2, 2)), {"n2": 2, "n3": 1}, 1),  # three GPUs are on two nodes anyway
        (((2, 2), (2, 2)), {"n1": 2, "n2": 1}, ANY),  # but need not be in two racks
        (((1, 1), (1, 2)), {"n0": 1, "n1": 1}, RACK),  # the other rack has a node for both
        (((1, 1), (1, 1)), {"n0": 1, "n1": 1, "n3": 1}, 1),  # no rack is large enough
        (((2, 1), (2, 1)), {"n0": 2, "n2": 2}, 1),
        (((2, 1), (2, 1)), {"n0": 2, "n1": 1, "n3": 1}, ANY),  # on more nodes than it needs
    ],
)
def test_a_job_goes_at_the_speed_of_its_spread(racks, gpus, speed):
    one = job("a", 3, 100, sum(gpus.values()))
    assert end_of(one, racks_of(*racks), gpus) == pytest.approx(3 + 100 / speed, rel=1e-12)


def test_nodes_without_a_rack_are_in_one():
    cluster = Cluster(nodes=tuple(Node(id=name, gpus=2) for name in ("n0", "n1")))
    assert end_of(job("a", 0, 100, 2), cluster, {"n0": 1, "n1": 1}) == pytest.approx(100 / RACK, rel=1e-12)


def test_cpus_and_memory_decide_how_close_a_job_can_be():
    for field in ("cpus", "memory_gib"):
        cluster, apart = racks_of((2, 2), **{field: 10.0}), {"n0": 1, "n1": 1}
        small, large = (job("a", 0, 100, 2, **{field: amount}) for amount in (10.0, 11.0))
        assert end_of(small, cluster, apart) == pytest.approx(100 / RACK, rel=1e-12)
        assert end_of(large, cluster, apart) == 100


def test_a_share_is_as_far_apart_as_its_own_gpus():
    one = job("a", 0, 100, 1, scaling={1: 1.0, 2: 1.6, 3: 2.0})
    cluster = racks_of((2, 2))
    assert end_of(one, cluster, {"n0": 2}) == 100 / 1.6
    assert end_of(one, cluster, {"n0": 1, "n1": 1}) == pytest.approx(100 / 1.6 / RACK, rel=1e-12)
    assert end_of(one, cluster, {"n0": 2, "n1": 1}) == 50


def test_a_plan_has_the_throughput_it_was_measured_with():
    one = job("a", 0, 100, 2, plans=(Plan(name="dp2", gpus=2, nodes=2, throughput=0.8),))
    assert end_of(one, racks_of((2,), (2,)), {"n0": 1, "n1": 1}, plan="dp2") == 125


def test_a_group_is_one_gang_with_the_memory_of_all():
    stages = (0.0, 0.5, 0.5, 0.0)
    cluster, apart = racks_of((2, 2), memory_gib=10.0), {"n0": 1, "n1": 1}
    for memory, speed in ((5.0, RACK), (6.0, 1)):
        work = work_of(*(job(name, 0, 10, 2, stage_seconds=stages, memory_gib=memory) for name in "ab"))
        policy = sitting(apart, period_seconds=1.5)
        found = replay(work, cluster, policy, verify_as="muri-s", **SPEEDS)
        assert found.jobs.ended.tolist() == pytest.approx([15 / speed] * 2, rel=1e-12)


@pytest.mark.parametrize(("migrate", "end"), [(0, 5 + 100 / RACK), (2, 18 + 100 - 10 * RACK)])
def test_a_move_to_one_node_speeds_a_job_up(migrate, end):
    # p and q are on n0, r on n1. When q ends, d starts on what is left of both nodes; when r ends, it can be on n1.
    work = work_of(job("p", 0, 1000), job("q", 0, 5), job("r", 0, 15), job("d", 1, 100, 2, restart_seconds=3))
    found = replay(work, racks_of((2, 2)), f"philly:rack_after=0,migrate={migrate}", **SPEEDS)
    assert found.jobs.ended.tolist() == pytest.approx([1000, 5, 15, end], rel=1e-12)
    assert found.jobs.migrations.tolist() == [0, 0, 0, migrate // 2]
    assert found.jobs.lost.tolist() == [0, 0, 0, 3 * migrate]
    # Ideal is close together, so that distance shows as slowdown.
    assert found.jobs.ideal.tolist() == [1000, 5, 15, 100]
    assert summary(found).slowdown_p99 == pytest.approx(np.percentile([1, 1, 1, (end - 1) / 100], 99), rel=1e-12)


RACKS = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)
PARTS = st.lists(st.sampled_from([0.125, 0.5, 0.75, 0.9, 1.0]), min_size=2, max_size=2).map(sorted)


@given(st.data(), RACKS, PARTS, PARTS)
@more_examples(40)
def test_lower_speeds_never_end_a_job_earlier(data, racks, first, second):
    cluster = racks_of(*racks)
    on = [node for node in cluster.nodes if data.draw(st.booleans())] or [cluster.nodes[0]]
    gpus = {node.id: data.draw(st.integers(1, node.gpus)) for node in on}
    work = work_of(job("a", 2, 30, sum(gpus.values())))
    low, high = zip(*(sorted(pair) for pair in zip(first, second, strict=True)), strict=True)
    policy, speed = sitting(gpus, period_seconds=1.0), (1.0, low[1], low[0])[level(cluster, sum(gpus.values()), on)]
    ends = [
        float(replay(work, cluster, policy, rack_speed=rack, any_speed=anywhere).jobs.ended[0])
        for anywhere, rack in (low, high, (1.0, 1.0))
    ]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] == pytest.approx(2 + 30 / speed, rel=1e-12)
    assert ends[-1] == 32


@given(st.data(), RACKS, PARTS, st.sampled_from(POLICIES), st.sampled_from([None, 2.5]))
@settings(max_examples=25)
def test_progress_adds_up_at_the_speed_of_every_placement(data, racks, parts, policy, interval):
    cluster, (anywhere, rack) = racks_of(*racks), parts
    work = data.draw(workloads(cluster.total_gpus, 6))
    scheduler = RoundScheduler(work, cluster, policy, speeds=SpreadSpeeds(cluster, rack, anywhere))
    engine, watch = watched(scheduler, work, cluster, interval=interval)
    for _, placements in watch.rounds:
        for place, placement in placements.items():
            nodes = [cluster.nodes[node] for node in placement.gpus]
            speed = (1.0, rack, anywhere)[level(cluster, placement.count, nodes)]
            assert placement.rates == pytest.approx((speed / work.jobs[place].iteration_seconds,), rel=1e-12)
    jobs, total = engine.outcomes(), [one.remaining_iterations for one in work.jobs]
    np.testing.assert_allclose(watch.done, total, rtol=0, atol=1e-8)
    assert (jobs.held - jobs.lost / jobs.gpus >= jobs.ideal * (1 - 1e-12) - 1e-9).all()
    told = replay(work, cluster, policy, interval=interval, rack_speed=rack, any_speed=anywhere)
    assert told.jobs.ended.tolist() == jobs.ended.tolist()
    if anywhere == 1:
        assert told.jobs.ended.tolist() == replay(work, cluster, policy, interval=interval).jobs.ended.tolist()


BAD = [
    ({"rack_speed": 0.0, "any_speed": 0.0}, "rack_speed"),
    ({"rack_speed": 1.5}, "rack_speed"),
    ({"rack_speed": "fast"}, "rack_speed"),
    ({"any_speed": float("nan")}, "any_speed"),
    ({"any_speed": -0.5}, "any_speed"),
    ({"rack_speed": RACK}, "any_speed"),
    (SPEEDS | {"fast": True}, "rack_speed"),
    ({"any_speed": ANY, "fast": True}, "any_speed"),
]


@pytest.mark.parametrize(("bad", "field"), BAD)
def test_speeds_that_cannot_be_are_refused(bad, field):
    with pytest.raises(InputError) as caught:
        replay(work_of(job("a", 0, 1)), racks_of((1,)), "fifo", **bad)
    assert caught.value.field == field
    with pytest.raises(InputError) as caught:
        StudyRun(workload="w", cluster="1x1", policy="fifo", **bad)
    assert caught.value.field == field


def test_a_study_knows_its_speeds(tmp_path):
    plain = StudyRun(workload="generate:tiresias?jobs=24&most-gpus=2", cluster="2x3", policy="fifo")
    assert StudyRun(workload="w", cluster="1x1", policy="fifo", rack_speed=1, any_speed=1).rack_speed == 1.0
    slower = replace(plain, **SPEEDS)
    with pytest.raises(InputError, match=r"rack_speed: found 0.854; allowed: 1.0 with the clock 'muri'"):
        replace(slower, clock="muri", policy="srtf")
    one, other = run_study([plain, slower], folder=tmp_path / "study", engine="here")
    assert one.fingerprint != other.fingerprint
    assert (other.as_dict()["rack_speed"], other.as_dict()["any_speed"]) == (RACK, ANY)
    assert other.figures["mean"] > one.figures["mean"]
