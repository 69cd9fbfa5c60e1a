"""Where jobs run: bounds by classes, in which only what may go on as it is counts at its full worth."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
from alterations import claiming, rules_broken_by, with_evidence
from by_policy import formulation_of
from joint_rounds import SPECS, joint_round, large_joint_round
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt import Cluster, Job, Limits, Node, Round, policy_from, solve_round
from muri_opt.rounds import Budget, Decision, LinearDuals, after
from muri_opt.rounds.sharing_now import homes_now
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.program.class_prices import class_prices
from muri_opt.systems.joint.program.home_columns import HomeColumns
from muri_opt.systems.joint.rules import JointRules
from muri_opt.verify import chapter_of
from muri_opt.verify.joint import home_groups
from muri_opt.verify.joint.class_bound import bound_by_classes
from muri_opt.verify.joint.home_groups import Homes

STEPS = 2_000_000
FREE = Budget(limits=Limits(seconds=None))
PAYING = ("joint-s", "joint-l", "joint-s:group=4", "joint-s:slowdown=muri", "joint-s:group=2", "joint-s:restarts=pay")


def running_round(seed, policy):
    """Return a small round in which many run, with others than a decision of today would put together."""
    round_ = joint_round(seed, most_jobs=5)
    return after(round_, policy.decide(round_, 0)) if seed % 3 else round_


def workers_of(round_, policy):
    return chapter_of(round_, policy.rules)._workers


def offers_of(round_, policy):
    """Return what jobs offer by the rules of a policy, and what their work is worth if they restart."""
    rules = JointRules.of({name: said for name, said in policy.rules.items() if name != "chapter"})
    models = models_of(round_, rules)
    worth = worth_of(round_, models, rules)
    return Offers.of(round_, models, worth, rules), worth.changed.astype(np.float64) / worth.unit


def told_prices(round_, policy):
    return class_prices(round_, *offers_of(round_, policy), FREE).duals


def listed(homes):
    alone = {((place,), gpus) for place, gpus in enumerate(homes.alone) if gpus}
    several = {
        (tuple(sorted(row)), gpus) for size in (2, 3, 4) for gpus, rows in homes.groups(size) for row in rows.tolist()
    }
    return alone | several


@pytest.mark.parametrize("spec", PAYING)
@some_then_all(25, 150)
def test_groups_that_may_go_on_are_those_that_lose_nothing(seeds, spec):
    policy, seen = policy_from(spec), 0
    for seed in seeds:
        round_ = running_round(seed, policy)
        workers = workers_of(round_, policy)
        expected = set()
        for size in range(1, workers.most_jobs + 1):
            for group in combinations(range(len(workers.jobs)), size):
                home = workers.jobs[group[0]].home
                if home and workers.able(group, sum(home.values())) and workers.goes_on(group, home):
                    expected.add((group, sum(home.values())))
        assert listed(Homes.of(workers)) == expected, seed
        columns = HomeColumns.of(round_, offers_of(round_, policy)[0])
        rows = zip(columns.members.tolist(), columns.gpus.tolist(), strict=True)
        assert {(tuple(sorted(job for job in row if job >= 0)), gpus) for row, gpus in rows} == expected, seed
        seen += sum(len(group) > 1 for group, _ in expected)
    assert seen > 3


@pytest.mark.parametrize("spec", SPECS)
@some_then_all(25, 150)
def test_no_prices_prove_less_than_the_optimum(seeds, spec):
    """Prices of classes, as they are and lowered at random; and those of jobs that run nowhere, or that are too few."""
    policy, draw = policy_from(spec), Random(7)
    for seed in seeds:
        round_ = running_round(seed, policy)
        chapter = chapter_of(round_, policy.rules)
        best = chapter.optimum(STEPS)
        told = dict(told_prices(round_, policy).multipliers)
        for part in (1.0, 0.97, 0.6, 0.0):
            once = tuple(int(price * (part if draw.random() < 0.7 else 1)) for price in told["once"])
            gpus = tuple(int(price * draw.choice((1, part))) for price in told["gpus"])
            classes = tuple(draw.choice((one, 1)) if one else 0 for one in told["alike"])
            for alike in (told["alike"], classes):
                duals = LinearDuals(denominator=1, multipliers={"gpus": gpus, "once": once, "alike": alike})
                assert chapter.bound(Decision(), [duals])[0] >= best, (seed, part)


def test_where_too_many_run_together_they_count_as_if_nothing_cost_them_a_restart(monkeypatch):
    policy, looser = policy_from("joint-s"), 0
    for seed in range(180, 290):
        round_ = running_round(seed, policy)
        workers, duals = workers_of(round_, policy), told_prices(round_, policy)
        bound, best = bound_by_classes(round_, workers, duals), chapter_of(round_, policy.rules).optimum(STEPS)
        with monkeypatch.context() as patch:
            patch.setattr(home_groups, "MOST_GROUPS", 0)
            crowded = bound_by_classes(round_, workers, duals)
        assert crowded >= best, seed
        looser += crowded > bound
    assert looser


def two_on_one_gpu(left):
    """Return two jobs that share a GPU of a node, with a restart of a minute; the other node has a GPU, too."""
    jobs = tuple(
        Job(
            id=name,
            gpus=1,
            stage_seconds=(0.6, 0.2, 0.2),
            remaining_iterations=left,
            state="running",
            placement={"n0": 1},
            restart_seconds=60.0,
        )
        for name in "ab"
    )
    nodes = (Node(id="n0", gpus=1), Node(id="n1", gpus=1))
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs, resources=("storage", "gpu", "network"))


@pytest.mark.parametrize(("left", "tenths"), [(600, 11), (60, 20)])  # of what going on is worth with what it saves
def test_a_job_that_shares_now_restarts_if_it_is_left_alone(left, tenths):
    """Both restart if they part, and one stays on their GPU only with the other: there is no other GPU of the node."""
    round_, policy = two_on_one_gpu(left), policy_from("joint-s")
    homes = Homes.of(workers_of(round_, policy))
    assert listed(homes) == {((0, 1), 1)}
    together = 2 * (100_000 * tenths * 10 // 14)  # slots of 0.6, 0.6 and 0.2 s, where each alone takes a second
    best = chapter_of(round_, policy.rules).optimum(STEPS)
    assert best == max(together, 2 * 1_000_000)
    bound, _ = chapter_of(round_, policy.rules).bound(Decision(), [told_prices(round_, policy)])
    assert best <= bound <= best + 10


@pytest.mark.parametrize("spec", ["joint-s", "joint-s:restarts=pay", "joint-l:restarts=pay"])
def test_what_runs_is_bounded_within_a_few_percent(spec):
    policy = policy_from(spec)
    first = large_joint_round(7, jobs=60, nodes=4)
    then = after(first, policy.decide(first, 0))
    others = large_joint_round(8, jobs=20, nodes=4).jobs
    named = tuple(replace(job, id=f"new-{job.id}") for job in others)
    round_ = Round(cluster=then.cluster, jobs=(*then.jobs, *named), resources=then.resources)
    found = formulation_of(policy).search(round_, None, FREE, None, None)
    chapter = chapter_of(round_, policy.rules)
    value, (bound, _) = chapter.value(found.decision), chapter.bound(found.decision, [found.duals])
    assert value <= bound <= 1.04 * value


def test_a_bound_below_what_its_prices_prove_is_refused():
    policy = policy_from("joint-s")
    first = large_joint_round(3, jobs=50, nodes=3)
    round_ = after(first, policy.decide(first, 0))
    assert any(len(home.jobs) > 1 for home in homes_now(round_).homes)
    found = formulation_of(policy).search(round_, None, FREE, None, None)
    bound, _ = chapter_of(round_, policy.rules).bound(found.decision, [found.duals])
    told = with_evidence(solve_round(round_, policy, "heuristic"), found.duals)
    assert not rules_broken_by(round_, claiming(told, bound=bound))
    assert rules_broken_by(round_, claiming(told, bound=bound - 1)) == {"proof"}
