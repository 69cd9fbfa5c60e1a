"""Bounds are bounds: whatever the multipliers, whatever the decision, nothing feasible is above them."""

from __future__ import annotations

import pytest
from brute_force import optimum, values
from by_policy import proved_bound, settings_of
from handmade import gang, round_of
from hypothesis import given, strategies as st

from muri_opt import Assignment, Decision, InputError, Job, Node, Round, Tenant, policy_from
from muri_opt.rounds import LinearDuals, Proof
from muri_opt.systems.orders import ORDERS as ORDER_NAMES
from muri_opt.testing import rounds
from muri_opt.verify.gangs import counting
from muri_opt.verify.gangs.counting import able_jobs, knapsack_bound, prefix_bound
from muri_opt.verify.gangs.dual_bound import dual_bound
from muri_opt.verify.gangs.value import job_values

ORDERS = st.sampled_from(sorted(ORDER_NAMES))
SMALL = rounds(max_jobs=4, max_nodes=2)
PRICES = st.integers(0, 12) | st.integers(0, 10**6)


def able(round_: Round) -> list[Job]:
    """Return the jobs that could run alone, where no job asks for certain nodes."""
    return able_jobs(round_, None)


@st.composite
def priced_rounds(draw: st.DrawFn) -> tuple[Round, LinearDuals]:
    round_ = draw(SMALL)
    nodes, tenants = round_.cluster.nodes, round_.cluster.tenants

    def prices(limited: list[bool]) -> tuple[int, ...]:
        return tuple(draw(PRICES) if limit else 0 for limit in limited)

    multipliers = {
        "gpus": prices([True] * len(nodes)),
        "cpus": prices([node.cpus is not None for node in nodes]),
        "memory": prices([node.memory_gib is not None for node in nodes]),
        "quota": prices([tenant.quota_gpus is not None for tenant in tenants]),
    }
    left_out = draw(st.sets(st.sampled_from(sorted(multipliers))))
    kept = {label: part for label, part in multipliers.items() if label not in left_out}
    return round_, LinearDuals(denominator=draw(st.integers(1, 1000)), multipliers=kept)


@given(priced_rounds(), ORDERS, st.booleans(), st.booleans())
def test_any_multipliers_bound_every_decision(
    priced: tuple[Round, LinearDuals], order: str, lexicographic: bool, fewest: bool
) -> None:
    round_, duals = priced
    worth = values(round_, order, lexicographic=lexicographic)
    best = optimum(round_, order, lexicographic=lexicographic, fewest=fewest)
    assert dual_bound(round_, worth, duals, able=able(round_)) >= best


@given(SMALL, ORDERS, st.booleans(), st.booleans())
def test_counting_bounds_every_decision(round_: Round, order: str, lexicographic: bool, fewest: bool) -> None:
    worth = values(round_, order, lexicographic=lexicographic)
    bound = knapsack_bound(round_, worth, able=able(round_))
    assert bound is not None
    assert bound >= optimum(round_, order, lexicographic=lexicographic, fewest=fewest)


@given(rounds(max_jobs=5, max_nodes=1, tight=False), ORDERS, st.booleans())
def test_counting_is_exact_on_one_node(round_: Round, order: str, lexicographic: bool) -> None:
    worth = values(round_, order, lexicographic=lexicographic)
    best = optimum(round_, order, lexicographic=lexicographic, fewest=False)
    assert knapsack_bound(round_, worth, able=able(round_)) == best


@given(rounds(max_jobs=6, max_nodes=3), st.data())
def test_who_outweighs_all_after_it_is_counted_first(round_: Round, data: st.DataObject) -> None:
    worth, after = dict[str, int](), 0
    for job in data.draw(st.permutations(round_.jobs)):
        worth[job.id] = after + data.draw(st.integers(0, 2))
        after += worth[job.id]
    first_come = knapsack_bound(round_, worth, able=able(round_))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_outweighs_all_after", lambda _: False)
        assert knapsack_bound(round_, worth, able=able(round_)) == first_come


@given(SMALL, ORDERS, st.booleans(), st.sets(st.integers(0, 3)))
def test_any_decision_bounds_the_lexicographic_optimum(
    round_: Round, order: str, fewest: bool, running: set[int]
) -> None:
    spec = f"{order}:objective=lexicographic,nodes={'fewest' if fewest else 'any'},preempt=yes"
    best = optimum(round_, order, lexicographic=True, fewest=fewest)
    worth = values(round_, order, lexicographic=True)
    anybody = tuple(Assignment(jobs=(job.id,), gpus={}) for j, job in enumerate(round_.jobs) if j in running)
    for decision in (policy_from(spec).decide(round_, seed=0), Decision(assignments=anybody)):
        assert prefix_bound(round_, worth, decision, able=able(round_)) >= best


@given(SMALL, ORDERS, st.booleans())
def test_values_follow_the_definition(round_: Round, order: str, lexicographic: bool) -> None:
    spec = f"{order}:objective={'lexicographic' if lexicographic else 'weighted'},preempt=yes"
    assert job_values(round_, settings_of(spec)) == values(round_, order, lexicographic=lexicographic)


def test_the_price_of_a_gpu_proves_the_optimum_of_a_full_cluster() -> None:
    """Two nodes of 2 GPUs, gangs of 2, 2 and 2 worth 6, 4 and 2: at a price of 1 the four GPUs cost 4, gains 4 + 2."""
    round_ = round_of([2, 2], [2, 2, 2])
    worth = job_values(round_, settings_of("fifo:objective=weighted"))
    assert worth == {"j0": 6, "j1": 4, "j2": 2}
    prices = LinearDuals(denominator=3, multipliers={"gpus": (3, 3)})
    assert dual_bound(round_, worth, prices, able=able(round_)) == 4 + (6 - 2) + (4 - 2)


def test_a_job_that_cannot_run_alone_adds_nothing_to_a_bound() -> None:
    free = LinearDuals(denominator=1, multipliers={})
    too_large = round_of([2], [4])
    over_quota = round_of([4], [gang(0, 3, tenant="t")], [Tenant(id="t", quota_gpus=2)])
    no_memory = round_of([Node(id="n0", gpus=4, memory_gib=1)], [gang(0, 2, memory_gib=4)])
    for round_ in (too_large, over_quota, no_memory):
        worth = job_values(round_, settings_of("fifo:objective=weighted"))
        assert dual_bound(round_, worth, free, able=able(round_)) == 0
        assert knapsack_bound(round_, worth, able=able(round_)) == 0
        assert prefix_bound(round_, worth, Decision(), able=able(round_)) == 0


def test_counting_gives_up_on_large_rounds() -> None:
    round_ = round_of([4, 4], [1, 2, 3])
    worth = job_values(round_, settings_of("fifo:objective=weighted"))
    assert knapsack_bound(round_, worth, able=able(round_), steps=24) == 3 + 4 + 3
    assert knapsack_bound(round_, worth, able=able(round_), steps=23) is None


def test_counting_knows_quotas_of_several_tenants() -> None:
    """Of 6 GPUs, red may hold 2 and blue 3: best are j0 or j1 for red, j3 for blue and j4."""
    tenants = [Tenant(id="red", quota_gpus=2), Tenant(id="blue", quota_gpus=3), Tenant(id="free")]
    owners = ["red", "red", "blue", "blue", "free"]
    jobs = [gang(j, gpus, tenant=owner) for j, (gpus, owner) in enumerate(zip([2, 2, 1, 3, 1], owners, strict=True))]
    round_ = round_of([6], jobs, tenants)
    worth = job_values(round_, settings_of("fifo:objective=weighted"))
    assert worth == {"j0": 10, "j1": 8, "j2": 3, "j3": 6, "j4": 1}
    assert knapsack_bound(round_, worth, able=able(round_)) == 10 + 6 + 1


@pytest.mark.parametrize(
    ("duals", "field"),
    [
        (LinearDuals(denominator=0, multipliers={}), "denominator"),
        (LinearDuals(denominator=1, multipliers={"gpus": (1,)}), "multipliers.gpus"),
        (LinearDuals(denominator=1, multipliers={"gpus": (1, -1)}), "multipliers.gpus"),
        (LinearDuals(denominator=1, multipliers={"cpus": (0, 1)}), "multipliers.cpus[1]"),
        (LinearDuals(denominator=1, multipliers={"memory": (1, 0)}), "multipliers.memory[0]"),
        (LinearDuals(denominator=1, multipliers={"quota": (1, 1)}), "multipliers.quota[1]"),
        (LinearDuals(denominator=1, multipliers={"quota": ()}), "multipliers.quota"),
        (LinearDuals(denominator=1, multipliers={"once": (0,)}), "multipliers.once"),
    ],
)
def test_impossible_multipliers_are_refused_by_name(duals: LinearDuals, field: str) -> None:
    nodes = [Node(id="n0", gpus=2, cpus=4), Node(id="n1", gpus=2, memory_gib=4)]
    round_ = round_of(nodes, [1], [Tenant(id="red", quota_gpus=2), Tenant(id="free")])
    with pytest.raises(InputError) as refused:
        dual_bound(round_, job_values(round_, settings_of("fifo:objective=weighted")), duals, able=round_.jobs)
    assert refused.value.field == field


def test_the_best_of_several_proofs_counts() -> None:
    round_ = round_of([3], [2, 2])
    decision = policy_from("fifo").decide(round_, seed=0)
    cheap, loose = (LinearDuals(denominator=2, multipliers={"gpus": (price,)}) for price in (2, 0))
    worth = job_values(round_, settings_of("fifo:objective=weighted"))
    assert dual_bound(round_, worth, cheap, able=able(round_)) == 3 + 2
    assert proved_bound(round_, "fifo:objective=weighted", decision, (loose, cheap)) == (4, Proof.COUNTING)
    assert proved_bound(round_, "fifo:objective=weighted", decision, ()) == (4, Proof.COUNTING)
    enough = LinearDuals(denominator=1, multipliers={"gpus": (0,)})
    roomy = round_of([4], [2, 2])
    decision = policy_from("fifo").decide(roomy, seed=0)
    assert proved_bound(roomy, "fifo:objective=weighted", decision, (enough,)) == (6, Proof.LINEAR_DUALS)


@pytest.mark.parametrize(
    ("policy", "missing"),
    [("fifo", "submitted"), ("srsf", "remaining_iterations"), ("las", "attained_gpu_seconds")],
)
def test_a_job_that_does_not_say_what_the_value_needs_is_refused(policy: str, missing: str) -> None:
    round_ = round_of([2], [gang(0, 1), gang(1, 1, **{missing: None})])
    with pytest.raises(InputError, match="j1") as refused:
        job_values(round_, settings_of(policy))
    assert refused.value.field == f"job 'j1'.{missing}"


def test_a_gang_of_no_gpus_is_refused() -> None:
    """It would fit nowhere and everywhere, and prices per GPU could not bound its value."""
    with pytest.raises(InputError) as refused:
        job_values(round_of([2], [gang(0, 0), 1]), settings_of("fifo:objective=weighted"))
    assert refused.value.field == "job 'j0'.gpus"
