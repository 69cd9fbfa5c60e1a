"""Placements of jobs: where an option goes, and that what can stay stays."""

from __future__ import annotations

from plan_rounds_for_policies import plan_round, planned, running

from muri_opt.systems.plans import PlanOptions, PlanRules
from muri_opt.systems.plans.allocation import PlanAllocation, densest_first


def test_an_option_for_any_node_is_the_one_without_a_restart_where_the_job_can_stay() -> None:
    round_ = plan_round([2, 1], [running(0, {1: 1.0}, {"n0": 1})])
    options = PlanOptions.of(round_, PlanRules())
    home, anywhere = 0, 1
    assert options.home.tolist() == [0, -1]
    allocation = PlanAllocation(round_, options)
    for option in (home, anywhere):
        placement = allocation.placement_for(option)
        assert (placement.option, placement.nodes.tolist()) == (home, [0])
    assert allocation.settled(anywhere, options.homes[0]) == home
    allocation.free.gpus[0] = 0
    assert allocation.placement_for(home) is None
    assert allocation.placement_for(anywhere).nodes.tolist() == [1]
    assert allocation.settled(anywhere, allocation.placement_for(anywhere).nodes) == anywhere


def test_a_job_has_one_placement_and_leaves_it_whole() -> None:
    round_ = plan_round([2, 2], [planned(0, {(2, 2): 1.0}), planned(1, {2: 1.0})])
    options = PlanOptions.of(round_, PlanRules())
    allocation = PlanAllocation(round_, options)
    assert allocation.start(0, [0])
    assert not allocation.start(0, [0])
    assert allocation.free.gpus.tolist() == [1, 1]
    assert allocation.on_node == [{0}, {0}]
    assert not allocation.start(1, [1])
    allocation.leave(0)
    assert allocation.start(1, [1])
    assert allocation.free.gpus.tolist() == [0, 2]
    assert allocation.on_node == [{1}, set()]


def test_who_is_on_a_node_is_known_whenever_it_is_asked_for() -> None:
    round_ = plan_round([2, 2], [planned(0, {(2, 2): 1.0}), planned(1, {1: 1.0}), planned(2, {1: 1.0})])
    options = PlanOptions.of(round_, PlanRules())
    early, late = PlanAllocation(round_, options), PlanAllocation(round_, options)
    assert early.on_node == [set(), set()]
    for allocation in (early, late):
        assert allocation.start(0, [0])
        assert allocation.start(1, [1])
        allocation.leave(0)
        assert allocation.start(2, [2])
    assert early.on_node == late.on_node == [{1, 2}, set()]


def test_jobs_that_are_placed_are_left_out_of_the_order() -> None:
    round_ = plan_round([4], [planned(0, {1: 1.0, 2: 1.5}), planned(1, {2: 3.0}), planned(2, {1: 2.0})])
    options = PlanOptions.of(round_, PlanRules())
    every = list(densest_first(round_, options))
    assert {job for job, _ in every} == {0, 1, 2}
    assert list(densest_first(round_, options, [0])) == [(job, mine) for job, mine in every if job != 0]
