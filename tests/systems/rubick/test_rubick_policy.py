"""Rubick's algorithm on rounds worked out by hand."""

from __future__ import annotations

import pytest
from plan_rounds_for_policies import gpus, plan_round, planned, promise, running, shares

from muri_opt import Node, Plan, Tenant
from muri_opt.systems import policy_from

LINEAR = {1: 1.0, 2: 2.0, 4: 4.0}
FLAT = {1: 3.0, 2: 3.5, 4: 4.0}


def test_the_lowest_slope_shrinks_for_a_higher_one() -> None:
    # Of its 4 GPUs the flat job loses 0.5 / 4 for two and 0.5 / 4 for one more; the other gains 1/4 with each.
    assert gpus(plan_round([4], [planned(0, FLAT), planned(1, LINEAR)]), "rubick") == [2, 2]
    assert gpus(plan_round([4], [running(0, FLAT, {"n0": 4}), planned(1, LINEAR)]), "rubick") == [2, 2]


def test_of_two_jobs_the_one_with_the_lower_slope_gives() -> None:
    steep, flat = running(0, {1: 1.0, 2: 2.0}, {"n0": 2}), running(1, {1: 1.8, 2: 2.0}, {"n0": 2})
    assert gpus(plan_round([4], [steep, flat, planned(2, {1: 1.0})]), "rubick") == [2, 1, 1]


def test_nobody_gives_to_a_lower_slope() -> None:
    # Against what it asked for, the newcomer has 1/16 per GPU; taking from the other costs 1/4 per GPU.
    held, slow = running(0, LINEAR, {"n0": 4}, gpus=4), planned(1, {1: 1.0, 16: 16.0}, gpus=16)
    assert gpus(plan_round([4], [held, slow]), "rubick:reference=requested") == [4, 0]
    # Against the best it could have in this cluster, it has all of it with one GPU.
    assert gpus(plan_round([4], [held, slow]), "rubick") == [2, 1]


def test_a_step_that_costs_more_than_it_brings_is_not_taken() -> None:
    # The newcomer's slope of 1/2 is above 1/4, but only stopping the other makes room: 1/2 for 1.
    assert gpus(plan_round([4], [running(0, {4: 4.0}, {"n0": 4}), planned(1, {1: 1.0, 2: 2.0})]), "rubick") == [4, 0]


def test_a_node_where_room_costs_too_much_is_passed_over() -> None:
    # On the first node one GPU costs 1/10, but the second one the rest of the job; on the other node two cost 2/5.
    low, steeper = running(0, {3: 0.9, 4: 1.0}, {"n0": 4}), running(1, {2: 0.6, 4: 1.0}, {"n1": 4})
    assert gpus(plan_round([4, 4], [low, steeper, planned(2, {2: 1.0})]), "rubick") == [4, 2, 2]


def test_a_guaranteed_job_takes_its_minimum_although_less_is_done_in_all() -> None:
    busy = running(0, {4: 4.0}, {"n0": 4})
    late = planned(1, {1: 1.0, 2: 1.2, 4: 10.0})
    assert gpus(plan_round([4], [busy, late]), "rubick") == [4, 0]
    promised = planned(1, {1: 1.0, 2: 1.2, 4: 10.0}, guarantee=promise(1.1))
    # The busy job runs on 4 GPUs or not at all, and is stopped; then the whole node is free to grow into.
    assert gpus(plan_round([4], [busy, promised]), "rubick") == [0, 4]


def test_a_guaranteed_job_starts_with_the_least_where_others_are_steeper() -> None:
    steep = running(0, {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}, {"n0": 4})
    promised = planned(1, {1: 1.0, 2: 1.1, 16: 30.0}, guarantee=promise(1.0))
    found = plan_round([4, 16], [steep, promised])
    assert gpus(found, "rubick") == [4, 16]
    assert gpus(plan_round([4], [steep, planned(1, {1: 1.0, 2: 1.1}, guarantee=promise(1.0))]), "rubick") == [3, 1]


def test_a_guaranteed_job_is_shrunk_to_its_smallest_option_and_no_further() -> None:
    held = running(0, {1: 1.0, 2: 1.9, 4: 2.0}, {"n0": 4}, guarantee=promise(1.5))
    steep = planned(1, {1: 1.0, 2: 2.0, 4: 4.0})
    assert gpus(plan_round([4], [held, steep]), "rubick") == [2, 2]
    also = planned(2, {1: 1.0}, guarantee=promise(1.0))
    assert gpus(plan_round([4], [held, steep, also]), "rubick") == [2, 1, 1]
    crowd = [planned(j, {2: 1.0}, guarantee=promise(1.0)) for j in (3, 4)]
    assert gpus(plan_round([4], [held, *crowd]), "rubick") == [2, 2, 0]


def test_guaranteed_jobs_beyond_the_quota_wait() -> None:
    jobs = [planned(j, {2: 1.0}, gpus=2, tenant="t", guarantee=promise(1.0)) for j in range(3)]
    assert gpus(plan_round([8], jobs, (Tenant(id="t", quota_gpus=4),)), "rubick") == [2, 2, 0]
    big = planned(3, {2: 1.0}, gpus=3, tenant="t", guarantee=promise(1.0))
    jobs = [jobs[0], big, jobs[1]]  # submission decides: j0, j1, then the big one, which no quota is left for
    assert gpus(plan_round([8], jobs, (Tenant(id="t", quota_gpus=4),)), "rubick") == [2, 0, 2]


def test_a_job_that_starves_comes_first_and_is_not_evicted() -> None:
    old = planned(0, {2: 1.0}, waiting_seconds=100.0)
    steep = planned(1, {1: 1.0})
    steeper = planned(2, {1: 2.0, 2: 2.1})
    jobs = [old, steep, steeper]
    assert gpus(plan_round([2], jobs), "rubick:patience=100") == [0, 1, 1]
    assert gpus(plan_round([2], jobs), "rubick:patience=99") == [2, 0, 0]
    needs = planned(3, {1: 1.0}, guarantee=promise(1.0))
    assert gpus(plan_round([2], [*jobs, needs]), "rubick:patience=99")[3] == 1


@pytest.mark.parametrize(
    ("fields", "grown"),
    [
        ({"executed_seconds": 1000.0, "restart_seconds": 30.0, "restarts": 0}, 4),
        ({"executed_seconds": 999.0, "restart_seconds": 30.0, "restarts": 0}, 1),
        ({"executed_seconds": 1000.0, "restart_seconds": 30.0, "restarts": 1}, 1),
        ({"executed_seconds": 2000.0, "restart_seconds": 30.0, "restarts": 1}, 4),
        ({"restart_seconds": 1.0}, 1),
        ({}, 4),
    ],
)
def test_the_gate_says_whether_a_running_job_may_grow(fields: dict[str, float], grown: int) -> None:
    assert gpus(plan_round([4], [running(0, LINEAR, {"n0": 1}, **fields)]), "rubick") == [grown]


def test_the_gate_protects_from_other_jobs_but_not_from_a_guarantee() -> None:
    young = running(0, {1: 3.9, 4: 4.0}, {"n0": 4}, executed_seconds=10.0, restart_seconds=1.0)
    assert gpus(plan_round([4], [young, planned(1, LINEAR)]), "rubick") == [4, 0]
    assert gpus(plan_round([4], [young, planned(1, LINEAR)]), "rubick:gate=0.9") == [1, 2]
    assert gpus(plan_round([4], [young, planned(1, {1: 1.0}, guarantee=promise(1.0))]), "rubick")[1] == 1


def test_a_restart_that_costs_more_than_it_brings_is_left_out() -> None:
    fast = {"executed_seconds": 1e6, "restart_seconds": 60.0}
    assert gpus(plan_round([4], [running(0, {1: 9.0, 4: 9.5}, {"n0": 1}, **fast)]), "rubick") == [1]
    assert gpus(plan_round([4], [running(0, {1: 9.0, 4: 9.5}, {"n0": 1}, **fast)]), "rubick:horizon=6000") == [4]


def test_a_job_spans_nodes_and_gives_one_of_them_back() -> None:
    wide = {(2, 1): 3.0, (4, 2): 4.0}
    assert shares(plan_round([2, 2], [planned(0, wide)]), "rubick") == {"j0": {"n0": 2, "n1": 2}}
    found = shares(plan_round([2, 2], [running(0, wide, {"n0": 2, "n1": 2}), planned(1, {2: 1.0})]), "rubick")
    assert sorted(sum(given.values()) for given in found.values()) == [2, 2]


def test_room_for_several_nodes_is_made_on_each_of_them() -> None:
    flat = {1: 0.9, 2: 1.0}
    jobs = [running(0, flat, {"n0": 2}), running(1, flat, {"n1": 2}), planned(2, {(2, 2): 1.0})]
    assert shares(plan_round([2, 2], jobs), "rubick") == {
        "j0": {"n0": 1},
        "j1": {"n1": 1},
        "j2": {"n0": 1, "n1": 1},
    }


def test_cpus_grow_without_a_restart_even_behind_the_gate() -> None:
    speeds = {(1, 1, 1): 1.0, (1, 1, 4): 2.0}
    node = Node(id="n0", gpus=2, cpus=5.0)
    held = running(0, speeds, {"n0": 1}, restart_seconds=500.0)
    (one,) = policy_from("rubick").decide(plan_round([node], [held]), 0).assignments
    assert one.cpus == {"n0": 4.0}
    second = running(1, {(1, 1, 1): 1.0, (1, 1, 4): 8.0}, {"n0": 1}, restart_seconds=500.0)
    decision = policy_from("rubick").decide(plan_round([node], [held, second]), 0)
    assert [one.cpus["n0"] for one in decision.assignments] == [1.0, 4.0]  # 7/8 per 3 CPUs against 1/2


def test_cpus_are_taken_from_the_lowest_slope() -> None:
    node = Node(id="n0", gpus=2, cpus=5.0)
    low = planned(0, {(1, 1, 1): 1.9, (1, 1, 4): 2.0})
    steep = planned(1, {(1, 1, 4): 1.0})
    decision = policy_from("rubick").decide(plan_round([node], [low, steep]), 0)
    assert {one.jobs[0]: one.cpus["n0"] for one in decision.assignments} == {"j0": 1.0, "j1": 4.0}


def test_the_best_plan_for_the_amounts_is_chosen() -> None:
    plans = (
        Plan(name="a", gpus=2, throughput=1.0),
        Plan(name="b", gpus=2, throughput=1.5),
        Plan(name="c", gpus=4, throughput=9.0),
    )
    job = planned(0, {}, plans=plans, plan="a", state="running", placement={"n0": 2}, gpus=2)
    assert [one.plan for one in policy_from("rubick").decide(plan_round([2], [job]), 0).assignments] == ["b"]
    for change, chosen in (("both", "c"), ("plans", "b"), ("resources", "a"), ("neither", "a")):
        decision = policy_from(f"rubick:change={change}").decide(plan_round([4], [job]), 0)
        assert [one.plan for one in decision.assignments] == [chosen]


def test_a_running_job_whose_place_is_no_option_is_queued_anew() -> None:
    odd = running(0, {2: 2.0}, {"n0": 1, "n1": 1}, restart_seconds=30.0)
    assert shares(plan_round([2, 2], [odd]), "rubick") == {"j0": {"n0": 2}}
    other_type = Plan(name="p", gpus=2, gpu_type="a", throughput=2.0)
    nodes = [Node(id="n0", gpus=2, gpu_type="b"), Node(id="n1", gpus=2, gpu_type="a")]
    wrong = running(0, {}, {"n0": 2}, plans=(other_type,))
    assert shares(plan_round(nodes, [wrong]), "rubick") == {"j0": {"n1": 2}}


def test_equal_jobs_start_in_the_order_of_submission() -> None:
    jobs = [planned(j, {1: 1.0}, submitted=float(9 - j)) for j in range(3)]
    assert gpus(plan_round([2], jobs), "rubick") == [0, 1, 1]


def test_a_job_on_several_nodes_gives_on_all_of_them() -> None:
    flat = running(0, {(2, 2): 0.9, (4, 2): 1.0}, {"n0": 2, "n1": 2})
    assert shares(plan_round([2, 2], [flat, planned(1, {(2, 2): 1.0})]), "rubick") == {
        "j0": {"n0": 1, "n1": 1},
        "j1": {"n0": 1, "n1": 1},
    }


def test_what_a_later_job_leaves_goes_to_an_earlier_one_at_last() -> None:
    nodes = [Node(id="n0", gpus=2, gpu_type="a"), Node(id="n1", gpus=4, gpu_type="b")]
    bound = tuple(Plan(name="p", gpus=count, gpu_type="a", throughput=float(count)) for count in (1, 2))
    steep = running(0, {}, {"n0": 1}, plans=bound)
    moving = running(1, {1: 3.0, 4: 4.0}, {"n0": 1})  # worth too much where it is to be stopped, and more elsewhere
    assert shares(plan_round(nodes, [steep, moving]), "rubick") == {"j0": {"n0": 2}, "j1": {"n1": 4}}


def test_who_has_left_a_node_has_nothing_more_to_give_there() -> None:
    wide = running(0, {(2, 1): 1.0, (4, 2): 1.0}, {"n0": 2, "n1": 2})
    held = running(1, {1: 1.0}, {"n0": 1})
    assert gpus(plan_round([3, 2], [wide, held, planned(2, {3: 1.0})]), "rubick") == [4, 1, 0]
