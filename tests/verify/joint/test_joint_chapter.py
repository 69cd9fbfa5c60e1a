"""The verifier's chapter: every mutant of a right answer is found out by the rule that it breaks."""

from __future__ import annotations

import pytest
from joint_rounds import joint_round
from msgspec.structs import replace

from muri_opt import Assignment, Cluster, Decision, InputError, Job, Node, Round, Tenant, policy_from
from muri_opt.rounds import LinearDuals
from muri_opt.verify import broken_rules, chapter_of

POLICY = policy_from("joint-s")
RULES = POLICY.rules
STAGES = ("storage", "gpu", "network")
PAIR = {"gpus": 1, "remaining_iterations": 5}


def pair_round():
    jobs = (
        Job(id="a", stage_seconds=(0.4, 0.1, 0.1), scaling={1: 1.0, 2: 1.5}, iteration_seconds=0.6, **PAIR),
        Job(id="b", stage_seconds=(0.1, 0.4, 0.1), scaling={1: 1.0, 2: 1.5}, iteration_seconds=0.6, **PAIR),
        Job(id="c", iteration_seconds=1.0, tenant="t", **PAIR),
    )
    cluster = Cluster(nodes=(Node(id="n0", gpus=2), Node(id="n1", gpus=1)), tenants=(Tenant(id="t", quota_gpus=1),))
    return Round(cluster=cluster, jobs=jobs, resources=STAGES)


def right():
    return Decision(
        assignments=(
            Assignment(jobs=("a", "b"), order=(0, 1), gpus={"n0": 1}, period_seconds=best_seconds()),
            Assignment(jobs=("c",), gpus={"n1": 1}, period_seconds=1.0),
        )
    )


def rules_broken(decision, round_=None):
    return {breach.rule for breach in broken_rules(round_ or pair_round(), RULES, decision)}


def with_first(**changes):
    first, *rest = right().assignments
    return replace(right(), assignments=(replace(first, **changes), *rest))


def test_the_right_answer_breaks_nothing_and_is_worth_what_it_says():
    chapter = chapter_of(pair_round(), RULES)
    decision = with_first(period_seconds=best_seconds())
    assert not rules_broken(decision)
    # a and b have 3 s of one GPU left, c has 5 s: lambda is 1/3 for a and b, who would end on two GPUs, and 0 for c
    worth = (1 + 2 / 3) * 0.4 / best_seconds()
    assert chapter.value(decision) == pytest.approx(1e6 * (2 * worth + 1), abs=3)


def best_seconds():
    """The least of both orders: each slot lasts as long as the longer stage in it."""
    a, b = (0.4, 0.1, 0.1), (0.1, 0.4, 0.1)
    return min(sum(max(a[slot], b[(slot - shift) % 3]) for slot in range(3)) for shift in (1, 2))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"period_seconds": 0.5}, "period"),
        ({"period_seconds": None}, "period"),
        ({"order": (0, 0)}, "order"),
        ({"gpus": {"n0": 2, "n1": 1}}, "share"),
        ({"jobs": ("a", "b", "c"), "order": (0, 1, 2)}, "job-once"),
        ({"jobs": ("a", "nobody")}, "known-job"),
        ({"gpus": {"nowhere": 1}}, "known-node"),
        ({"gpus": {"n0": 0}}, "whole-gpus"),
        ({"cpus": {"n0": 3.0}}, "cpus-with-gpus"),
    ],
)
def test_a_wrong_group_is_named(changes, rule):
    assert rule in rules_broken(with_first(**{"period_seconds": best_seconds(), **changes}))


def test_a_job_without_stages_shares_with_nobody():
    shared = Assignment(jobs=("a", "c"), order=(0, 1), gpus={"n0": 1}, period_seconds=1.0)
    alone = Assignment(jobs=("b",), gpus={"n1": 1}, period_seconds=0.6)
    assert rules_broken(Decision(assignments=(shared, alone))) == {"partners"}


def test_nodes_and_quotas_hold():
    full = Assignment(jobs=("a",), gpus={"n0": 2}, period_seconds=0.4)
    more = Assignment(jobs=("b",), gpus={"n0": 1}, period_seconds=0.6)
    alone = Assignment(jobs=("c",), gpus={"n1": 1}, period_seconds=1.0)
    assert rules_broken(Decision(assignments=(full, more, alone))) == {"gpu-capacity"}
    poor = replace(
        pair_round(), cluster=Cluster(nodes=pair_round().cluster.nodes, tenants=(Tenant(id="t", quota_gpus=0),))
    )
    assert rules_broken(with_first(period_seconds=best_seconds()), poor) == {"quota"}


@pytest.mark.parametrize(
    ("left", "restart", "saved"),
    [
        (9000, 60.0, 100_000),
        (600, 60.0, 100_000),
        (300, 60.0, 200_000),  # what it has left takes 300 s, less than the horizon
        (60, 60.0, 1_000_000),
        (5, 60.0, 10_000_000),
        (0, 60.0, 10_000_000),  # ten times as long at most
        (300, 0.0, 0),  # a microsecond, which rounding down shows where it is taken off
    ],
)
def test_who_moves_is_charged_or_who_stays_saves_as_much(left: int, restart: float, saved: int) -> None:
    now = {"state": "running", "restart_seconds": restart, "gpus": 1, "remaining_iterations": left}
    jobs = tuple(Job(id=name, iteration_seconds=1.0, placement={"n0": 1}, **now) for name in "ab")
    nodes = (Node(id="n0", gpus=2), Node(id="n1", gpus=2))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=jobs, resources=STAGES)
    stay, move = ({"n0": 1}, {"n1": 1})
    values = {
        restarts: [
            chapter_of(round_, {**RULES, "restarts": restarts}).value(
                Decision(assignments=(Assignment(jobs=("a",), gpus=gpus, period_seconds=1.0),))
            )
            for gpus in (stay, move)
        ]
        for restarts in ("stops", "pay", "ignore")
    }
    assert values["stops"] == [1_000_000 + saved, 1_000_000]
    assert values["pay"] == [1_000_000, 1_000_000 - min(1_000_000, saved) - (not restart)]
    assert values["ignore"] == [1_000_000, 1_000_000]


@pytest.mark.parametrize("seed", range(30))
def test_any_prices_bound_every_decision(seed):
    round_ = joint_round(seed)
    chapter, best = chapter_of(round_, RULES), chapter_of(round_, RULES).optimum(2_000_000)
    jobs = len(round_.jobs)
    for price in (0, 1_000, 700_000, 3_000_000):
        for multipliers in (
            {"gpus": (price,)},
            {"gpus": (price,), "once": (price,) * jobs},
            {"gpus": (price,), "kept": (price,) * len(round_.cluster.nodes)},
            {"stages": (price, price // 2, 0), "part": (price,)},
            {"gpus": (price,), "once": (price // 3,) * jobs, "alike": tuple(1 + place % 2 for place in range(jobs))},
            {"gpus": (price,), "alike": tuple(range(1, jobs + 1))},
        ):
            duals = LinearDuals(denominator=1, multipliers=multipliers)
            assert chapter.bound(Decision(), [duals])[0] >= best


@pytest.mark.parametrize(
    "multipliers",
    [
        {"alike": (1, 1)},
        {"alike": (1, 0, 0)},
        {"alike": (1, 1, 1), "cpus": (1,)},
        {"gpus": (-1,)},
        {"stages": (1,)},
        {"once": (1,)},
        {"nothing": (1,)},
        {"stages": (1, 1, 1), "gpus": (1,)},
    ],
)
def test_prices_that_make_no_sense_are_refused(multipliers):
    with pytest.raises(InputError):
        chapter_of(pair_round(), RULES).bound(Decision(), [LinearDuals(denominator=1, multipliers=multipliers)])


def test_rules_that_the_chapter_does_not_have_are_refused():
    with pytest.raises(InputError):
        chapter_of(pair_round(), {"chapter": "joint", "group": "5"})


def test_enumeration_counts_cpus_where_they_may_bind():
    node = Node(id="n0", gpus=2, cpus=1)
    round_ = Round(cluster=Cluster(nodes=(node,)), jobs=(Job(id="a", cpus=1, iteration_seconds=1.0, **PAIR),))
    assert chapter_of(round_, RULES).optimum(1000) == 1_000_000
    two = replace(round_, jobs=(round_.jobs[0], replace(round_.jobs[0], id="b")))
    assert chapter_of(two, RULES).optimum(1000) == 1_000_000
    assert chapter_of(replace(two, cluster=Cluster(nodes=(replace(node, cpus=2),))), RULES).optimum(1000) == 2_000_000
