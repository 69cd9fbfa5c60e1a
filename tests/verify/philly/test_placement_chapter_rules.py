"""The verifier's own reading of a multi-tenant round: levels, spreads, costs, weights, and reasons to wait."""

from __future__ import annotations

import numpy as np
import pytest
from alterations import decided
from by_policy import settings_of
from handmade import round_of
from hypothesis import event, given
from more_examples import more_examples
from placement_answers import answer, answers, nodes, reading_of, running, waiting

from muri_opt import InputError, Node, Result, Round, Tenant, WaitingReason, verify
from muri_opt.systems import policy_from
from muri_opt.systems.philly import JobStatus
from muri_opt.testing import tenant_policies, tenant_rounds
from muri_opt.verify.philly.rules import Tenancy

SECOND = 1_000_000


def tenancy(text: str = "") -> Tenancy:
    found = settings_of("philly" + ":" * bool(text) + text)
    assert found is not None
    return found


def test_the_parameters_are_read_in_whole_numbers() -> None:
    assert tenancy() == Tenancy(
        rack_after=600 * SECOND,
        any_after=1800 * SECOND,
        hold=150 * SECOND,
        backoff=0,
        preempt_at=900,
        migrate=0,
        dedicated=None,
        speeds=(1000, 854, 729),
        aging=86_400 * SECOND,
        horizon=600 * SECOND,
        weighted=False,
    )
    other = tenancy("preempt_at=0.0701,migrate=inf,dedicated=8,rack_speed=0.0019,any_speed=0.001,objective=weighted")
    assert (other.preempt_at, other.migrate, other.dedicated, other.weighted) == (71, None, 8, True)
    assert other.speeds == (1000, 1, 1)
    assert tenancy("preempt_at=0.07").preempt_at == 70
    assert tenancy("preempt_at=never").preempt_at is None


@pytest.mark.parametrize(
    "text",
    [
        "rack_after=-1",
        "any_after=inf",
        "hold=0",
        "backoff=2.1e9",
        "preempt_at=1.1",
        "migrate=0.5",
        "migrate=never",
        "dedicated=0",
        "rack_speed=0.0009",
        "any_speed=0.9",
        "rack_speed=0.5",
        "aging=0",
        "horizon=0",
        "objective=fair",
        "nodes=any",
    ],
)
def test_parameters_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        settings_of(f"philly:{text}")
    assert refused.value.field.startswith(("policy", "parameter of policy"))


def test_levels_grow_with_time_and_rest_in_back_off() -> None:
    rules = tenancy("backoff=50,hold=100")
    assert [rules.level(second * SECOND) for second in (0, 99, 100, 149, 150, 599, 600, 1799, 1800)] == [
        0,
        0,
        -1,
        -1,
        0,
        -1,
        1,
        -1,
        2,
    ]
    assert tenancy().level(600 * SECOND - 1) == 0
    swapped = tenancy("rack_after=900,any_after=300")
    assert [swapped.level(second * SECOND) for second in (300, 899, 900)] == [0, 0, 2]


def test_costs_and_worths() -> None:
    rules = tenancy()
    assert [rules.cost(2, restart * SECOND, 1250) for restart in (0, 60, 6000, 60_000)] == [2, 200, 20_000, 20_000]
    assert rules.cost(1, 1, 1250) == 1
    assert rules.working(4, rules.age(86_400 * SECOND), 0) == 4 * 1250
    assert rules.working(4, rules.age(86_400 * SECOND), 1) == 4 * 1067  # 1250 * 0.854 = 1067.5
    assert rules.working(1, rules.age(10**9 * SECOND), 2) == 911
    assert rules.working(3, 1000, 2) == 3 * 729
    by_completion = tenancy("objective=completion")
    assert [by_completion.cost(2, 60 * SECOND, each) for each in (1, 1500, 4000)] == [2, 300, 800]


@given(tenant_rounds(), tenant_policies())
@more_examples(120)
def test_two_readings_of_a_round_agree(round_: Round, policy: str) -> None:
    """Two programs written apart from each other from one text."""
    reading, status = reading_of(round_, policy), JobStatus.of(round_, policy_from(policy).tenant_rules)
    assert (reading.premium, reading.penalty) == (status.values.premium, status.values.penalty)
    for job, stand in enumerate(reading.stands):
        assert (stand.candidate, stand.movable, stand.evictable) == (
            status.may.start[job],
            status.may.move[job],
            status.may.be_preempted[job],
        )
        assert (stand.level, stand.cost) == (status.widest[job], status.values.restart[job])
        assert stand.reach.fits == status.locality.fits[job]
        if stand.reach.fits:
            assert stand.reach.fewest == status.locality.fewest[job]
            all_nodes = range(len(round_.cluster.nodes))
            assert reading.spread(stand, all_nodes) == status.locality.spread(job, np.array(all_nodes))
        if stand.running:
            assert reading.worth(stand, stand.held) == status.values.kept[job]
        if stand.candidate or stand.movable:
            assert [reading.elsewhere(stand, spread) for spread in range(3)] == status.values.placed[job].tolist()


@given(answers())
@more_examples(120)
def test_answers_of_the_policy_have_the_right_reasons_and_changes(given_: tuple[Round, Result]) -> None:
    round_, result = given_
    assert verify(round_, result).violations == ()
    for wait in decided(result).waiting:
        event(wait.reason)


LARGE = [Node(id=f"n{s}", gpus=4, rack="ab"[s // 2]) for s in range(4)]


@pytest.mark.parametrize(
    ("gpus", "held", "spread"),
    [
        (4, {"n0": 4}, 0),
        (4, {"n0": 2, "n1": 2}, 1),
        (4, {"n0": 2, "n2": 2}, 2),
        (6, {"n0": 3, "n1": 3}, 0),
        (6, {"n1": 3, "n2": 3}, 2),
        (9, {"n0": 4, "n1": 4, "n2": 1}, 0),
        (9, {"n0": 4, "n1": 2, "n2": 2, "n3": 1}, 2),
    ],
)
def test_a_spread_is_told_by_racks_and_by_the_fewest_nodes(gpus: int, held: dict[str, int], spread: int) -> None:
    (stand,) = reading_of(round_of(LARGE, [running("job", gpus, held)]), "philly").stands
    assert stand.level == spread


def reason(round_: Round, policy: str = "philly", **started: dict[str, int]) -> WaitingReason:
    """Return why the last job waits if the running jobs stay and some start; the verifier agrees."""
    places = {job.id: job.placement for job in round_.jobs if job.placement is not None} | started
    result = answer(round_, policy, places)
    assert verify(round_, result).violations == ()
    return {wait.job: wait.reason for wait in decided(result).waiting}[round_.jobs[-1].id]


def test_each_reason_is_the_first_that_applies() -> None:
    tenants = [Tenant(id="red", quota_gpus=3)]
    lent = running("lent", 3, {"n0": 2, "n1": 1}, tenant="red")
    assert reason(round_of(nodes(2, 2), [waiting("job", 5)])) == WaitingReason.CAPACITY
    assert reason(round_of(nodes(2, 2), [waiting("job", 2, 200.0)]), "philly:backoff=100") == WaitingReason.BACKOFF
    assert reason(round_of(nodes(2, 2), [waiting("job", 2)])) == WaitingReason.PRIORITY
    assert reason(round_of(nodes(2, 2), [lent, waiting("job", 1, tenant="red")], tenants)) == WaitingReason.PRIORITY
    assert reason(round_of(nodes(2, 2), [lent, waiting("job", 2, tenant="red")], tenants)) == WaitingReason.QUOTA
    assert reason(round_of(nodes(2, 2), [lent, waiting("job", 2)], tenants)) == WaitingReason.CAPACITY
    apart = [running("a", 1, {"n0": 1}), running("b", 1, {"n1": 1}), waiting("job", 2)]
    assert reason(round_of(nodes(2, 2), apart)) == WaitingReason.FRAGMENTATION
    assert reason(round_of(nodes(2, 2), apart), "philly:rack_after=0") == WaitingReason.PRIORITY
    assert reason(round_of(nodes(2, 2, racks="ab"), apart), "philly:rack_after=0") == WaitingReason.FRAGMENTATION
    assert reason(round_of(nodes(2, 2, racks="ab"), apart), "philly:rack_after=0,any_after=0") == WaitingReason.PRIORITY
    over = [running("a", 1, {"n0": 1}), waiting("job", 3)]
    assert reason(round_of(nodes(2, 2, racks="ab"), over)) == WaitingReason.PRIORITY  # no rack holds it
    assert reason(round_of(nodes(2, 1, 1, 1, racks="abcd"), over)) == WaitingReason.FRAGMENTATION
    alone = "philly:dedicated=2"
    assert reason(round_of(nodes(4), [running("a", 1, {"n0": 1}), waiting("job", 2)]), alone) == (
        WaitingReason.FRAGMENTATION
    )
    assert reason(round_of(nodes(4), [running("a", 2, {"n0": 2}), waiting("job", 1)]), alone) == (
        WaitingReason.FRAGMENTATION
    )


def test_a_preempted_job_could_go_back_to_where_it_was() -> None:
    """It sat apart though it has not waited: that is how far apart it may sit."""
    tenants = [Tenant(id="red", quota_gpus=0)]
    jobs = [running("low", 2, {"n0": 1, "n1": 1}, tenant="red")]
    round_ = round_of(nodes(2, 1, racks="ab"), jobs, tenants)
    result = answer(round_, "philly:preempt_at=0", {})
    assert verify(round_, result).violations == ()
    assert decided(result).waiting[0].reason == WaitingReason.STOPPED
