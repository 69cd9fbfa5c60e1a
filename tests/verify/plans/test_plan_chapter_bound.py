"""Prices of jobs and quotas bound every decision among plans: any prices, and the right ones exactly."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from alterations import claiming, replace, rules_broken_by, with_duals
from by_policy import enumerated_optimum, proved_bound, settings_of
from handmade import round_of
from hypothesis import event, given, strategies as st
from more_examples import more_examples
from plan_rounds import plan_prices, plan_rounds, planning_policies, result_of, rules_for
from planning_rounds import EveryChoice, random_plan_round

from muri_opt import Guarantee, InputError, Job, Node, Plan, Reason, Round, Tenant, verify
from muri_opt.rounds import LinearDuals, Proof
from muri_opt.systems.plans import FreeNodes, PlanOptions, PlanRules, plan_decision
from muri_opt.verify import node_filling
from muri_opt.verify.plans.counting import counted_plans
from muri_opt.verify.plans.dual_bound import planned_bound
from muri_opt.verify.plans.plan_choices import PlanChoices
from muri_opt.verify.plans.value import Planned


def naive_optimum(round_: Round, options: PlanOptions) -> int:
    """Return the largest value of any options on any nodes, by trying everything."""
    free = FreeNodes(round_, options)

    def most(job: int) -> int:
        if job == len(round_.jobs):
            return 0
        best = most(job + 1)
        for o in options.of_job(job) if free.within_quota(job) else ():
            for nodes in combinations(np.flatnonzero(free.room(o)).tolist(), int(options.q[o])):
                free.take(o, np.array(nodes))
                best = max(best, int(options.e[o]) + most(job + 1))
                free.give(o, np.array(nodes))
        return best

    return most(0)


@given(plan_rounds(), planning_policies())
@more_examples(150)
def test_enumeration_equals_trying_everything(round_: Round, policy: str) -> None:
    options = PlanOptions.of(round_, rules_for(policy))
    assert enumerated_optimum(round_, policy) == naive_optimum(round_, options)


@given(plan_rounds(), planning_policies(), st.data())
@more_examples(200)
def test_any_prices_give_a_bound_no_decision_exceeds(round_: Round, policy: str, data: st.DataObject) -> None:
    best = enumerated_optimum(round_, policy, steps=1_000_000)
    assert best is not None
    duals = data.draw(plan_prices(round_, data.draw(st.sampled_from([10, 1_000_000, 10**7]))))
    planned = settings_of(policy)
    assert planned is not None
    bound = planned_bound(round_, PlanChoices.of(round_, planned), duals)
    assert bound >= best
    event("tight" if bound == best else "loose")


def job(name: int, *plans: Plan, **fields: object) -> Job:
    return Job(**{"id": f"j{name}", "gpus": 2, "plans": plans} | fields)


def plan(name: str = "dp2", gpus: int = 2, throughput: float = 1.0, **fields: object) -> Plan:
    return Plan(name=name, gpus=gpus, throughput=throughput, **fields)


def bound_of(round_: Round, policy: str = "rubick", denominator: int = 1, **multipliers: tuple[int, ...]) -> int:
    planned = settings_of(policy)
    assert planned is not None
    duals = LinearDuals(denominator=denominator, multipliers=multipliers)
    return planned_bound(round_, PlanChoices.of(round_, planned), duals)


HALVES = (plan(), plan("one", gpus=1, throughput=0.625))
TWO_NODES = round_of([2, 1], [job(0, *HALVES), job(1, *HALVES), job(2, *HALVES)])
"""Two nodes of three GPUs: three jobs at 625,000 are the best."""


def test_the_best_parts_of_each_node_are_counted() -> None:
    assert enumerated_optimum(TWO_NODES, "rubick") == 1_875_000
    assert bound_of(TWO_NODES) == 1_250_000 + 625_000
    assert bound_of(TWO_NODES, once=(100_000, 0, 0)) == 100_000 + 1_250_000 + 625_000  # the others pay nothing
    assert bound_of(TWO_NODES, once=(625_000,) * 3) == 1_875_000 + 375_000  # a whole node for one of them
    assert bound_of(TWO_NODES, once=(10**7,) * 3) == 3 * 10**7


def test_parts_share_the_profit_of_their_plan() -> None:
    """One job on two nodes is worth a million: half a million to each node; on three, a third, rounded up."""
    for parts, share in ((2, 500_000), (3, 333_334)):
        some = job(0, plan(gpus=parts, nodes=parts))
        for nodes in (parts, parts + 1):
            assert bound_of(round_of([1] * nodes, [some])) == nodes * share
            assert bound_of(round_of([1] * nodes, [some]), denominator=1 << 20) == nodes * 10**6 // parts


def test_a_node_has_the_gpus_cpus_and_memory_it_has() -> None:
    some = [job(j, plan(gpus=1, cpus=3, memory_gib=3)) for j in range(4)]
    for node, fit in [
        (Node(id="n0", gpus=4), 4),
        (Node(id="n0", gpus=3), 3),
        (Node(id="n0", gpus=4, cpus=6), 2),
        (Node(id="n0", gpus=4, cpus=20, memory_gib=8.999), 2),
        (Node(id="n0", gpus=4, memory_gib=9), 3),
        (Node(id="n0", gpus=4, memory_gib=2), 0),
    ]:
        assert bound_of(round_of([node], some)) == fit * 1_000_000


def test_a_job_is_at_home_on_its_own_nodes_only() -> None:
    """A restart costs half; on a like node nobody holds it is worth half, too."""
    held = {"state": "running", "placement": {"n1": 2}, "plan": "dp2", "restart_seconds": 300.0}
    round_ = round_of([2, 2, 2], [job(0, plan(), **held)])
    assert bound_of(round_) == 500_000 + 1_000_000 + 500_000
    assert bound_of(round_, once=(500_000,)) == 500_000 + 500_000
    assert bound_of(round_, once=(1_000_000,)) == enumerated_optimum(round_, "rubick") == 1_000_000


def test_a_plan_at_home_is_for_the_gpus_of_its_node() -> None:
    held = {"state": "running", "placement": {"n0": 2}, "plan": "dp2", "restart_seconds": 300.0}
    plans = (plan(gpu_type="a"), plan(gpu_type="b", throughput=4.0))
    nodes = [Node(id="n0", gpus=2, gpu_type="a"), Node(id="n1", gpus=2, gpu_type="b")]
    round_ = round_of(nodes, [job(0, *plans, **held)])
    assert bound_of(round_) == 250_000 + 500_000
    assert enumerated_optimum(round_, "rubick") == 500_000


@pytest.mark.parametrize(
    ("fields", "bound"),
    [
        # 2,000,001 for a promise kept and a million for each; a GPU of the quota costs a million, and there are two.
        ({"tenant": "red", "guarantee": Guarantee(throughput=1.0)}, 2 * 10**6 + 2 * 1_000_001),
        ({"tenant": "blue", "guarantee": Guarantee(throughput=1.0)}, 2 * 10**6 + 2 * 3_000_001),
        ({"guarantee": Guarantee(throughput=1.0)}, 2 * 10**6 + 2 * 3_000_001),
        ({"tenant": "red"}, 2 * 10**6 + 2 * 10**6),
    ],
)
def test_promises_pay_for_the_quota_they_use(fields: dict[str, object], bound: int) -> None:
    tenants = [Tenant(id="red", quota_gpus=2), Tenant(id="blue")]
    round_ = round_of([2, 2], [job(j, plan(), **fields) for j in range(2)], tenants)
    assert bound_of(round_, quota=(10**6, 0)) == bound
    assert bound_of(round_, quota=(7 * 10**6, 0), denominator=7) == bound


@pytest.mark.parametrize("denominator", [1, 1 << 32, 10**25])
def test_profits_too_large_for_machine_words_are_rounded_up(denominator: int) -> None:
    scaled = tuple(price * denominator for price in (100_000, 0, 0))
    assert bound_of(TWO_NODES, denominator=denominator, once=scaled) == 1_975_000


def test_a_round_without_nodes_or_jobs_is_worth_nothing() -> None:
    assert bound_of(round_of([], [job(0, plan())])) == 0
    assert bound_of(round_of([2], [])) == 0
    assert enumerated_optimum(round_of([2], []), "rubick") == 0
    assert enumerated_optimum(round_of([], [job(0, plan())]), "sia:change=both") == 0


@pytest.mark.parametrize(
    ("denominator", "multipliers", "field"),
    [
        (0, {}, "denominator"),
        (-3, {"once": (0, 0, 0)}, "denominator"),
        (1, {"once": (0, 0)}, "multipliers.once"),
        (1, {"once": (0, 0, -1)}, "multipliers.once"),
        (1, {"quota": (0,)}, "multipliers.quota"),
        (1, {"quota": (-1, 0)}, "multipliers.quota"),
        (1, {"quota": (1, 1)}, "multipliers.quota[1]"),
        (1, {"gpus": (0, 0)}, "multipliers.gpus"),
    ],
)
def test_bad_evidence_is_refused(denominator: int, multipliers: dict[str, tuple[int, ...]], field: str) -> None:
    tenants = (Tenant(id="red", quota_gpus=4), Tenant(id="free"))
    round_ = replace(TWO_NODES, cluster=replace(TWO_NODES.cluster, tenants=tenants))
    with pytest.raises(InputError) as refused:
        bound_of(round_, denominator=denominator, **multipliers)
    assert refused.value.field == field
    right = right_answer(round_)
    assert rules_broken_by(round_, with_duals(right, denominator, **multipliers)) == {"evidence"}


def right_answer(round_: Round, policy: str = "rubick"):
    """Return an optimal answer to a round in which each job has one GPU at best."""
    options = PlanOptions.of(round_, rules_for(policy))
    ones = [o for o in range(len(options)) if options.g[o] == 1]
    nodes = (0, 0, 1)
    return result_of(
        round_,
        policy,
        plan_decision(round_, options, {o: np.array([s]) for o, s in zip(ones, nodes, strict=True)}),
    )


def test_the_right_prices_prove_the_optimum() -> None:
    right = claiming(right_answer(TWO_NODES), bound=1_875_000, reason=Reason.OPTIMAL)
    certificate = verify(TWO_NODES, with_duals(right, once=(0, 0, 0)))
    assert (certificate.violations, certificate.proof, certificate.checked_bound) == ((), Proof.LINEAR_DUALS, 1_875_000)
    best_of_two = replace(
        with_duals(right, once=(10**6, 0, 0)).certificate,
        evidence=(
            LinearDuals(denominator=1, multipliers={"once": (10**7, 0, 0)}),
            LinearDuals(denominator=1, multipliers={}),
        ),
    )
    assert verify(TWO_NODES, replace(right, certificate=best_of_two)).proof is Proof.LINEAR_DUALS


def test_counting_gpus_proves_the_optimum_without_prices() -> None:
    right = claiming(right_answer(TWO_NODES), bound=1_875_000, reason=Reason.OPTIMAL)
    for claim in (right, with_duals(right, once=(10**7, 0, 0))):
        certificate = verify(TWO_NODES, claim)
        assert (certificate.feasible, certificate.proof, certificate.checked_bound) == (True, Proof.COUNTING, 1_875_000)
    assert proved_bound(TWO_NODES, "rubick", right.decision, ()) == (1_875_000, Proof.COUNTING)


def test_a_small_round_is_enumerated_where_prices_and_counting_prove_too_little() -> None:
    round_ = round_of([3, 3], [job(j, plan(gpus=2)) for j in range(3)])
    options = PlanOptions.of(round_, rules_for("rubick"))
    two = plan_decision(round_, options, {0: np.array([0]), 1: np.array([1])})
    right = claiming(result_of(round_, "rubick", two), bound=2_000_000, reason=Reason.OPTIMAL)
    for claim in (right, with_duals(right, once=(10**7, 0, 0))):
        certificate = verify(round_, claim)
        assert (certificate.feasible, certificate.proof, certificate.checked_bound) == (
            True,
            Proof.EXHAUSTIVE,
            2_000_000,
        )
    assert proved_bound(round_, "rubick", two, ()) == (3_000_000, Proof.COUNTING)


def test_a_large_round_without_prices_is_only_a_claim() -> None:
    round_ = round_of([2, 1], [job(j, *HALVES) for j in range(17)])
    options = PlanOptions.of(round_, rules_for("rubick"))
    result = result_of(round_, "rubick", plan_decision(round_, options, {}))
    certificate = verify(round_, claiming(result, bound=10**6))
    assert (certificate.proof, [one.rule for one in certificate.violations]) == (Proof.CLAIM_ONLY, ["proof"])
    assert certificate.checked_bound == counted_plans(round_, PlanChoices.of(round_, settings_of("rubick"))) > 10**6


@given(plan_rounds(), planning_policies())
@more_examples(60)
def test_no_decision_is_worth_more_than_counted(round_: Round, policy: str) -> None:
    counted = counted_plans(round_, PlanChoices.of(round_, settings_of(policy)))
    optimum = enumerated_optimum(round_, policy, steps=100_000)
    assert counted is not None
    assert optimum is None or optimum <= counted


def test_counting_is_left_out_where_it_would_take_too_long() -> None:
    round_ = round_of([1_000_000], [job(j, plan(gpus=1), plan(gpus=2)) for j in range(30)])
    assert counted_plans(round_, PlanChoices.of(round_, settings_of("rubick"))) is None


def test_the_step_budget_is_kept() -> None:
    rules = "rubick"
    needed = next(steps for steps in range(1000) if enumerated_optimum(TWO_NODES, rules, steps=steps) is not None)
    assert needed > 1
    assert enumerated_optimum(TWO_NODES, rules, steps=needed - 1) is None
    assert enumerated_optimum(TWO_NODES, rules, steps=needed + 1) == 1_875_000


def test_more_jobs_than_a_recursion_can_hold_are_gone_through() -> None:
    round_ = round_of([1], [job(j, plan(gpus=1)) for j in range(1500)])
    assert enumerated_optimum(round_, "rubick") == 1_000_000


def test_like_nodes_differ_where_a_job_to_come_is_at_home() -> None:
    """The first job must leave the first node to the second, which runs there."""
    held = {"state": "running", "placement": {"n0": 2}, "plan": "dp2", "restart_seconds": 300.0}
    round_ = round_of([2, 2], [job(0, plan()), job(1, plan(), **held)])
    assert enumerated_optimum(round_, "rubick") == 2_000_000


@pytest.mark.parametrize(("quota", "kept"), [(2, 1), (3, 1), (4, 2), (None, 2)])
def test_promises_are_kept_up_to_a_quota(quota: int | None, kept: int) -> None:
    """A promise kept is worth two millions and one beside its throughput."""
    promise = {"tenant": "red", "guarantee": Guarantee(throughput=1.0)}
    round_ = round_of([2, 2], [job(j, plan(), **promise) for j in range(2)], [Tenant(id="red", quota_gpus=quota)])
    assert enumerated_optimum(round_, "rubick") == kept * 3_000_001


def test_like_nodes_are_tried_once() -> None:
    """Twenty nodes in any order: one way to place each part, not twenty."""
    round_ = round_of([2] * 20, [job(j, *HALVES) for j in range(3)])
    assert enumerated_optimum(round_, "rubick", steps=400) == 3_000_000


def held_by(*nodes: str) -> dict[str, object]:
    return {"state": "running", "placement": dict.fromkeys(nodes, 1), "plan": "two", "restart_seconds": 60.0}


PAIR = (plan("two", nodes=2), plan("one", gpus=1))


@pytest.mark.parametrize(
    ("nodes", "tables"),
    [
        ([4] * 64, [4]),  # three of them are held, one by two jobs
        ([4] * 32 + [2] * 32, [4, 1]),
        ([*range(1, 9)] * 8, [1, 2, 1, 1, 1, 2, 2, 1]),
        ([*range(1, 10)] * 7, [9 + 3]),  # more sizes than have tables of their own
    ],
)
def test_like_nodes_share_one_table(nodes: list[int], tables: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    filled = []
    one = node_filling.most_profits
    monkeypatch.setattr(
        "muri_opt.verify.node_filling.most_profits",
        lambda spots, items, **fields: filled.append(len(spots)) or one(spots, items, **fields),
    )
    jobs = [job(0, *PAIR, **held_by("n1", "n5")), job(1, *PAIR, **held_by("n1", "n6"))]
    round_ = round_of(nodes, [*jobs, *(job(j, *PAIR) for j in range(2, 5))])
    planned_bound(round_, PlanChoices.of(round_, Planned(change="both")), LinearDuals(denominator=1, multipliers={}))
    assert filled == tables


def test_one_table_for_many_rooms_is_as_good_as_many_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [Node(id=f"n{s}", gpus=1 + s % 4, cpus=3.5 * (s % 3), gpu_type="ab"[s % 2]) for s in range(12)]
    plans = (plan("two", nodes=2, cpus=2.5), plan("one", gpus=1, cpus=1, gpu_type="a"), plan("four", gpus=4, cpus=0))
    round_ = round_of(nodes, [job(j, *plans, **(held_by("n1", "n4") if j == 0 else {})) for j in range(9)])
    prices = {"once": tuple(range(0, 900_000, 100_000))}
    apart = bound_of(round_, **prices)
    monkeypatch.setattr("muri_opt.verify.node_filling.MOST_ROOMS", 1)
    assert bound_of(round_, **prices) == apart


def test_the_enumeration_counts_what_is_asked_of_a_quota_though_the_cluster_has_less() -> None:
    # The job asks for 6 GPUs of a quota of 6 and runs by a plan of 3, in a cluster of 4.
    round_, rules = random_plan_round(131), PlanRules(power="-0.5")
    assert sum(node.gpus for node in round_.cluster.nodes) < max(job.gpus for job in round_.jobs)
    best = EveryChoice(round_, rules).best()
    assert enumerated_optimum(round_, "sia:change=both,power=-0.5") == best == 1_388_475
