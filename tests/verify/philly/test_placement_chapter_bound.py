"""Prices of jobs and weights of quotas bound every decision of a multi-tenant round, and so does counting GPUs."""

from __future__ import annotations

import pytest
from alterations import claiming, with_duals
from by_policy import enumerated_optimum, proved_bound
from handmade import round_of
from hypothesis import event, given, strategies as st
from more_examples import more_examples
from placement_answers import answer, nodes, placement_prices, reading_of, running, waiting

from muri_opt import Node, Reason, Round, Tenant, verify
from muri_opt.rounds import LinearDuals, Proof
from muri_opt.testing import tenant_policies, tenant_rounds
from muri_opt.verify.philly import dual_bound as placement_bound
from muri_opt.verify.philly.counting import counted_places
from muri_opt.verify.philly.dual_bound import placed_bound

WEIGHTED = "philly:objective=weighted"


def bound_of(round_: Round, policy: str = WEIGHTED, denominator: int = 1, **multipliers: tuple[int, ...]) -> int:
    duals = LinearDuals(denominator=denominator, multipliers=multipliers)
    return placed_bound(round_, reading_of(round_, policy), duals)


@given(tenant_rounds(max_nodes=4), tenant_policies(), st.data())
@more_examples(300)
def test_any_prices_give_a_bound_no_decision_exceeds(round_: Round, policy: str, data: st.DataObject) -> None:
    best = enumerated_optimum(round_, policy, steps=300_000)
    assert best is not None
    reading = reading_of(round_, policy)
    bound = placed_bound(round_, reading, data.draw(placement_prices(round_, reading.premium)))
    assert bound >= best
    event("tight" if bound == best else "loose")
    counted = counted_places(reading)
    assert counted is not None
    assert counted >= best
    event("counted exactly" if counted == best else "counted too much")


@given(tenant_rounds(max_nodes=3), tenant_policies(), st.data())
@more_examples(60)
def test_a_coarse_grid_gives_a_bound_too(round_: Round, policy: str, data: st.DataObject) -> None:
    best = enumerated_optimum(round_, policy, steps=300_000)
    reading = reading_of(round_, policy)
    duals = data.draw(placement_prices(round_, reading.premium))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement_bound, "MOST_ADDED", 1)
        coarse = placed_bound(round_, reading, duals)
    assert best is not None
    assert coarse >= best


TWO_GANGS = round_of(nodes(4, 2), [waiting("a", 4), waiting("b", 4), waiting("c", 2)])
"""A gang of four and the gang of two are the best: 6 GPUs at 1,000 for counting and 1,000 for their speed."""


def test_the_best_parts_of_each_node_are_counted() -> None:
    assert enumerated_optimum(TWO_GANGS, WEIGHTED) == 12_000
    assert bound_of(TWO_GANGS) == 8_000 + 4_000
    assert bound_of(TWO_GANGS, once=(8_000, 8_000, 4_000)) == 20_000
    assert bound_of(TWO_GANGS, once=(1_000, 0, 0)) == 1_000 + 12_000


def test_a_gang_that_may_be_parted_shares_its_profit_among_its_gpus() -> None:
    """On two nodes of three, a gang of four at its best is on two; each GPU has a quarter of 8,000."""
    gang = waiting("gang", 4)
    assert bound_of(round_of(nodes(3, 3), [gang])) == 2 * 3 * 2_000
    assert bound_of(round_of(nodes(3, 3), [gang]), once=(8_000,)) == 8_000
    assert bound_of(round_of(nodes(2, 2, 2), [gang]), once=(7_999,)) == 7_999 + 3 * 1  # half of 1, rounded up


def test_a_gang_for_one_node_is_parted_only_after_a_while() -> None:
    """Together 8,000, in a rack 4 * 1,854; parts of three GPUs are three quarters of that."""
    held = [running("x", 1, {"n0": 1}, restart=None), running("y", 1, {"n1": 1}, restart=None)]
    fixed = 2 * 2_000
    for waited, most in ((0.0, 0), (600.0, 2 * 3 * 1_854)):
        round_ = round_of(nodes(4, 4), [*held, waiting("gang", 4, waited)])
        assert bound_of(round_) == fixed + most
        assert enumerated_optimum(round_, WEIGHTED) == fixed + (0 if waited == 0 else 4 * 1_854)


def test_cpus_and_memory_count() -> None:
    jobs = [waiting(f"j{j}", 1, cpus=3, memory_gib=3) for j in range(4)]
    for node, fit in [
        (Node(id="n0", gpus=4), 4),
        (Node(id="n0", gpus=4, cpus=6), 2),
        (Node(id="n0", gpus=4, cpus=20, memory_gib=8.999), 2),
        (Node(id="n0", gpus=4, memory_gib=2), 0),
    ]:
        assert bound_of(round_of([node], jobs)) == fit * 2_000


def test_a_quota_counts_by_its_weight() -> None:
    """Four GPUs of a tenant with a quota of one; beyond it a GPU is worth its speed only."""
    round_ = round_of(nodes(4), [waiting(f"j{j}", 1, tenant="red") for j in range(4)], [Tenant(id="red", quota_gpus=1)])
    assert enumerated_optimum(round_, WEIGHTED) == 1_000 + 4 * 1_000
    assert bound_of(round_, quota=(0,)) == 5_000
    assert bound_of(round_, quota=(1_000,)) == bound_of(round_) == 8_000
    assert bound_of(round_, denominator=4, quota=(2_000,)) == 500 * 1 + 4 * 1_500


def test_removable_jobs_may_stay_go_or_move() -> None:
    """A job of two GPUs that can be preempted stays: 4,000; to stop it costs 2,000 for its GPUs and 200 for it."""
    tenants = [Tenant(id="red", quota_gpus=0)]
    low = running("low", 2, {"n0": 2}, tenant="red")
    round_ = round_of(nodes(2), [low, waiting("new", 2)], tenants)
    policy = WEIGHTED + ",preempt_at=0"
    assert enumerated_optimum(round_, policy) == 2_000  # not worth the preemption: 4,000 - 2,200
    assert bound_of(round_, policy, quota=(0,)) == -2_200 + 4_200
    assert bound_of(round_, policy + ",migrate=inf", quota=(0,)) == 2_000
    pinned = round_of(nodes(2), [running("low", 2, {"n0": 2}, restart=None, tenant="red"), waiting("new", 2)], tenants)
    assert bound_of(pinned, policy, quota=(0,)) == 2_000


def test_movable_jobs_have_parts_elsewhere() -> None:
    """To stay is worth 4,000 and to move 3,800, against -2,200 for a job that is gone; on any node."""
    round_ = round_of(nodes(2, 2), [running("job", 2, {"n0": 2})])
    policy = WEIGHTED + ",migrate=inf"
    assert bound_of(round_) == 4_000
    assert bound_of(round_, policy) == -2_200 + 6_200 + 6_000
    assert bound_of(round_, policy, once=(6_200,)) == 4_000
    large = round_of(nodes(2, 2, 2), [running("job", 3, {"n0": 2, "n1": 1})])  # its parts may be on any nodes, too
    assert bound_of(large, policy) == -3_300 + 2 * 3_100 + max(3_100, 2 * 3_000) + 2 * 3_000


def test_the_bound_knows_a_move_that_makes_room() -> None:
    """The gang needs the node on which a small job is; that job moves at a cost of 100."""
    round_ = round_of(nodes(2, 1), [running("small", 1, {"n0": 1}), waiting("gang", 2)])
    policy = WEIGHTED + ",migrate=inf"
    assert enumerated_optimum(round_, policy) == bound_of(round_, policy) == 4_000 + 1_900


def test_counting_knows_what_a_move_is_worth() -> None:
    """Over two racks a job runs at 729 thousandths; together, after a restart that takes no time, at 998."""
    apart = running("apart", 2, {"n0": 1, "n1": 1}, restart=0.0)
    round_ = round_of(nodes(1, 1, 2, racks="abc"), [apart])
    for policy, best in ((WEIGHTED, 2_000 + 1_458), (WEIGHTED + ",migrate=inf", 2_000 + 1_998)):
        assert counted_places(reading_of(round_, policy)) == enumerated_optimum(round_, policy) == best


@pytest.mark.parametrize("denominator", [1, 1 << 32, 10**25])
def test_profits_too_large_for_machine_words_are_rounded_up(denominator: int) -> None:
    prices = tuple(price * denominator for price in (1_000, 0, 0))
    assert bound_of(TWO_GANGS, denominator=denominator, once=prices) == 13_000


def test_a_round_without_nodes_or_jobs_is_worth_nothing() -> None:
    assert bound_of(round_of([], [waiting("two", 2)])) == 0
    assert bound_of(round_of(nodes(2), [])) == 0
    assert counted_places(reading_of(round_of([], [waiting("two", 2)]), WEIGHTED)) == 0


def test_jobs_that_may_not_start_pay_nothing() -> None:
    round_ = round_of(nodes(2), [waiting("huge", 3), waiting("off", 1, 200.0)])
    assert bound_of(round_, WEIGHTED + ",backoff=150", once=(10**6, 10**6)) == 0


def test_prices_prove_the_optimum() -> None:
    right = claiming(answer(TWO_GANGS, WEIGHTED, {"a": {"n0": 4}, "c": {"n1": 2}}), bound=12_000, reason=Reason.OPTIMAL)
    certificate = verify(TWO_GANGS, with_duals(right))
    assert (certificate.violations, certificate.proof, certificate.checked_bound) == ((), Proof.LINEAR_DUALS, 12_000)


def test_counting_proves_the_optimum_without_prices() -> None:
    right = claiming(answer(TWO_GANGS, WEIGHTED, {"a": {"n0": 4}, "c": {"n1": 2}}), bound=12_000, reason=Reason.OPTIMAL)
    for claim in (right, with_duals(right, once=(10**6, 0, 0))):
        certificate = verify(TWO_GANGS, claim)
        assert (certificate.feasible, certificate.proof, certificate.checked_bound) == (True, Proof.COUNTING, 12_000)
    assert proved_bound(TWO_GANGS, WEIGHTED, right.decision, ()) == (12_000, Proof.COUNTING)


def test_a_small_round_is_enumerated_where_prices_and_counting_prove_too_little() -> None:
    round_ = round_of(nodes(3, 3), [waiting(f"j{j}", 2) for j in range(3)])
    right = answer(round_, WEIGHTED, {"j0": {"n0": 2}, "j1": {"n1": 2}})
    certificate = verify(round_, claiming(right, bound=8_000, reason=Reason.OPTIMAL))
    assert (certificate.feasible, certificate.proof, certificate.checked_bound) == (True, Proof.EXHAUSTIVE, 8_000)


def test_counting_knows_quotas_and_who_stays() -> None:
    """Two of six GPUs are held for good; of the quota of three one is left to two gangs of two."""
    jobs = [
        running("red", 2, {"n0": 2}, restart=None, tenant="red"),
        *(waiting(f"j{j}", 2, tenant="red") for j in "ab"),
    ]
    round_ = round_of(nodes(6), jobs, [Tenant(id="red", quota_gpus=3)])
    assert counted_places(reading_of(round_, WEIGHTED)) == 3_000 + 6_000 == enumerated_optimum(round_, WEIGHTED)


def test_a_price_bounds_what_would_take_too_long_to_count_or_overflow() -> None:
    many = round_of(nodes(100_000), [waiting(f"j{j}", 10_000) for j in range(10)])
    reading = reading_of(many, WEIGHTED)
    assert counted_places(reading) == reading.value({job: {0: 10_000} for job in range(10)})
    lost = {"restart": 2e9, "tenant": "red"}
    dear = [running(f"j{j}", 100_000, {f"n{j}": 100_000}, **lost) for j in range(9)]
    large = round_of(nodes(*[100_000] * 9), dear, [Tenant(id="red", quota_gpus=0)])
    reading = reading_of(large, "philly")
    assert reading.premium > 10**15
    assert counted_places(reading) == reading.value({job: stand.held for job, stand in enumerate(reading.stands)})


def test_values_beyond_machine_words_are_bounded() -> None:
    """Far more than a machine word holds: nothing overflows, and the bound is close to what it is worth to stay."""
    held = [running(f"j{j}", 10**5, {f"n{j}": 10**5}, restart=2e9, tenant="red") for j in range(20)]
    round_ = round_of(nodes(*[10**5] * 20), held, [Tenant(id="red", quota_gpus=10**5)])
    reading = reading_of(round_, "philly")
    stays = reading.value({job: stand.held for job, stand in enumerate(reading.stands)})
    assert stays > 1 << 63
    bound = bound_of(round_, "philly", quota=(0,))
    assert stays <= bound <= stays + stays // 10**6
