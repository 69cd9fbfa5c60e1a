"""What jobs are before a round: levels, worth, locality and placements, against definitions of their own."""

import numpy as np
import pytest
from handmade import round_of
from hypothesis import given
from more_examples import more_examples
from tenants_rulebook import Ruled

from muri_opt import Cluster, InputError, Job, Node, Round, Tenant, policy_from
from muri_opt.systems.philly import JobStatus, Locality
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.testing import tenant_policies, tenant_rounds


def rules(text=""):
    return policy_from("philly" + ":" * bool(text) + text).tenant_rules


@more_examples(60)
@given(round_=tenant_rounds(), text=tenant_policies())
def test_locality_and_levels_are_those_of_the_definition(round_, text):
    policy = policy_from(text)
    ruled, status = Ruled(round_, policy), JobStatus.of(round_, policy.tenant_rules)
    for position, job in enumerate(round_.jobs):
        in_rack, fewest = ruled.fewest(job)
        assert status.locality.fits[position] == (fewest is not None)
        if fewest is not None:
            assert (status.locality.in_rack[position], status.locality.fewest[position]) == (in_rack, fewest)
        running = job.state == "running"
        assert status.widest[position] == ruled.level(job)
        assert status.may.start[position] == (not running and fewest is not None and ruled.level(job) >= 0)
        restarts = not ruled.pinned(job.id)
        limited = ruled.quota.get(job.tenant) is not None and policy.preempt_at != "never"
        assert status.may.move[position] == (running and restarts and (limited or policy.migrate != "0"))
        assert status.may.be_preempted_later[position] == (restarts and limited)
        assert status.may.be_preempted[position] == (running and restarts and limited)
        assert status.values.restart_later[position] == (ruled.cost(job) if restarts else 0)
        assert status.values.restart[position] == (status.values.restart_later[position] if running else 0)
        assert status.fixed[position] == (
            running and not status.may.move[position] and not status.may.be_preempted[position]
        )


@more_examples(60)
@given(round_=tenant_rounds(), text=tenant_policies())
def test_a_decision_is_worth_what_the_chapter_says(round_, text):
    policy = policy_from(text)
    ruled, status = Ruled(round_, policy), JobStatus.of(round_, policy.tenant_rules)
    decision = policy.decide(round_, 0)
    places, index = ruled.places(decision), round_.cluster.node_index
    used = ruled.used(places)
    value = sum(
        status.values.premium * min(used[name], quota) for name, quota in ruled.quota.items() if quota is not None
    )
    for position, job in enumerate(round_.jobs):
        if job.id not in places:
            if job.state == "running":
                value -= status.values.penalty * job.gpus + int(status.values.restart[position])
            continue
        if ruled.quota.get(job.tenant) is None:
            value += status.values.premium * job.gpus
        nodes = np.array([index[name] for name in places[job.id]])
        spread = status.locality.spread(position, nodes)
        assert spread == ruled.spread(job, list(places[job.id]))
        stays = places[job.id] == ruled.before.get(job.id)
        value += int(status.values.kept[position] if stays else status.values.placed[position, spread])
    assert value == ruled.value(decision)


@more_examples(70)
@given(round_=tenant_rounds(max_jobs=6), text=tenant_policies())
def test_a_placement_is_found_if_there_is_one_and_as_close_as_can_be(round_, text):
    policy = policy_from(text)
    ruled, state = Ruled(round_, policy), ClusterState(round_, JobStatus.of(round_, policy.tenant_rules))
    for position, job in enumerate(round_.jobs):
        if job.state == "running":
            continue
        room = ruled.room(job, ruled.before)
        assert state.room(position).tolist() == list(room.values())
        for level in range(-1, 3):
            held = find_placement(state, position, level)
            assert (held is not None) == ruled.placeable(job, ruled.before, level)
            if held is None:
                continue
            names = [round_.cluster.nodes[node].id for node in held]
            assert sum(held.values()) == job.gpus
            assert all(0 < gpus <= room[name] for name, gpus in zip(names, held.values(), strict=True))
            closest = next(able for able in range(3) if ruled.placeable(job, ruled.before, able))
            assert ruled.spread(job, names) == closest


def test_a_floor_keeps_count():
    nodes = [Node(id="n0", gpus=4, cpus=8.0, memory_gib=8.0), Node(id="n1", gpus=4)]
    held = {"n0": 1, "n1": 1}
    jobs = [Job(id="a", gpus=2, cpus=4.0, memory_gib=2.0, tenant="t", state="running", placement=held)]
    round_ = round_of(
        nodes, [*jobs, Job(id="b", gpus=2, tenant="t")], [Tenant(id="t", quota_gpus=3), Tenant(id="free")]
    )
    state = ClusterState(round_, JobStatus.of(round_, rules("dedicated=2")))
    assert (state.gpus.tolist(), [state.used(0), state.used(1)], state.alone.tolist()) == ([3, 3], [2, 0], [1, 1])
    assert (state.cpus[0], state.memory[0]) == (6000, 7 * 1024)
    assert (state.within_quota(1), state.over_quota(0), state.over_quota(1), state.over_quota(-1)) == (False, -1, 0, 0)
    assert state.room(1).tolist() == [0, 0]
    assert state.take(0) == {0: 1, 1: 1}
    assert (state.gpus.tolist(), [state.used(0), state.used(1)], state.alone.tolist()) == ([4, 4], [0, 0], [0, 0])
    assert (state.within_quota(1), state.at, state.residents) == (True, {}, [set(), set()])
    assert state.room(1).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("text", "waited", "level"),
    [
        ("", 599, 0),
        ("", 600, 1),
        ("", 1800, 2),
        ("rack_after=900,any_after=600", 700, 0),
        ("rack_after=900,any_after=600", 900, 2),
        ("backoff=50", 149, 0),
        ("backoff=50", 150, -1),
        ("backoff=50", 650, 1),
        ("backoff=50", 750, -1),
    ],
)
def test_levels(text, waited, level):
    assert rules(text).level(waited * 1_000_000) == level


def test_ages_and_restarts_are_bounded():
    default = rules()
    day = 86_400_000_000
    assert [default.age(waited) for waited in (0, day // 2, day, 9 * day)] == [1000, 1125, 1250, 1250]
    assert [default.restart(seconds) for seconds in (0, 1, 600_000_000, 10**12)] == [1, 1, 1000, 10_000]


def test_waiting_times_come_from_the_job_or_the_clock():
    jobs = (
        Job(id="said", gpus=1, waiting_seconds=5.0, submitted=0.0),
        Job(id="since", gpus=1, submitted=400.0),
        Job(id="later", gpus=1, submitted=5000.0),
        Job(id="unknown", gpus=1),
    )
    round_ = Round(now=1000.0, cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=jobs)
    assert JobStatus.of(round_, rules()).widest.tolist() == [0, 1, 0, 0]


def test_a_running_job_may_spread_as_it_does_and_as_it_could_start():
    held = {"close": {"n0": 1, "n1": 1}, "far": {"n0": 1, "n2": 1}}
    nodes = [Node(id=f"n{s}", gpus=2, rack="aab"[s]) for s in range(3)]
    for waited, text, levels in (
        (0.0, "", [1, 2]),
        (1800.0, "", [2, 2]),
        (1800.0, "backoff=1500", [1, 2]),  # back-off is for those who wait
    ):
        jobs = [
            Job(id=name, gpus=2, state="running", placement=on, waiting_seconds=waited) for name, on in held.items()
        ]
        assert JobStatus.of(round_of(nodes, jobs), rules(text)).widest.tolist() == levels


def test_without_migration_another_place_is_a_preemption():
    tenants = [Tenant(id="t", quota_gpus=1), Tenant(id="free")]
    jobs = [
        Job(id=name, gpus=2, tenant=name, state="running", placement={f"n{s}": 2}, restart_seconds=60.0)
        for s, name in enumerate(("t", "free"))
    ]
    round_ = round_of([2, 2], jobs, tenants)
    moves, restarts = JobStatus.of(round_, rules("migrate=inf")), JobStatus.of(round_, rules())
    assert (moves.may.move.tolist(), restarts.may.move.tolist()) == ([True, True], [True, False])
    assert moves.values.placed[0].tolist() == [2 * speed - 200 for speed in (1000, 854, 729)]
    assert (restarts.values.placed[0] + 2 * restarts.values.penalty).tolist() == moves.values.placed[0].tolist()


def test_nodes_without_a_rack_are_one_and_equal_racks_are_known_once():
    nodes = [Node(id="a", gpus=2), Node(id="b", gpus=2, rack="r"), Node(id="c", gpus=2), Node(id="d", gpus=2, rack="r")]
    locality = Locality.of(round_of(nodes, [3, 4, 5, 9]))
    assert locality.rack.tolist() == [0, 1, 0, 1]
    assert locality.in_rack.tolist() == [True, True, False, False]
    assert locality.fewest[:3].tolist() == [2, 2, 3]
    assert locality.fits.tolist() == [True, True, True, False]
    assert [locality.spread(0, np.array(on)) for on in ([0, 2], [0, 1])] == [0, 2]
    assert [locality.spread(2, np.array(on)) for on in ([0, 1, 2], [0, 1, 2, 3])] == [0, 2]
    empty = Locality.of(round_of([], []))
    assert (len(empty.rack), len(empty.fits)) == (0, 0)


def test_values_too_large_for_a_word_ask_for_the_weighted_objective():
    placement = {"n0": 999_999}
    jobs = [
        Job(id="a", gpus=999_999, tenant="t", state="running", placement=placement, restart_seconds=9e6),
        Job(id="b", gpus=999_999),
    ]
    round_ = round_of([1_000_000], jobs, [Tenant(id="t", quota_gpus=1)])
    with pytest.raises(InputError, match="weighted"):
        JobStatus.of(round_, rules())
    assert JobStatus.of(round_, rules("objective=weighted")).values.premium == 1000


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"placement": {"n0": 1}}, "found 1 GPUs"),
        ({"placement": None}, "found nothing"),
        ({"placement": {"n0": 2}, "cpus": 9.0}, "found 9 CPUs"),
        ({"placement": {"n0": 2}, "memory_gib": 9.0}, "found 9 GiB"),
    ],
)
def test_running_jobs_that_cannot_be_where_they_say_are_refused(fields, refused):
    nodes = [Node(id="n0", gpus=4, cpus=8.0, memory_gib=8.0)]
    with pytest.raises(InputError, match=refused):
        JobStatus.of(round_of(nodes, [Job(id="a", gpus=2, state="running", **fields)]), rules())
