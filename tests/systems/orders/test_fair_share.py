"""Fair shares over trees of tenants: by hand, and against the definition and the verifier's own order."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from brute_force import ranked
from handmade import gang, round_of
from hypothesis import given
from more_examples import more_examples
from msgspec.structs import replace

from muri_opt import Cluster, Node, RefusalError, Round, Tenant, policy_from, solve_round, verify
from muri_opt.systems.orders import priority_order
from muri_opt.testing import demanding_rounds, rounds
from muri_opt.verify.gangs.value import ranked as verified

SHARES = {"tenant.parent", "tenant.weight", "tenant.used_gpu_seconds"}


def order(tenants: list[Tenant], owners: str, gpus: list[int] | None = None, **said: object) -> str:
    """Return the tenants in the order in which their jobs are served; jobs are submitted as they are listed."""
    sizes = gpus or [1] * len(owners)
    jobs = [gang(j, sizes[j], tenant=owner, submitted=float(j), **said) for j, owner in enumerate(owners)]
    round_ = round_of([8], jobs, tenants)
    return "".join(owners[j] for j in priority_order(round_, "fair-share"))


def test_equal_tenants_take_turns_by_gpus() -> None:
    assert order([Tenant(id="a"), Tenant(id="b")], "aaabb") == "ababa"
    assert order([Tenant(id="a"), Tenant(id="b")], "aabbb", [3, 1, 1, 1, 1]) == "abbba"


def test_twice_the_weight_is_twice_the_share() -> None:
    assert order([Tenant(id="a"), Tenant(id="b", weight=2.0)], "aaabbbb") == "abbabba"


def test_who_has_used_more_waits_until_the_other_has_caught_up() -> None:
    """All use is that of a: it begins with a claim of 1, which is that of all 8 GPUs."""
    tenants = [Tenant(id="a", used_gpu_seconds=3600.0), Tenant(id="b")]
    assert order(tenants, "ab" * 9) == "b" * 8 + "a" + "b" + "a" * 8


def test_a_tree_shares_level_by_level() -> None:
    """a and b are one half, c is the other."""
    tenants = [Tenant(id="o"), Tenant(id="a", parent="o"), Tenant(id="b", parent="o"), Tenant(id="c")]
    assert order(tenants, "aabbcccc") == "acbcacbc"


def test_the_own_jobs_of_a_tenant_are_beside_those_below_it() -> None:
    tenants = [Tenant(id="o"), Tenant(id="a", parent="o", weight=2.0)]
    assert order(tenants, "oooaaa") == "oaaoao"


def test_use_counts_for_all_above_and_what_is_left_is_a_tenants_own() -> None:
    """o has used 8, of which a 2; its own jobs have the other 6. Without a number, o has what a and b have."""
    below = [Tenant(id="a", parent="o", used_gpu_seconds=2.0), Tenant(id="b", parent="o")]
    assert order([Tenant(id="o", used_gpu_seconds=8.0), *below], "oab") == "bao"
    beside = [Tenant(id="c", used_gpu_seconds=1.0)]
    assert order([Tenant(id="o"), *below, *beside], "oabc") == "coba"


def test_the_dominant_resource_counts() -> None:
    """b asks for half of all CPUs with one GPU of eight: as much as four GPUs."""
    cluster = Cluster(nodes=(Node(id="n0", gpus=8, cpus=16.0),), tenants=(Tenant(id="a"), Tenant(id="b")))
    jobs = tuple(
        gang(j, 1, tenant=owner, cpus=8.0 if owner == "b" else None, submitted=float(j))
        for j, owner in enumerate("bbaaaaa")
    )
    nodes = {"useless": Node(id="n1", gpus=0), "unlimited": Node(id="n2", gpus=1)}
    found = {
        name: "".join(
            "bbaaaaa"[job]
            for job in priority_order(
                Round(cluster=replace(cluster, nodes=(*cluster.nodes, *more)), jobs=jobs), "fair-share"
            )
        )
        for name, more in {"alone": [], **{name: [node] for name, node in nodes.items()}}.items()
    }
    assert found == {"alone": "baaaaba", "useless": "baaaaba", "unlimited": "babaaaa"}


def test_claims_are_compared_exactly() -> None:
    """Three tenths by three parts of weight 0.1 or by one of weight 0.3 are the same; floats say otherwise."""
    tenants = [Tenant(id="a", weight=0.1), Tenant(id="b", weight=0.3)]
    assert 3 * 0.1 != 0.3
    assert Fraction("0.1") * 3 == Fraction("0.3")
    assert order(tenants, "bbbba") == "babbb"
    assert order(tenants, "abbbab") == "abbbab"


@given(demanding_rounds(rounds(max_jobs=7), fields=SHARES))
@more_examples(40)
def test_the_order_follows_its_definition(round_: Round) -> None:
    found = [round_.jobs[j] for j in priority_order(round_, "fair-share")]
    assert found == ranked(round_, "fair-share")
    assert found == verified(round_, "fair-share")


def drawn(seed: int, tenants: int, jobs: int) -> Round:
    draw = Random(seed)
    listed = [
        Tenant(
            id=f"t{place}",
            parent=f"t{draw.randrange(place)}" if place and draw.random() < 0.7 else None,
            weight=draw.choice([0.1, 0.3, 1.0, 2.0, 7.5]),
            used_gpu_seconds=draw.choice([None, 0.0, 10.0, 3600.5]),
        )
        for place in range(tenants)
    ]
    nodes = tuple(
        Node(id=f"n{s}", gpus=draw.randint(0, 8), cpus=draw.choice([64.0, 96.0]), memory_gib=500.0) for s in range(4)
    )
    some = tuple(
        gang(
            j,
            draw.randint(1, 4),
            tenant=draw.choice([None, *(tenant.id for tenant in listed)]),
            submitted=float(draw.randint(0, 9)),
            cpus=draw.choice([None, 3.0, 16.0]),
            memory_gib=draw.choice([None, 100.0]),
        )
        for j in range(jobs)
    )
    return Round(cluster=Cluster(nodes=nodes, tenants=tuple(listed)), jobs=some)


def test_two_ways_to_find_the_order_agree_on_trees() -> None:
    for seed in range(10):
        round_ = drawn(seed, 12, 120)
        found = [round_.jobs[j] for j in priority_order(round_, "fair-share")]
        assert found == verified(round_, "fair-share"), seed
    for seed in range(8):
        round_ = drawn(seed, 5, 12)
        assert [round_.jobs[j] for j in priority_order(round_, "fair-share")] == ranked(round_, "fair-share"), seed


def test_a_long_line_of_tenants_is_no_recursion() -> None:
    tenants = [Tenant(id="t0"), *(Tenant(id=f"t{at}", parent=f"t{at - 1}") for at in range(1, 1200))]
    jobs = [gang(j, 1, tenant=f"t{1199 - j}", submitted=float(j)) for j in range(3)]
    round_ = round_of([8], jobs, tenants)
    assert [round_.jobs[j] for j in priority_order(round_, "fair-share")] == verified(round_, "fair-share")


@pytest.mark.parametrize("method", ["heuristic", "exact"])
def test_it_decides_by_weight_and_is_verified(method: str) -> None:
    tenants = [Tenant(id="a"), Tenant(id="b", weight=3.0, used_gpu_seconds=0.0), Tenant(id="c", used_gpu_seconds=9.0)]
    jobs = [gang(j, 2, tenant=owner, submitted=float(j)) for j, owner in enumerate("ccaabbbb")]
    round_ = round_of([8], jobs, tenants)
    result = solve_round(round_, "fair-share", method)
    assert sorted(job.tenant for job in jobs if job.id in result.decision.running) == ["a", "b", "b", "b"]
    assert verify(round_, result).violations == ()


def test_other_orders_refuse_weights_and_use() -> None:
    round_ = round_of([8], [gang(0, 1, tenant="a")], [Tenant(id="a", weight=2.0, used_gpu_seconds=1.0)])
    result = solve_round(round_, "fair-share")
    with pytest.raises(RefusalError, match=r"tenant\.weight.*fair-share"):
        solve_round(round_, "max-min")
    wrong = replace(result, policy="max-min", rules=dict(policy_from("max-min").rules))
    with pytest.raises(RefusalError, match=r"tenant\.weight"):
        verify(round_, wrong)
