"""Gangs placed around what runs: the cheapest restarts, no needless move, fewer nodes, and nothing lost on the way."""

from __future__ import annotations

import numpy as np
import pytest
from by_policy import broken_rules, decision_value
from msgspec.structs import replace
from plain_changes import places_of, with_restarts

from muri_opt import Assignment, Cluster, Decision, Job, Node, Round, policy_from
from muri_opt.rounds import after
from muri_opt.rounds.change_costs import change_cost, changes_cost
from muri_opt.rounds.generate.families import generate
from muri_opt.systems.capacity import Leftover, held_gpus
from muri_opt.systems.capacity.rearrangement import Rearrangement

SPECS = ("srtf", "las:nodes=fewest", "max-min")


def job(name: str, gpus: int, remaining: int, restart: float | None = None, **placement: int) -> Job:
    return Job(
        id=name,
        gpus=gpus,
        remaining_iterations=remaining,
        iteration_seconds=1.0,
        restart_seconds=restart,
        state="running" if placement else "waiting",
        placement=placement or None,
    )


def round_of(sizes: dict[str, int], *jobs: Job) -> Round:
    nodes = tuple(Node(id=name, gpus=gpus) for name, gpus in sizes.items())
    return Round(name="handmade", cluster=Cluster(nodes=nodes), jobs=jobs)


def places(round_: Round, spec: str) -> dict[str, dict[str, int]]:
    return places_of(policy_from(spec).decide(round_, 0))


@pytest.mark.parametrize(("restart", "goes"), [(5.0, "two"), (None, "two"), (40.0, "one")])
def test_the_gang_moves_whose_restart_costs_less_not_that_with_fewer_gpus(restart: float | None, goes: str) -> None:
    one, two = job("one", 1, 2, 60.0, n0=1), job("two", 2, 2, restart, n1=2)
    last, four = job("last", 1, 2, 600.0, n2=1), job("four", 4, 1)
    found = places(round_of({"n0": 4, "n1": 4, "n2": 4}, one, two, last, four), "srtf:nodes=fewest")
    moved = [gang.id for gang in (one, two, last) if found[gang.id] != gang.placement]
    assert moved == [goes]
    assert sorted(map(len, found.values())) == [1, 1, 1, 1]


def test_what_runs_stays_though_a_job_before_it_in_the_order_would_fit_best_there() -> None:
    runs, first, wide = job("runs", 2, 9, 30.0, n0=2), job("first", 3, 1), job("wide", 3, 2)
    found = places(round_of({"n0": 4, "n1": 4}, runs, first, wide), "srtf")
    assert found["runs"] == {"n0": 2}
    assert len(found) == 3


def test_gangs_that_start_are_on_fewer_nodes_where_others_that_start_can_make_room() -> None:
    """In the order of the list the small ones take a GPU of two nodes each, and the gang of four is on two."""
    round_ = round_of({"n0": 5, "n1": 3}, job("a", 1, 1, n1=1), job("b", 2, 2), job("c", 4, 3))
    paid, ignored = (places(round_, f"srtf:restarts={how}") for how in ("pay", "ignore"))
    assert paid["a"] == ignored["a"] == {"n1": 1}
    assert sum(map(len, paid.values())) == 3
    assert sum(map(len, paid.values())) <= sum(map(len, ignored.values()))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("family", ["gangs", "tenants"])
def test_no_change_can_be_undone_alone_and_deciding_again_changes_nothing(family: str, spec: str) -> None:
    for seed in range(6):
        round_ = with_restarts(generate(family, jobs=40, nodes=4, seed=seed), seed)
        decision = policy_from(spec).decide(round_, 0)
        assert broken_rules(round_, decision, spec) == []
        value = decision_value(round_, spec, decision)
        for changed in round_.jobs:
            if changed.state == "running" and places_of(decision).get(changed.id) != changed.placement:
                before = undone(decision, changed)
                assert broken_rules(round_, before, spec) or decision_value(round_, spec, before) < value
        then = after(round_, decision)
        assert changes_cost(then, policy_from(spec).decide(then, 0)) == 0


def undone(decision: Decision, one: Job) -> Decision:
    """Return the decision with a job where it runs now."""
    others = tuple(other for other in decision.assignments if one.id not in other.jobs)
    gpus = dict(one.placement or {})
    milli = round((one.cpus or 0.0) * 1000)
    share = -(-milli // one.gpus)
    cpus = {node: count * share / 1000 for node, count in gpus.items()} if milli else {}
    was = Assignment(jobs=(one.id,), gpus=gpus, cpus=cpus, period_seconds=one.iteration_seconds)
    waiting = tuple(wait for wait in decision.waiting if wait.job != one.id)
    return Decision(assignments=(*others, was), waiting=waiting)


@pytest.mark.parametrize("demands", [False, True])
def test_what_is_taken_together_or_given_back_is_what_is_taken_one_by_one(demands: bool) -> None:
    round_ = generate("tenants", jobs=60, nodes=6, seed=3, demands=demands)
    held = {place: now for place in range(60) if (now := held_gpus(round_, place)) is not None}
    assert len(held) > 8
    single, together = Leftover(round_), Leftover.beside(round_, held)
    for place, share in held.items():
        assert single.holds_share(place, share)
        single.take(share, place)
    assert (single.left == together.left).all()
    assert (single.quota == together.quota).all()
    for place, share in held.items():
        together.give_back(share, place)
    assert (together.left == Leftover(round_).left).all()
    assert (together.quota == Leftover(round_).quota).all()


def test_a_step_that_does_not_work_leaves_everything_as_it_was() -> None:
    round_ = round_of({"n0": 2, "n1": 2}, job("a", 2, 1, 1.0, n0=2), job("b", 2, 1, 1.0, n1=2), job("c", 4, 1))
    homes = {place: np.array(share) for place, share in enumerate([[2, 0], [0, 2]])}
    made = Rearrangement(round_, homes, homes, fixed=(), consolidate=False)
    assert not made.make_room(2)
    assert {place: share.tolist() for place, share in made.shares.items()} == {0: [2, 0], 1: [0, 2]}
    assert made.moved() == []


def test_a_restart_that_is_not_told_counts_a_microsecond_for_each_gpu() -> None:
    gang = job("a", 4, 1, None, n0=3, n1=1)
    assert change_cost(gang) == change_cost(replace(gang, restart_seconds=0.0)) == 4
    assert change_cost(replace(gang, restart_seconds=1.5)) == 6_000_000
    assert change_cost(replace(gang, placement={"n0": 0})) == 1


def rearranged(round_: Round, homes: dict[int, list[int]], shares: dict[int, list[int]]) -> Rearrangement:
    held, now = ({place: np.array(share) for place, share in some.items()} for some in (homes, shares))
    return Rearrangement(round_, now, held, fixed=(), consolidate=False)


def test_a_moved_gang_goes_home_where_the_one_in_its_place_fits_elsewhere() -> None:
    round_ = round_of({"n0": 2, "n1": 2}, job("a", 2, 1, 30.0, n0=2), job("b", 2, 1))
    made = rearranged(round_, {0: [2, 0]}, {0: [0, 2], 1: [2, 0]})
    assert made.moved() == [0]
    made.undo_moves()
    assert {place: share.tolist() for place, share in made.shares.items()} == {0: [2, 0], 1: [0, 2]}


def test_gangs_that_are_loose_are_put_on_fewer_nodes_and_none_that_is_at_home() -> None:
    round_ = round_of({"n0": 4, "n1": 4}, job("b", 2, 1), job("c", 4, 1), job("h", 2, 1, 1.0, n0=1, n1=1))
    made = rearranged(round_, {}, {0: [2, 0], 1: [2, 2]})
    made.on_fewer_nodes()
    assert {place: share.max() for place, share in made.shares.items()} == {0: 2, 1: 4}
    tight = rearranged(round_, {2: [1, 1]}, {0: [2, 0], 1: [1, 3], 2: [1, 1]})
    tight.on_fewer_nodes()
    assert {place: share.tolist() for place, share in tight.shares.items()} == {0: [2, 0], 1: [1, 3], 2: [1, 1]}
