"""Each amount of fairness on a round small enough to count it by hand."""

import pytest

from muri_opt import Assignment, Cluster, Decision, Job, Node, Plan, Round, Tenant
from muri_opt.testing import FAIRNESS, INVARIANTS, Case, Tier, published
from muri_opt.testing.rules_and_value import Judge

CLUSTER = Cluster(nodes=(Node(id="n0", gpus=4),), tenants=(Tenant(id="a"), Tenant(id="b", quota_gpus=1)))


def job(place, gpus, tenant=None, **fields):
    given = {"remaining_iterations": 1, "iteration_seconds": 1.0, "submitted": float(place)}
    return Job(id=f"j{place}", gpus=gpus, tenant=tenant, **given | fields)


def says(**shares):
    return lambda _round: Decision(
        assignments=tuple(Assignment(jobs=(name,), gpus={"n0": gpus}) for name, gpus in shares.items())
    )


def amount(name, allocator, *jobs, policy=None):
    round_ = Round(cluster=CLUSTER, jobs=jobs)
    case = Case(allocator=allocator, round_=round_, judge=Judge(policy=policy))
    found = INVARIANTS[name].measured(case)
    return None if found is None else (found.amount, found.detail)


def test_amounts_have_a_limit_that_can_be_set():
    assert {one.tier for one in FAIRNESS} == {Tier.FAIRNESS}
    round_ = Round(cluster=CLUSTER, jobs=(job(0, 3), job(1, 2)))
    envy = INVARIANTS["envy"]
    assert envy.check(says(j0=3), round_).amount == 0.5
    assert envy.allowing(0.5).check(says(j0=3), round_) is None


def test_a_claimant_that_gets_less_than_its_part_lacks_the_rest():
    lacks = amount("sharing-incentive", says(j0=3, j2=1), job(0, 3, "a"), job(1, 1), job(2, 1))
    assert lacks == (1.0, "job 'j1' uses 0 GPUs; an equal part of the cluster, 1, would let it use 1")
    half = amount("sharing-incentive", says(j0=1, j2=3), job(0, 1, "a"), job(1, 1, "a"), job(2, 3))
    assert half == (0.5, "tenant 'a' uses 1 GPUs; an equal part of the cluster, 2, would let it use 2")


def test_a_quota_is_no_lack():
    assert amount("sharing-incentive", says(j0=1), job(0, 1, "b"), job(1, 1, "b")) == (0.0, "nobody lacks anything")


def test_a_job_that_could_start_beside_the_others_is_waste():
    words = "job 'j1' waits; 2 GPUs that it could start on stay idle"
    assert amount("pareto", says(j0=2), job(0, 2), job(1, 2), job(2, 1)) == (0.5, words)
    assert amount("pareto", says(j0=3), job(0, 3), job(1, 2))[0] == 0.0


def test_envy_counts_what_the_other_one_has():
    words = "job 'j1' uses 0 GPUs; with the 3 of job 'j0' it would use 2 GPUs"
    assert amount("envy", says(j0=3), job(0, 3), job(1, 2)) == (0.5, words)
    assert amount("envy", says(j0=2, j1=2), job(0, 2), job(1, 2)) == (0.0, "nobody envies anybody")


def test_asking_for_less_can_help():
    words = "job 'j1' waits with its 4 GPUs, and runs if it asks for 2"
    assert amount("understating", published("fifo"), job(0, 2), job(1, 4)) == (0.5, words)
    assert amount("understating", published("fifo"), job(0, 2), job(1, 5))[0] == 0.0, "it would not run alone either"


def test_the_distance_to_the_optimum_is_a_part_of_it():
    weighted = "fifo:objective=weighted"
    assert amount("near-optimum", published(weighted), job(0, 1), job(1, 4), policy=weighted) == (
        0.5,
        "worth 2; the optimum of fifo:objective=weighted is 4",
    )
    assert amount("near-optimum", says(j0=1), job(0, 1))[0] == 0.0


def test_an_optimum_that_is_not_proved_is_held_against_nobody(monkeypatch):
    monkeypatch.setattr("muri_opt.testing.invariants_fairness.EXACT_SECONDS", 0.0)
    assert amount("near-optimum", says(), job(0, 1)) is None


@pytest.mark.parametrize("name", ["sharing-incentive", "pareto", "envy", "near-optimum"])
def test_a_decision_that_is_not_possible_has_no_amount(name):
    assert amount(name, says(j0=9), job(0, 9)) is None


def test_shares_and_plans_count_the_gpus_they_can_use():
    table = {1: 1.0, 2: 2.0, 3: 3.0}
    less = amount("sharing-incentive", says(j0=1), job(0, 1, scaling=table), policy="afs-l")
    assert less == (pytest.approx(2 / 3), "job 'j0' uses 1 GPUs; an equal part of the cluster, 4, would let it use 3")
    plans = (Plan(name="p1", gpus=1, throughput=1.0), Plan(name="p2", gpus=2, throughput=2.0))
    idle = amount("pareto", says(), job(0, 1, plans=plans, plan="p1"), policy="rubick")
    assert idle == (0.25, "job 'j0' waits; 1 GPUs that it could start on stay idle")
    half = amount("sharing-incentive", published("rubick"), job(0, 1, plans=plans[:1], plan="p1"), policy="rubick")
    assert half == (0.0, "nobody lacks anything")


def test_plans_that_a_policy_does_not_allow_are_no_lack():
    plans = (Plan(name="p1", gpus=1, throughput=1.0), Plan(name="p3", gpus=3, throughput=2.0))
    asked = job(0, 1, plans=plans, plan="p1")
    assert amount("sharing-incentive", published("synergy"), asked, policy="synergy")[0] == 0.0
    small = Decision(assignments=(Assignment(jobs=("j0",), plan="p1", gpus={"n0": 1}),))
    assert amount("sharing-incentive", lambda _round: small, asked, policy="rubick")[0] == pytest.approx(2 / 3)
    assert amount("understating", published("rubick"), asked, policy="rubick") is None
