"""Victims and moves: as few GPUs as there can be, nobody for nothing, and the state is left as it was."""

from itertools import combinations

import numpy as np
import pytest
from handmade import round_of
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Job, Node, Tenant, policy_from
from muri_opt.systems.philly import JobStatus, migration as moves
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.systems.philly.migration import Moving
from muri_opt.systems.philly.preemption import Removals
from muri_opt.testing import tenant_policies, tenant_rounds

ROUNDS = tenant_rounds(max_nodes=4, max_jobs=9)
POLICIES = tenant_policies(without=["preempt_at"])


def floor_of(round_, text="philly"):
    return ClusterState(round_, JobStatus.of(round_, policy_from(text).tenant_rules))


def seen(state):
    """Return all that a state knows, to compare it with later."""
    arrays = (state.gpus, state.cpus, state.memory, state.quota, state.alone)
    return [array.tolist() for array in arrays], dict(state.at), [set(jobs) for jobs in state.residents]


def without(state, jobs, job, level):
    """Return where a job sits once others have left."""
    where = {other: state.take(other) for other in jobs}
    held = find_placement(state, job, level)
    for other, place in where.items():
        state.put(other, place)
    return held


def keeps_quotas(state, jobs):
    lost = {}
    for job in jobs:
        tenant = int(state.amounts.tenant[job])
        lost[tenant] = lost.get(tenant, 0) + int(state.amounts.g[job])
    return all(gpus <= state.over_quota(tenant) for tenant, gpus in lost.items())


def gpus_of(state, jobs):
    return int(state.amounts.g[list(jobs)].sum())


def fewest_gpus(state, job, level, may, keeps_quota):
    """Return the fewest GPUs of jobs whose leaving lets the job sit, by trying every set of jobs."""
    able = [other for other in state.at if may[other]]
    sets = [chosen for count in range(len(able) + 1) for chosen in combinations(able, count)]
    good = [chosen for chosen in sets if not keeps_quota or keeps_quotas(state, chosen)]
    return min((gpus_of(state, chosen) for chosen in good if without(state, chosen, job, level)), default=None)


@more_examples(70)
@given(round_=ROUNDS, text=POLICIES, keeps_quota=st.booleans(), level=st.integers(0, 2))
def test_victims_are_enough_and_none_is_one_too_many(round_, text, keeps_quota, level):
    state = floor_of(round_, text)
    status, before = state.status, seen(state)
    may = status.may.be_preempted if keeps_quota else status.running
    for job in np.flatnonzero(~status.running & status.locality.fits).tolist():
        found = Removals(state, may, keeps_quota=keeps_quota).smallest(job, level)
        assert seen(state) == before
        fewest = fewest_gpus(state, job, level, may, keeps_quota)
        if found is None:
            # A gang on several nodes is looked for in a few places only, one on a single node everywhere.
            assert fewest is None or level > 0 or status.locality.fewest[job] > 1
            continue
        victims, held = found
        assert all(may[victim] for victim in victims)
        assert not keeps_quota or keeps_quotas(state, victims)
        assert without(state, victims, job, level) == held
        for victim in victims:
            assert without(state, [other for other in victims if other != victim], job, level) is None
        assert gpus_of(state, victims) >= fewest
        if level == 0 and status.locality.fewest[job] == 1:
            assert gpus_of(state, victims) == fewest


def test_started_jobs_give_way_before_running_ones():
    jobs = [
        Job(id="a", gpus=4, state="running", placement={"n0": 4}, restart_seconds=1.0, tenant="low"),
        Job(id="b", gpus=4, state="running", placement={"n1": 4}, restart_seconds=1.0, tenant="low"),
        Job(id="new", gpus=4, tenant="high"),
    ]
    tenants = [Tenant(id="low", quota_gpus=0), Tenant(id="high", quota_gpus=8)]
    state = floor_of(round_of([4, 4], jobs, tenants))
    may = np.array([True, True, False])
    assert Removals(state, may, keeps_quota=True).smallest(2, 0) == ((0,), {0: 4})
    unpaid = np.array([False, True, False])
    assert Removals(state, may, keeps_quota=True, unpaid=unpaid).smallest(2, 0) == ((1,), {1: 4})


def running(name, gpus, **fields):
    given = {
        "id": name,
        "gpus": sum(gpus.values()),
        "state": "running",
        "placement": gpus,
        "restart_seconds": 30.0,
    }
    return Job(**given | fields)


def victims_of(nodes, jobs, new, *, text="philly", level=0, tenants=(), keeps_quota=False):
    round_ = round_of(nodes, [*jobs, new], tenants)
    state = floor_of(round_, text)
    found = Removals(state, state.status.running, keeps_quota=keeps_quota).smallest(len(jobs), level)
    return None if found is None else [round_.jobs[victim].id for victim in found[0]]


def test_a_job_on_two_nodes_counts_whole():
    jobs = [running("wide", {"n0": 2, "n1": 2}), running("b", {"n0": 3}), running("c", {"n1": 4})]
    assert victims_of([5, 6], jobs, Job(id="new", gpus=2)) == ["b"]
    assert victims_of([5, 6], jobs[:1] + jobs[2:], Job(id="new", gpus=5)) == ["wide"]


def test_many_small_jobs_are_no_better_than_one_of_as_many_gpus():
    jobs = [running(f"one-{j}", {"n0": 1}) for j in range(4)] + [running("four", {"n1": 4})]
    assert victims_of([4, 4], jobs, Job(id="new", gpus=4)) == ["four"]
    assert victims_of([4, 4], jobs, Job(id="new", gpus=3)) == ["one-0", "one-1", "one-2"]


def test_a_cheaper_restart_is_chosen_between_equals():
    jobs = [running("slow", {"n0": 2}, restart_seconds=600.0), running("quick", {"n1": 2}, restart_seconds=1.0)]
    assert victims_of([2, 2], jobs, Job(id="new", gpus=2)) == ["quick"]


def test_cpus_and_memory_are_freed_too():
    nodes = [Node(id="n0", gpus=4, cpus=8.0, memory_gib=8.0)]
    jobs = [running("few", {"n0": 1}, cpus=1.0), running("many", {"n0": 1}, cpus=6.0)]
    assert victims_of(nodes, jobs, Job(id="new", gpus=2, cpus=4.0)) == ["many"]
    jobs = [running("small", {"n0": 1}, memory_gib=1.0), running("large", {"n0": 1}, memory_gib=7.0)]
    assert victims_of(nodes, jobs, Job(id="new", gpus=2, memory_gib=6.0)) == ["large"]


def test_a_tenant_at_its_quota_is_left_alone():
    jobs = [running("a", {"n0": 2}, tenant="at"), running("b", {"n1": 3}, tenant="over")]
    tenants = [Tenant(id="at", quota_gpus=2), Tenant(id="over", quota_gpus=0)]
    new = Job(id="new", gpus=2, tenant="at")
    assert victims_of([2, 3], jobs, new, tenants=tenants, keeps_quota=True) == ["b"]
    assert victims_of([2, 3], jobs, new, tenants=tenants) == ["a"]
    assert victims_of([2, 2], jobs[:1], new, tenants=tenants, keeps_quota=True) == []
    assert victims_of([2], jobs[:1], new, tenants=tenants, keeps_quota=True) is None


def test_a_tenant_does_not_fall_below_its_quota_by_several_victims():
    jobs = [running("a", {"n0": 1}, tenant="low"), running("b", {"n0": 1}, tenant="low")]
    both = [jobs[0], running("b", {"n1": 1}, tenant="low")]
    new = Job(id="new", gpus=2)
    for quota, found in ((0, ["a", "b"]), (1, None)):
        tenants = [Tenant(id="low", quota_gpus=quota)]
        assert victims_of([2], jobs, new, tenants=tenants, keeps_quota=True, text="philly:dedicated=2") == found
        assert victims_of([2], jobs, new, tenants=tenants, keeps_quota=True) == found
        assert victims_of([1, 1], both, new, tenants=tenants, keeps_quota=True) == found


def test_a_dedicated_server_is_emptied_and_its_owner_is_not_joined():
    jobs = [running("a", {"n0": 1}), running("b", {"n0": 1}), running("c", {"n1": 3})]
    assert victims_of([4, 4], jobs, Job(id="new", gpus=2), text="philly:dedicated=2") == ["a", "b"]
    assert victims_of([4, 4], jobs, Job(id="new", gpus=3), text="philly:dedicated=3") == ["a", "b"]
    owner = [running("owner", {"n0": 2})]
    assert victims_of([4], owner, Job(id="new", gpus=1), text="philly:dedicated=2") == ["owner"]
    assert victims_of([4], owner, Job(id="new", gpus=1)) == []


def test_gangs_of_several_nodes_take_whole_racks_or_what_is_nearest():
    nodes = [Node(id=f"n{s}", gpus=4, rack=f"r{s // 2}") for s in range(4)]
    jobs = [running("a", {"n0": 4}), running("b", {"n1": 3}), running("c", {"n2": 1}), running("d", {"n3": 2})]
    assert victims_of(nodes, jobs, Job(id="new", gpus=8)) == ["c", "d"]
    assert victims_of(nodes, jobs, Job(id="new", gpus=6), level=1) == ["c"]
    assert victims_of(nodes, jobs, Job(id="new", gpus=7), level=2) == ["c"]
    assert victims_of(nodes, jobs, Job(id="new", gpus=12), level=2) == ["a", "d"]
    assert victims_of(nodes, jobs, Job(id="new", gpus=12), level=0) is not None
    assert victims_of(nodes, jobs, Job(id="new", gpus=8), text="philly:dedicated=8", level=1) == ["c", "d"]
    assert victims_of(nodes, jobs, Job(id="new", gpus=8), level=-1) is None


@more_examples(70)
@given(round_=ROUNDS, text=POLICIES, budget=st.none() | st.integers(0, 4), level=st.integers(0, 2))
def test_moves_keep_to_the_rules_and_the_budget(round_, text, budget, level):
    state = floor_of(round_, text)
    status, before = state.status, seen(state)
    may = status.running & np.array([job.restart_seconds is not None for job in round_.jobs])
    for job in np.flatnonzero(~status.running & status.locality.fits).tolist():
        found = Moving(state, may, budget).smallest(job, level)
        assert seen(state) == before
        if found is None:
            assert find_placement(state, job, level) is None
            continue
        changes, held = found
        assert (not changes) == (find_placement(state, job, level) is not None)
        assert all(may[other] and place != state.at[other] for other, place in changes.items())
        assert budget is None or gpus_of(state, changes) <= budget
        where = {other: state.take(other) for other in changes}
        for other, place in [*changes.items(), (job, held)]:
            room = state.room(other)
            assert all(room[node] >= gpus for node, gpus in place.items())
            assert sum(place.values()) == state.amounts.g[other]
            spread = status.locality.spread(other, np.array(list(place)))
            assert spread <= (level if other == job else status.widest[other])
            state.put(other, place)
        for other in (*changes, job):
            state.take(other)
        for other, place in where.items():
            state.put(other, place)


LOADS = (("n0", (4, 2, 1)), ("n1", (4, 2)), ("n2", (4, 2, 1)))


@pytest.mark.parametrize(("budget", "moved"), [(None, 3), (3, 3), (2, None)])
def test_three_servers_are_defragmented_with_three_gpus(budget, moved):
    jobs = [running(f"{node}-{gpus}", {node: gpus}) for node, sizes in LOADS for gpus in sizes]
    state = floor_of(round_of([8, 8, 8], [*jobs, Job(id="new", gpus=4)]))
    found = Moving(state, state.status.running, budget).smallest(len(jobs), 0)
    assert (found and gpus_of(state, found[0])) == moved
    assert found is None or len(found[0]) == 2


def test_moves_make_room_on_several_nodes_and_empty_a_dedicated_server():
    nodes = [Node(id=f"n{s}", gpus=2) for s in range(4)]
    jobs = [running(f"j{s}", {f"n{s}": 1}) for s in range(4)]
    state = floor_of(round_of(nodes, [*jobs, Job(id="new", gpus=4), Job(id="small", gpus=2)]), "philly:dedicated=2")
    moved, held = Moving(state, state.status.running, None).smallest(4, 0)
    assert (len(moved), len(held)) == (2, 2)
    assert Moving(state, state.status.running, 1).smallest(4, 0) is None
    assert Moving(state, state.status.may.be_preempted, None).smallest(4, 0) is None
    moved, held = Moving(state, state.status.running, 1).smallest(5, 0)
    assert (len(moved), len(held)) == (1, 1)


@pytest.mark.parametrize(("most", "moved"), [(0, None), (1, {1: {1: 1}, 2: {2: 1}})])
def test_only_so_many_sets_are_tried(monkeypatch, most, moved):
    # One GPU is the least to move, but the third node has no CPUs for its job.
    monkeypatch.setattr(moves, "MOST_TRIALS", most)
    nodes = [Node(id="n0", gpus=2), Node(id="n1", gpus=2), Node(id="n2", gpus=1, cpus=0.0)]
    jobs = [running("b", {"n1": 1}, cpus=1.0), running("a0", {"n0": 1}), running("a1", {"n0": 1})]
    state = floor_of(round_of(nodes, [*jobs, Job(id="new", gpus=2)]))
    found = Moving(state, state.status.running, None).smallest(3, 0)
    assert (found and found[0]) == moved


def test_a_relaxed_gang_is_spread_where_no_node_can_be_freed():
    jobs = [running("a", {"n0": 3}), running("b", {"n1": 3}), running("c", {"n2": 1})]
    state = floor_of(round_of([4, 4, 3], [*jobs, Job(id="new", gpus=4)]))
    assert Moving(state, state.status.running, None).smallest(3, 1) == ({}, {2: 2, 0: 1, 1: 1})
    assert Moving(state, state.status.running, 0).smallest(3, 0) is None
    assert Moving(state, state.status.running, None).smallest(3, -1) is None
