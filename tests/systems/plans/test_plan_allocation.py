"""Seats of jobs: where an option goes, and that what can stay stays."""

from __future__ import annotations

from plan_rounds_for_policies import plan_round, planned, running

from muri_opt.systems.plans import PlanOptions, PlanRules
from muri_opt.systems.plans.allocation import PlanAllocation


def test_an_option_for_any_node_is_the_one_without_a_restart_where_the_job_can_stay() -> None:
    round_ = plan_round([2, 1], [running(0, {1: 1.0}, {"n0": 1})])
    options = PlanOptions.of(round_, PlanRules())
    home, anywhere = 0, 1
    assert options.home.tolist() == [0, -1]
    seating = PlanAllocation(round_, options)
    for option in (home, anywhere):
        seat = seating.seat_for(option)
        assert (seat.option, seat.nodes.tolist()) == (home, [0])
    assert seating.settled(anywhere, options.homes[0]) == home
    seating.free.gpus[0] = 0
    assert seating.seat_for(home) is None
    assert seating.seat_for(anywhere).nodes.tolist() == [1]
    assert seating.settled(anywhere, seating.seat_for(anywhere).nodes) == anywhere


def test_a_job_has_one_seat_and_leaves_it_whole() -> None:
    round_ = plan_round([2, 2], [planned(0, {(2, 2): 1.0}), planned(1, {2: 1.0})])
    options = PlanOptions.of(round_, PlanRules())
    seating = PlanAllocation(round_, options)
    assert seating.start(0, [0])
    assert not seating.start(0, [0])
    assert seating.free.gpus.tolist() == [1, 1]
    assert seating.on_node == [{0}, {0}]
    assert not seating.start(1, [1])
    seating.leave(0)
    assert seating.start(1, [1])
    assert seating.free.gpus.tolist() == [0, 2]
    assert seating.on_node == [{1}, set()]
