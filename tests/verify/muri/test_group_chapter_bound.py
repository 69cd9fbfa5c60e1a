"""Prices of jobs and of what they use bound every grouping: any prices, and the right ones exactly."""

from __future__ import annotations

import pytest
from alterations import claiming, replace, rules_broken_by, with_duals, with_evidence
from by_policy import settings_of
from handmade import gang, round_of
from hypothesis import event, given, strategies as st
from more_examples import more_examples
from plain_groups import Plain
from sharing_rounds import plain_policies, prices

from muri_opt import InputError, Node, Reason, Round, Tenant, solve_round, verify
from muri_opt.rounds import LinearDuals, MatchingDuals, OddSet, Proof
from muri_opt.verify.muri import dual_bound as bounds
from muri_opt.verify.muri.dual_bound import sharing_bound


@given(plain_policies(), st.data())
@more_examples(200)
def test_any_prices_give_a_bound_no_grouping_exceeds(plain: Plain, data: st.DataObject) -> None:
    duals = data.draw(prices(plain.round_))
    bound = sharing_bound(plain.round_, settings_of(plain.spec), duals)
    assert bound == plain.bound(duals)
    best = plain.optimum()
    assert bound >= best
    event("tight" if bound == best else "loose")


def complementary(gpus: int = 1) -> Round:
    """Return four jobs that share one GPU without loss."""
    unit = [tuple(float(r == j) for r in range(4)) for j in range(4)]
    return round_of([gpus], [gang(j, 1, stage_seconds=times) for j, times in enumerate(unit)])


def test_the_right_prices_prove_the_optimum() -> None:
    round_ = complementary()
    right = solve_round(round_, "muri-s", "heuristic")
    proved = claiming(with_duals(right, once=(250_000,) * 4, gpus=(0,)), bound=1_000_000, reason=Reason.OPTIMAL)
    certificate = verify(round_, proved)
    assert (certificate.violations, certificate.proof, certificate.checked_bound) == (
        (),
        Proof.LINEAR_DUALS,
        1_000_000,
    )
    short = verify(round_, with_duals(proved, once=(249_998,) * 4, gpus=(1,)))  # all four pay 7 too little
    assert (short.proof, short.checked_bound) == (Proof.LINEAR_DUALS, 4 * 249_998 + 1 + 7)
    dear = verify(round_, with_duals(proved, once=(250_000,) * 4, gpus=(1,)))
    assert (dear.proof, dear.checked_bound) == (Proof.COUNTING, 1_000_000)  # four slots, a job in each


def test_the_price_of_an_odd_set_proves_what_linear_prices_cannot() -> None:
    """Any two of three jobs save a GPU, and only one pair can be made; linear prices grant half of each pair."""
    unit = [tuple(float(r == j) for r in range(4)) for j in range(3)]
    round_ = round_of([2], [gang(j, 1, stage_seconds=times) for j, times in enumerate(unit)])
    plain = Plain(round_=round_, objective="gpu-time", largest=2)
    best = solve_round(round_, plain.spec, "heuristic")
    assert best.value == plain.optimum() == 1_000_000
    half = LinearDuals(denominator=1, multipliers={"once": (500_000,) * 3, "gpus": (0,)})
    odd = MatchingDuals(
        denominator=1,
        multipliers={"once": (0,) * 3, "gpus": (0,)},
        odd_sets=(OddSet(jobs=(0, 1, 2), price=1_000_000),),
    )
    for evidence, proof, bound in (
        ((half,), Proof.LINEAR_DUALS, 1_500_000),
        ((odd,), Proof.MATCHING_DUALS, 1_000_000),
        ((half, odd), Proof.MATCHING_DUALS, 1_000_000),
    ):
        said = claiming(with_evidence(best, *evidence), bound=bound, reason=Reason.FEASIBLE)
        certificate = verify(round_, said)
        assert (certificate.proof, certificate.checked_bound) == (proof, bound)


@pytest.mark.parametrize(
    ("jobs", "price", "field"),
    [
        ((0, 1), 0, "odd_sets[1].jobs"),
        ((), 0, "odd_sets[1].jobs"),
        ((0, 1, 1), 0, "odd_sets[1].jobs"),
        ((0, 1, 4), 0, "odd_sets[1].jobs"),
        ((-1, 0, 1), 0, "odd_sets[1].jobs"),
        ((0, 1, 2), -1, "odd_sets[1].price"),
    ],
)
def test_sets_that_are_not_odd_sets_of_jobs_are_refused(jobs: tuple[int, ...], price: int, field: str) -> None:
    round_ = complementary()
    sets = (OddSet(jobs=(3,), price=5), OddSet(jobs=jobs, price=price))
    duals = MatchingDuals(denominator=1, multipliers={"once": (0,) * 4, "gpus": (0,)}, odd_sets=sets)
    with pytest.raises(InputError) as refused:
        sharing_bound(round_, settings_of("muri-s"), duals)
    assert refused.value.field == field
    right = solve_round(round_, "muri-s", "heuristic")
    assert rules_broken_by(round_, with_evidence(right, duals)) == {"evidence", "proof"}


EVEN = (1.0, 1.0, 1.0, 1.0)
"""Stage times of a job that is worth a quarter alone, and as much in any group."""


@pytest.mark.parametrize(
    ("fields", "multipliers", "bound"),
    [
        # 4,000 milli-CPUs for 63 each are more than a job is worth; for 62, four jobs pay 8,000 too little, and two
        # groups have a GPU each.
        ({"cpus": 4}, {"cpus": (63,)}, 63 * 12_000),
        ({"cpus": 4}, {"cpus": (62,)}, 62 * 12_000 + 2 * 8_000),
        ({"memory_gib": 4}, {"memory": (62,)}, 62 * 12 * 1024),
        ({"tenant": "red"}, {"quota": (250_000, 0)}, 2 * 250_000),
        # Jobs of nobody else's quota pay nothing of it.
        ({"tenant": "blue"}, {"quota": (250_000, 0)}, 2 * 250_000 + 2 * 1_000_000),
        ({}, {"quota": (250_000, 0)}, 2 * 250_000 + 2 * 1_000_000),
    ],
)
def test_prices_of_cpus_memory_and_quotas_prove_what_they_limit(
    fields: dict[str, object], multipliers: dict[str, tuple[int, ...]], bound: int
) -> None:
    nodes = [Node(id="n0", gpus=2, cpus=12, memory_gib=12)]
    tenants = [Tenant(id="red", quota_gpus=2), Tenant(id="blue")]
    round_ = round_of(nodes, [gang(j, 1, stage_seconds=EVEN, **fields) for j in range(4)], tenants)
    duals = LinearDuals(denominator=1, multipliers={"once": (0,) * 4, "gpus": (0,), **multipliers})
    assert sharing_bound(round_, settings_of("muri-s"), duals) == bound >= Plain(round_=round_).optimum()


@pytest.mark.parametrize("sizes", ["equal", "mixed"])
def test_a_job_pays_for_its_own_gpus_of_a_quota(sizes: str) -> None:
    """Each is worth a quarter on its 2 GPUs or 1; at 125,000 per GPU the smaller pays 125,000 too little."""
    jobs = [gang(j, 2 - j, stage_seconds=EVEN, tenant="red") for j in range(2)]
    round_ = round_of([2], jobs, [Tenant(id="red", quota_gpus=2)])
    for once, short in (((0, 125_000), 0), ((0, 0), 125_000)):
        duals = LinearDuals(denominator=1, multipliers={"once": once, "gpus": (0,), "quota": (125_000,)})
        bound = sharing_bound(round_, settings_of(f"muri-s:sizes={sizes}"), duals)
        assert bound == sum(once) + 2 * 125_000 + 2 * short


@pytest.mark.parametrize(
    ("policy", "once", "gpu", "optimum", "bound"),
    [
        # Half of the first job's GPUs idle while the second shares them: 4 x 2 + 2 x 2 seconds in 4 x 4 x 2.
        ("sizes=mixed", (0, 125_000), 62_500, 375_000, 375_000),
        # 4 x 2 + 2 x 2 GPU seconds are done in 4 x 2.
        ("sizes=mixed,objective=gpu-time", (1_000_000, 1_000_000), 0, 2_000_000, 2_000_000),
        # Both run at full speed: the first weighs 2, the second 1.
        ("sizes=mixed,objective=progress", (4_000 * 2, 2_000 * 1), 0, 10_000, 10_000),
        # One of them runs at a time; each is worth a quarter, so prices grant the second and half of the first.
        ("sizes=equal", (0, 125_000), 62_500, 250_000, 375_000),
        ("sizes=equal,objective=gpu-time", (0, 0), 0, 0, 0),
        ("sizes=equal,objective=progress", (0, 0), 2_000, 8_000, 8_000),
    ],
)
def test_the_right_prices_prove_the_optimum_of_every_objective(
    policy: str, once: tuple[int, int], gpu: int, optimum: int, bound: int
) -> None:
    stages = [(1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0)]
    jobs = [gang(j, 4 - 2 * j, stage_seconds=times, iteration_seconds=2.0) for j, times in enumerate(stages)]
    round_ = round_of([4], jobs)
    chosen = dict(pair.split("=") for pair in policy.split(","))
    plain = Plain(
        round_=round_,
        order="las",
        objective=chosen.get("objective", "efficiency"),
        mixed=chosen["sizes"] == "mixed",
    )
    assert plain.optimum() == optimum
    duals = LinearDuals(denominator=1, multipliers={"once": once, "gpus": (gpu,)})
    assert sharing_bound(round_, settings_of(f"muri-l:{policy}"), duals) == bound


@pytest.mark.parametrize(
    ("denominator", "multipliers", "field"),
    [
        (1, {"nodes": (0,)}, "multipliers.nodes"),
        (1, {"once": (0,) * 3, "gpus": (0,)}, "multipliers.once"),
        (1, {"once": (0,) * 4, "gpus": (0, 0)}, "multipliers.gpus"),
        (1, {"once": (0, 0, 0, -1), "gpus": (0,)}, "multipliers.once"),
        (1, {"once": (0,) * 4, "gpus": (-1,)}, "multipliers.gpus"),
        (1, {"once": (0,) * 4, "gpus": (0,), "cpus": ()}, "multipliers.cpus"),
        (1, {"once": (0,) * 4, "gpus": (0,), "cpus": (1,)}, "multipliers.cpus[0]"),
        (1, {"once": (0,) * 4, "gpus": (0,), "memory": (0, 0)}, "multipliers.memory"),
        (1, {"once": (0,) * 4, "gpus": (0,), "memory": (-1,)}, "multipliers.memory"),
        (1, {"once": (0,) * 4, "gpus": (0,), "quota": (0,)}, "multipliers.quota"),
        (1, {"once": (0,) * 4, "gpus": (0,), "quota": (1, 1)}, "multipliers.quota[1]"),
        (0, {"once": (0,) * 4, "gpus": (0,)}, "denominator"),
        (-1, {"once": (0,) * 4, "gpus": (0,)}, "denominator"),
    ],
)
def test_bad_evidence_is_refused(denominator: int, multipliers: dict[str, tuple[int, ...]], field: str) -> None:
    round_ = complementary()
    nodes = (Node(id="n0", gpus=1, cpus=4, memory_gib=4), Node(id="n1", gpus=1))
    tenants = (Tenant(id="red", quota_gpus=4), Tenant(id="free"))
    round_ = replace(round_, cluster=replace(round_.cluster, nodes=nodes, tenants=tenants))
    with pytest.raises(InputError) as refused:
        sharing_bound(round_, settings_of("muri-s"), LinearDuals(denominator=denominator, multipliers=multipliers))
    assert refused.value.field == field
    right = solve_round(round_, "muri-s", "heuristic")
    assert rules_broken_by(round_, with_duals(right, denominator, **multipliers)) == {"evidence", "proof"}


def test_no_bound_is_given_where_jobs_cannot_share(monkeypatch: pytest.MonkeyPatch) -> None:
    free = LinearDuals(denominator=1, multipliers={"once": (0, 0), "gpus": (0,)})
    able = gang(0, 1, stage_seconds=EVEN)
    assert sharing_bound(round_of([1], [able, gang(1, 1)]), settings_of("muri-s"), free) is None
    assert sharing_bound(round_of([1], [able, gang(1, 0, stage_seconds=EVEN)]), settings_of("muri-s"), free) is None
    two = round_of([1], [able, gang(1, 1, stage_seconds=(2.0, 1.0, 0.0, 0.0))])
    assert sharing_bound(two, settings_of("muri-s"), free) == 350_000  # 7 seconds of stages in 4 x 5
    monkeypatch.setattr(bounds, "MOST_GROUPS", 2)  # too many to look at: then two jobs are worth a slot each
    assert sharing_bound(replace(two, name="again"), settings_of("muri-s"), free) == 500_000


def test_jobs_alike_but_in_what_the_objective_looks_at_are_not_taken_for_one() -> None:
    """Together any two take four seconds: the last two save 16 of their 20 alone, the first two lose."""
    jobs = [gang(j, 1, stage_seconds=EVEN, iteration_seconds=time) for j, time in enumerate([1.0, 1.0, 10.0, 10.0])]
    round_ = round_of([1], jobs)
    free = LinearDuals(denominator=1, multipliers={"once": (0,) * 4, "gpus": (0,)})
    plain = Plain(round_=round_, objective="gpu-time", largest=2)
    assert sharing_bound(round_, settings_of(plain.spec), free) == plain.optimum() == 4_000_000
    assert sharing_bound(round_, settings_of("muri-l:objective=progress,group=2"), free) == 7_500  # (2 + 1) x 10 / 4


@pytest.mark.parametrize("denominator", [1, 10**25])
def test_groups_worth_nothing_prove_that_nothing_can_be_won(denominator: int) -> None:
    round_ = round_of([1], [gang(j, 1, stage_seconds=(0.0,) * 4) for j in range(2)])
    free = LinearDuals(denominator=denominator, multipliers={"once": (0, 0), "gpus": (0,)})
    assert sharing_bound(round_, settings_of("muri-s"), free) == 0


def test_a_job_that_cannot_run_alone_adds_nothing() -> None:
    prices_ = {"once": (1, 10, 100, 1000), "gpus": (0,)}
    duals = LinearDuals(denominator=1, multipliers=prices_)
    jobs = [
        gang(0, 1, stage_seconds=(0.0,) * 4),
        gang(1, 3, stage_seconds=EVEN),
        gang(2, 1, stage_seconds=EVEN, cpus=3),
        gang(3, 1, stage_seconds=EVEN, tenant="red"),
    ]
    nodes = [Node(id="n0", gpus=1, cpus=2), Node(id="n1", gpus=1, cpus=2)]
    round_ = round_of(nodes, jobs, [Tenant(id="red", quota_gpus=0)])
    for settings_ in ("sizes=equal", "sizes=mixed"):
        assert sharing_bound(round_, settings_of(f"muri-s:{settings_}"), duals) == 1
