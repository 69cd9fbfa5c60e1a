"""Who runs where, by numbers of nodes, is what the round says by their names."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from handmade import gang, round_of
from test_muri_stillness import drawn

from muri_opt import Node, policy_from
from muri_opt.rounds.sharing_now import homes_now
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.group_worth import GroupWorth
from muri_opt.systems.muri.running_now import RunningNow
from muri_opt.systems.muri.still_places import RunningPlaces, StillPlaces


@pytest.mark.parametrize("seed", range(40))
def test_a_group_goes_on_where_it_does_by_names(seed: int) -> None:
    round_, draw = drawn(seed, 12), Random(seed)
    named, now = homes_now(round_), RunningNow.in_round(round_)
    names = [node.id for node in round_.cluster.nodes]
    runs = [job for job, placement in enumerate(now.of) if placement >= 0]
    where = [None if placement < 0 else now.places[placement] for placement in now.of]
    again = RunningNow.if_placed(round_, where)
    assert (again.of, again.places, again.most) == (now.of, now.places, now.most)
    for _ in range(60 if runs else 0):
        group = tuple(draw.sample(range(len(round_.jobs)), draw.randint(1, min(4, len(round_.jobs)))))
        places = now.places[now.of[draw.choice(runs)]]
        by_name = {names[node]: gpus for node, gpus in places}
        assert now.goes_on(group, places) == named.goes_on(group, by_name)
        assert now.go_on({group: places}) == [now.goes_on(group, places)]
    for held, placement in zip(named.homes, range(len(now.places)), strict=True):
        assert {names[node]: gpus for node, gpus in now.places[placement]} == dict(held.held)
        assert now.gpus[placement] == sum(gpus for _, gpus in held.held)


@pytest.mark.parametrize("spec", ["muri-s", "muri-l:objective=progress", "muri-s:objective=gpu-time"])
@pytest.mark.parametrize("seed", range(10))
def test_a_union_is_worth_what_the_group_of_its_jobs_is(spec: str, seed: int) -> None:
    round_ = drawn(seed, 12)
    worth = GroupWorth.of(round_, GroupRules.of(policy_from(spec).rules))
    jobs = [*range(len(round_.jobs))]
    groups = [tuple(jobs[start : start + size]) for size in (1, 2) for start in range(0, len(jobs) - size + 1, size)]
    pairs = [(a, b) for a in range(len(groups)) for b in range(len(groups)) if not set(groups[a]) & set(groups[b])]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    unions = [groups[a] + groups[b] for a, b in pairs]
    assert worth.of_unions(groups, first, second).tolist() == worth.of_groups(unions, [False] * len(unions))


@pytest.mark.parametrize("seed", range(10))
def test_a_group_that_is_asked_for_again_is_worth_the_same_unless_restarts_cost_otherwise(seed: int) -> None:
    round_, draw = drawn(seed, 12), Random(seed)
    worth = GroupWorth.of(round_, GroupRules.of(policy_from("muri-s").rules))
    count = len(round_.jobs)
    groups = [tuple(draw.sample(range(count), draw.randint(1, min(4, count)))) for _ in range(30)]
    kept = [draw.random() < 0.5 for _ in groups]
    worth.of_groups(groups[::2], kept[::2])
    one_by_one = [
        replace(worth, restart=worth.restart).of_groups([group], [stays])[0]
        for group, stays in zip(groups, kept, strict=True)
    ]
    assert worth.of_groups(groups, kept) == one_by_one
    free = replace(worth, restart=np.zeros_like(worth.restart))
    assert free.of_groups(groups, kept) == worth.of_groups(groups, [True] * len(groups))


def test_a_group_runs_in_whatever_order_its_jobs_are_given() -> None:
    running = RunningPlaces({(3, 1): ((0, 2),)})
    assert running.get((1, 3)) == running.get((3, 1)) == ((0, 2),)
    assert running.has_each([(1, 3), (1,), (1, 2)]) == [True, False, False]


def test_a_group_that_no_node_could_hold_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [gang(place, 1, cpus=1.0, stage_seconds=(1.0, 1.0, 1.0, 1.0)) for place in range(3)]
    places, times = StillPlaces(round_=round_of([Node(id="n0", gpus=1, cpus=1.0)], jobs), line=[0, 1, 2]), []
    fill = StillPlaces._filled
    monkeypatch.setattr(StillPlaces, "_filled", lambda self, *given: times.append(1) or fill(self, *given))
    assert places.placed([(0, 1), (2,)], RunningPlaces({})).placed == {(2,): ((0, 1),)}
    assert len(times) == 1
    assert places.placed([(0,), (1,)], RunningPlaces({})).placed == {(0,): ((0, 1),)}
    assert len(times) > 2, "one that only finds no room is tried before the others"
