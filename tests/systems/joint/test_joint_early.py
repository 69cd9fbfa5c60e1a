"""The early answers of the joint policies: rough, soon and valid, and without any say in what is found in the end."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random
from typing import Any

import pytest
from bound_joint_rounds import with_all, with_priorities, with_tenants, with_types
from joint_rounds import large_joint_round, mixed_joint_round
from msgspec.structs import replace
from seeds import chunk_by_chunk

from muri_opt import InputError, Limits, Round, policy_from
from muri_opt.rounds import Budget, after
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.partners import Blocks
from muri_opt.systems.joint.search import by_priority
from muri_opt.verify import broken_rules, chapter_of, decision_value

AT_ONCE = Limits(seconds=1e-9)
LONG = Limits(seconds=1e9)
KINDS = {"few": (40, 5), "more": (196, 12), "very many": (450, 40)}


def half_run(round_: Round, policy: str) -> Round:
    """Return the round after an early answer, in which some jobs are new."""
    then = after(round_, policy_from(policy).decide_within(round_, 0, Budget(limits=AT_ONCE)))
    fresh = {"state": "waiting", "placement": None}
    return replace(then, jobs=tuple(replace(job, **fresh) if at % 3 == 0 else job for at, job in enumerate(then.jobs)))


@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("priorities", [1, 3, 1000])
def test_early_answers_break_no_rule(policy: str, kind: str, priorities: int) -> None:
    jobs, nodes = KINDS[kind]
    chosen = policy_from(policy)
    for seed in range(2):
        round_ = with_all(large_joint_round(seed, jobs=jobs, nodes=nodes), seed, priorities)
        soon = chosen.decide_within(round_, 0, Budget(limits=AT_ONCE))
        assert not broken_rules(round_, chosen.rules, soon), seed
        assert not [*chapter_of(round_, chosen.rules).reason_breaches(soon)], seed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("priorities", [1, 3, 30])
def test_early_answers_beside_what_runs_break_no_rule(kind: str, priorities: int) -> None:
    jobs, nodes = KINDS[kind]
    chosen, round_ = policy_from("joint-l"), large_joint_round(7, jobs=jobs, nodes=nodes)
    round_ = half_run(with_all(round_, 7, priorities), "joint-l")
    soon = chosen.decide_within(round_, 0, Budget(limits=AT_ONCE))
    assert not broken_rules(round_, chosen.rules, soon)
    assert not [*chapter_of(round_, chosen.rules).reason_breaches(soon)]


@chunk_by_chunk(30, 60, 30)
def test_early_answers_of_mixed_rounds_break_no_rule(seeds: range) -> None:
    chosen = policy_from("joint-s")
    for seed in seeds:
        try:
            round_ = mixed_joint_round(seed)
        except InputError:  # of a running job that makes the round impossible
            continue
        soon = chosen.decide_within(round_, 0, Budget(limits=AT_ONCE))
        assert not broken_rules(round_, chosen.rules, soon), seed
        assert not [*chapter_of(round_, chosen.rules).reason_breaches(soon)], seed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("priorities", "runs"),
    [(1, False), (30, True), *(pytest.param(*both, marks=pytest.mark.slow) for both in ((1, True), (30, False)))],
)
def test_they_do_not_change_the_last_answer(kind: str, priorities: int, runs: bool) -> None:
    jobs, nodes = KINDS[kind]
    chosen, round_ = policy_from("joint-s"), large_joint_round(11, jobs=jobs, nodes=nodes)
    round_ = (
        with_types(round_, 11) if priorities == 1 else with_priorities(with_tenants(round_, 11, 0.3), 11, priorities)
    )
    round_ = half_run(round_, "joint-s") if runs else round_
    assert chosen.decide_within(round_, 0, Budget(limits=LONG)) == chosen.decide(round_, 0)


@pytest.mark.parametrize("policy", ["joint-s", "joint-s:group=1"])
@pytest.mark.parametrize("seed", range(4))
def test_nor_do_they_where_nobody_shares_or_gains_by_it(policy: str, seed: int) -> None:
    chosen, round_ = policy_from(policy), with_tenants(large_joint_round(seed, jobs=30, nodes=20), seed, 0.05)
    assert chosen.decide_within(round_, 0, Budget(limits=LONG)) == chosen.decide(round_, 0)


def test_few_jobs_are_not_looked_at_for_longer_than_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("members are exchanged before there is an answer")

    monkeypatch.setattr(Blocks, "regrouped", refuse)
    chosen, round_ = policy_from("joint-s"), large_joint_round(2, jobs=120, nodes=10)
    soon = chosen.decide_within(round_, 0, Budget(limits=AT_ONCE))
    assert any(len(one.jobs) > 1 for one in soon.assignments)
    with pytest.raises(AssertionError):
        chosen.decide(round_, 0)


def test_the_first_answer_of_a_process_does_not_load_scipy() -> None:
    said = """
import sys
from joint_rounds import large_joint_round
from muri_opt import Limits, policy_from
from muri_opt.rounds import Budget
round_, at_once = large_joint_round(2, jobs=120, nodes=10), Budget(limits=Limits(seconds=1e-9))
soon = policy_from("joint-s").decide_within(round_, 0, at_once)
print(len(soon.assignments) > 0, "scipy.optimize" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True, env=_environment())
    assert found.stdout.split() == ["True", "False"]


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.parametrize("jobs", [0, 1, 2])
@pytest.mark.parametrize("nodes", [0, 1])
@pytest.mark.parametrize("limits", [AT_ONCE, LONG, Limits(seconds=None)])
def test_there_may_be_no_nodes_or_no_jobs(jobs: int, nodes: int, limits: Limits) -> None:
    round_ = with_priorities(large_joint_round(0, jobs=jobs, nodes=nodes), 1, 5)
    found = policy_from("joint-s").decide_within(round_, 0, Budget(limits=limits))
    assert bool(found.assignments) == bool(jobs and nodes)
    assert not broken_rules(round_, policy_from("joint-s").rules, found)


@pytest.mark.parametrize("seed", range(3))
def test_they_are_worth_most_of_what_is_found_in_the_end(seed: int) -> None:
    chosen, round_ = policy_from("joint-s"), large_joint_round(seed, jobs=150, nodes=12)
    soon = decision_value(round_, chosen.rules, chosen.decide_within(round_, 0, Budget(limits=AT_ONCE)))
    assert soon > 0.85 * decision_value(round_, chosen.rules, chosen.decide(round_, 0))


def test_jobs_of_very_many_priorities_are_not_decided_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    real = by_priority.revising

    def counted(*given: object) -> object:
        looks.append(given)
        return real(*given)

    monkeypatch.setattr(by_priority, "revising", counted)
    chosen = policy_from("joint-s")
    round_ = with_tenants(large_joint_round(4, jobs=400, nodes=30), 4, 0.2)
    round_ = with_priorities(round_, 4, 1000)
    soon = chosen.decide_within(round_, 0, Budget(limits=AT_ONCE))
    assert not broken_rules(round_, chosen.rules, soon)
    assert len(looks) <= 6
    looks.clear()
    last = chosen.decide(round_, 0)
    assert len(looks) > 12
    assert decision_value(round_, chosen.rules, last) > 0


@pytest.mark.parametrize("seed", range(6))
def test_jobs_of_larger_priorities_have_what_they_wish(seed: int) -> None:
    """Where each job has a priority of its own, each has the GPUs on which it is worth most, until they run out."""
    draw = Random(seed)
    round_ = large_joint_round(seed, jobs=40, nodes=4)
    order = draw.sample(range(40), 40)
    round_ = replace(
        round_, jobs=tuple(replace(job, priority=rank) for job, rank in zip(round_.jobs, order, strict=True))
    )
    soon = policy_from("joint-s").decide_within(round_, 0, Budget(limits=AT_ONCE))
    given = {name: sum(one.gpus.values()) for one in soon.assignments for name in one.jobs}
    left = 32
    for job in sorted(round_.jobs, key=lambda job: -(job.priority or 0)):
        assert job.scaling is not None
        wish = max((count for count in job.scaling if count <= left), key=lambda count: job.scaling[count], default=0)
        if left < 8:  # who comes now finds less than it wishes, and may share
            break
        assert given[job.id] == wish
        left -= wish


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("priorities", [1, 3])
def test_of_very_many_sizes_few_are_looked_at_first(
    runs: bool, priorities: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = policy_from("joint-s")
    round_ = with_priorities(large_joint_round(5, jobs=80, nodes=12, most=29), 5, priorities)
    round_ = half_run(round_, "joint-s") if runs else round_
    last, looked, real = chosen.decide(round_, 0), list[int](), by_priority.Offers

    class Counted:
        @staticmethod
        def of(*given: Any, rough: bool) -> Offers:
            offers = real.of(*given, rough=rough)
            looked.append(len(offers.counts))
            return offers

    monkeypatch.setattr(by_priority, "Offers", Counted)
    soon = chosen.decide_within(round_, 0, Budget(limits=AT_ONCE))
    assert looked == ([30] if runs else [10])  # what runs may have any size
    assert not broken_rules(round_, chosen.rules, soon)
    assert decision_value(round_, chosen.rules, soon) > 0.6 * decision_value(round_, chosen.rules, last)
    assert chosen.decide_within(round_, 0, Budget(limits=LONG)) == last
