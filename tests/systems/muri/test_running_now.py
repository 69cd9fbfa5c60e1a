"""Who runs where, by numbers of nodes, is what the round says by their names."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from test_muri_stillness import drawn

from muri_opt import policy_from
from muri_opt.rounds.sharing_now import homes_now
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.group_worth import GroupWorth
from muri_opt.systems.muri.running_now import RunningNow


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
    for home, placement in zip(named.homes, range(len(now.places)), strict=True):
        assert {names[node]: gpus for node, gpus in now.places[placement]} == dict(home.held)
        assert now.gpus[placement] == sum(gpus for _, gpus in home.held)


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
