"""The verifier rejects every mutant of a right answer to a multi-tenant round and names the rule that it breaks."""

from __future__ import annotations

import pytest
from alterations import decided, replace, rules_broken_by, with_assignments, with_duals
from by_policy import decision_value
from handmade import round_of
from hypothesis import event, given, strategies as st
from more_examples import more_examples
from mutants import MUTANTS, Mutant
from placement_answers import Places, answer, answers, reading_of, running, waiting
from plan_mutants import OF_ANY_POLICY

from muri_opt import InputError, Job, Node, Result, Round, Tenant, WaitingReason, verify
from muri_opt.rounds import Change

POLICY = "philly:hold=100,backoff=50,preempt_at=0.7,migrate=2,dedicated=4"
RESTARTING = POLICY.replace("migrate=2,", "")
NODES = (
    Node(id="n0", gpus=4, rack="a"),
    Node(id="n1", gpus=4, rack="a"),
    Node(id="n2", gpus=4, rack="b"),
    Node(id="n3", gpus=5, rack="b"),
    Node(id="n4", gpus=2, rack="b", cpus=2, memory_gib=4),
)
TENANTS = (Tenant(id="red", quota_gpus=1), Tenant(id="blue", quota_gpus=8), Tenant(id="green"))
JOBS = (
    running("pinned", 1, {"n0": 1}, restart=None, tenant="red"),
    running("shift", 2, {"n1": 2}, tenant="green"),
    running("lent", 3, {"n2": 3}, tenant="red"),
    running("solo", 4, {"n3": 4}, tenant="blue"),
    waiting("close", 2, tenant="blue"),
    waiting("rack", 2, 600.0, tenant="blue", cpus=0.5),
    waiting("off", 1, 120.0),
    waiting("huge", 30),
    waiting("cpus", 2, tenant="green", cpus=4),
    waiting("memory", 2, tenant="green", memory_gib=6),
    waiting("wide", 4, 1800.0, tenant="red"),
)
ROUND = round_of(NODES, JOBS, TENANTS)
NOW: Places = {job.id: job.placement for job in JOBS if job.placement is not None}
RIGHT: Places = {**NOW, "close": {"n0": 2}, "rack": {"n1": 2}}
"""14 of 19 GPUs are in use then, four of them by jobs that start."""


def without(*jobs: str, **more: dict[str, int]) -> Places:
    return {job: held for job, held in RIGHT.items() if job not in jobs} | more


@pytest.mark.parametrize(
    "places",
    [RIGHT, without(rack={"n0": 1, "n1": 1}), without(shift={"n4": 2}), without("lent")],
    ids=["all stay", "apart in a rack", "moved", "preempted"],
)
def test_right_answers_are_right(places: Places) -> None:
    assert rules_broken_by(ROUND, answer(ROUND, POLICY, places)) == set()


AGAIN = without(close={"n2": 2}, lent={"n0": 3})
"""A job that was preempted and starts again: a move, where there are moves."""


def test_without_migration_a_job_elsewhere_was_preempted_and_started_again() -> None:
    restarted, stays = (answer(ROUND, RESTARTING, places) for places in (AGAIN, RIGHT))
    assert rules_broken_by(ROUND, restarted) == set()
    assert "migration" in rules_broken_by(ROUND, answer(ROUND, POLICY, AGAIN))
    penalty = reading_of(ROUND, RESTARTING).penalty
    assert stays.value is not None
    assert restarted.value == stays.value - 3 * penalty - 3 * 100  # and 60 of 600 seconds for each GPU
    free = POLICY.replace("=2", "=inf")
    moved, kept = (decision_value(ROUND, free, decided(answer(ROUND, free, places))) for places in (AGAIN, RIGHT))
    assert moved == kept - 3 * 100


def test_who_has_waited_for_long_may_be_put_anywhere() -> None:
    for waited, broken in ((1799.0, {"locality"}), (1800.0, set())):
        jobs = [replace(job, waiting_seconds=waited) if job.id == "lent" else job for job in JOBS]
        round_ = round_of(NODES, jobs, TENANTS)
        apart = answer(round_, RESTARTING, without(lent={"n2": 2, "n0": 1}))
        assert rules_broken_by(round_, apart) == broken


def test_a_gang_alone_on_empty_nodes_is_right() -> None:
    """It may sit anywhere by now, and nobody else is on its nodes."""
    jobs = [job for job in JOBS if job.id in ("pinned", "solo", "wide")]
    round_ = round_of(NODES, jobs, TENANTS)
    held = {job.id: job.placement for job in jobs if job.placement is not None}
    assert rules_broken_by(round_, answer(round_, POLICY, {**held, "wide": {"n1": 2, "n4": 2}})) == set()
    assert rules_broken_by(round_, answer(round_, POLICY, {**held, "wide": {"n0": 2, "n4": 2}})) == {"dedicated"}


def test_the_reasons_of_the_right_answer() -> None:
    reasons = {wait.job: wait.reason for wait in decided(answer(ROUND, POLICY, RIGHT)).waiting}
    assert reasons == {
        "off": WaitingReason.BACKOFF,
        "huge": WaitingReason.CAPACITY,
        "cpus": WaitingReason.FRAGMENTATION,
        "memory": WaitingReason.FRAGMENTATION,
        "wide": WaitingReason.QUOTA,
    }


@pytest.mark.parametrize(
    ("rule", "where", "places", "policy"),
    [
        ("locality", "close", without(close={"n0": 1, "n1": 1}, rack={"n1": 1, "n0": 1}), POLICY),
        ("locality", "close", without(close={"n0": 1, "n2": 1}), POLICY),
        ("locality", "rack", without(rack={"n1": 1, "n2": 1}), POLICY),
        ("locality", "shift", without(shift={"n2": 1, "n4": 1}), POLICY),
        ("backoff", "off", without(off={"n2": 1}), POLICY),
        ("pinned", "pinned", without(pinned={"n2": 1}), POLICY),
        ("pinned", "pinned", without("pinned"), POLICY),
        ("migration", "lent", without("close", lent={"n0": 3}), POLICY),
        ("migration", "shift", without(shift={"n4": 2}), POLICY.replace("migrate=2", "migrate=1")),
        ("preemption-quota", "green", without(shift={"n4": 2}), RESTARTING),
        ("preemption-quota", "blue", without("close", solo={"n3": 3, "n2": 1}), RESTARTING),
        ("preemption-load", "lent", without("close", lent={"n0": 3}), RESTARTING),
        ("preemption-load", "lent", AGAIN, RESTARTING.replace("0.7", "never")),
        ("locality", "lent", without(lent={"n2": 2, "n0": 1}), RESTARTING),
        ("pinned", "pinned", without(pinned={"n2": 1}), RESTARTING),
        ("preemption-quota", "green", without("shift"), POLICY),
        ("preemption-quota", "blue", without("solo"), POLICY),
        ("preemption-load", "lent", without("lent"), POLICY.replace("0.7", "0.737")),
        ("preemption-load", "lent", without("lent"), POLICY.replace("0.7", "never")),
        ("dedicated", "n3", without(cpus={"n3": 2}, solo={"n3": 3, "n2": 1}), POLICY.replace("=2", "=inf")),
        ("dedicated", "n2", without(wide={"n0": 1, "n2": 1, "n4": 2}), POLICY),
        ("dedicated", "n3", without(off={"n3": 1}), POLICY.replace("backoff=50,", "")),
        ("gang", "assignments[4]", without(close={"n0": 1}), POLICY),
        ("gang", "assignments[5]", without(rack={"n1": 2, "n0": 1}), POLICY),
        ("gpu-capacity", "n2", without(close={"n2": 2}), POLICY),
        ("cpu-capacity", "n4", without(cpus={"n4": 2}), POLICY),
        ("memory-capacity", "n4", without(memory={"n4": 2}), POLICY),
    ],
)
def test_a_broken_rule_is_named(rule: str, where: str, places: Places, policy: str) -> None:
    certificate = verify(ROUND, answer(ROUND, policy, places))
    assert (rule, where) in {(violation.rule, violation.where) for violation in certificate.violations}
    assert all(violation.detail for violation in certificate.violations)
    assert not certificate.feasible


def test_the_load_is_counted_exactly() -> None:
    """14 of 19 GPUs are 736.84 thousandths: allowed from 736 on, not from 737 on."""
    for load, broken in (("0.736", set()), ("0.7361", {"preemption-load"}), ("0.737", {"preemption-load"})):
        result = answer(ROUND, POLICY.replace("0.7", load), without("lent"))
        assert rules_broken_by(ROUND, result) == broken
    half = round_of([4], [running("lent", 2, {"n0": 2}, tenant="red")], [Tenant(id="red", quota_gpus=0)])
    assert rules_broken_by(half, answer(half, "philly:preempt_at=0.5", {})) == set()
    assert rules_broken_by(half, answer(half, "philly:preempt_at=0.501", {})) == {"preemption-load"}


OF_ANY_FAMILY = [
    mutant
    for mutant in MUTANTS
    if mutant.name in {*OF_ANY_POLICY, "one_gpu_too_few", "one_gpu_too_many", "unknown_node", "cpus_left_out"}
    and mutant.name != "price_of_a_quota_without_limit"
]


@pytest.mark.parametrize("mutant", OF_ANY_FAMILY, ids=lambda mutant: mutant.name)
def test_a_mutant_is_rejected_by_name(mutant: Mutant) -> None:
    result = answer(ROUND, POLICY, RIGHT)
    broken = mutant.broken(ROUND, result)
    assert broken is not None
    assert broken != result
    assert mutant.rule in rules_broken_by(ROUND, broken)


@given(st.data(), answers())
@more_examples(120)
def test_any_mutant_of_any_answer_is_rejected(data: st.DataObject, given_: tuple[Round, Result]) -> None:
    round_, result = given_
    assert rules_broken_by(round_, result) == set()
    mutant = data.draw(st.sampled_from(OF_ANY_FAMILY))
    broken = mutant.broken(round_, result)
    event("broken" if broken is not None else "nothing to break")
    if broken is not None:
        assert mutant.rule in rules_broken_by(round_, broken)


@pytest.mark.parametrize(
    ("denominator", "multipliers"),
    [
        (0, {}),
        (1, {"once": (0,)}),
        (1, {"once": (-1,) * len(JOBS)}),
        (1, {"quota": (0,)}),
        (1, {"quota": (10**18, 0, 0)}),
        (1, {"gpus": (0,) * len(NODES)}),
    ],
)
def test_wrong_evidence_is_refused(denominator: int, multipliers: dict[str, tuple[int, ...]]) -> None:
    right = answer(ROUND, POLICY, RIGHT)
    assert rules_broken_by(ROUND, with_duals(right, denominator, **multipliers)) == {"evidence"}


def test_a_tenant_without_a_quota_weighs_in_full_whatever_is_said() -> None:
    right = answer(ROUND, POLICY, RIGHT)
    bounds = {
        verify(ROUND, with_duals(right, once=(10**9,) * len(JOBS), quota=(0, 0, said))).checked_bound
        for said in (0, 1, 10**18)
    }
    assert len(bounds) == 1


def broken_rounds() -> list[tuple[str, Round]]:
    """Return rounds that can be, but not where gangs have all their GPUs for themselves."""
    elastic = replace(JOBS[2], placement={"n2": 2}, scaling={1: 1.0, 3: 2.0})
    sharing = [running(name, 3, {"n0": 3}, stage_seconds=(1.0, 1.0, 1.0, 1.0)) for name in ("more", "twin")]
    # A third of 3.001 CPUs is rounded up for every GPU, to 2.002 on a node of 2.
    hungry = running("more", 3, {"n3": 1, "n4": 2}, cpus=3.001)
    return [
        ("jobs[2] ('lent').placement", replace(ROUND, jobs=(*JOBS[:2], elastic, *JOBS[3:]))),
        ("jobs[12] ('twin').placement", replace(ROUND, jobs=(*JOBS, *sharing))),
        ("jobs[11] ('more').placement", replace(ROUND, jobs=(*JOBS, hungry))),
        ("jobs[11] ('none').gpus", replace(ROUND, jobs=(*JOBS, Job(id="none", gpus=0)))),
    ]


@pytest.mark.parametrize(("field", "round_"), broken_rounds())
def test_a_round_that_cannot_be_is_refused(field: str, round_: Round) -> None:
    result = answer(ROUND, POLICY, RIGHT)
    with pytest.raises(InputError) as refused:
        verify(round_, result)
    assert refused.value.field == field


def test_what_can_be_counted_of_a_broken_decision_is_counted() -> None:
    """Unknown jobs and nodes add nothing, and a running job that is nowhere counts as preempted."""
    result = answer(ROUND, POLICY, RIGHT)
    first, *others = decided(result).assignments
    value = decision_value(ROUND, POLICY, decided(result))
    for odd in (
        replace(first, jobs=("nobody",)),
        replace(first, gpus={"nowhere": 1}),
        replace(first, jobs=()),
        replace(first, gpus={}),
    ):
        without_it = with_assignments(result, *others)
        assert decision_value(ROUND, POLICY, decided(with_assignments(result, odd, *others))) == decision_value(
            ROUND, POLICY, decided(without_it)
        )
    twice = decided(with_assignments(result, first, first, *others))
    assert decision_value(ROUND, POLICY, twice) == value
    assert decision_value(ROUND, POLICY, decided(with_assignments(result, *others))) < value


def with_change(change: Change, job: str = "cpus") -> Result:
    """Return the right answer with one change proposed to a job that waits."""
    result = answer(ROUND, POLICY, RIGHT)
    waits = [
        replace(wait, changes=(change,)) if wait.job == job else replace(wait, changes=())
        for wait in decided(result).waiting
    ]
    return with_assignments(result, *decided(result).assignments, waiting=tuple(waits))


RIGHT_CHANGES = [
    ("cpus", Change(preempt=("shift",), gpus=2)),
    ("cpus", Change(move={"shift": {"n4": 2}}, gpus=2)),
    ("cpus", Change(add_gpus=2, rack="b", gpus=2)),
    ("cpus", Change(add_gpus=2, gpus=2)),
    ("cpus", Change(add_gpus=2, rack="new", gpus=2)),
    ("cpus", Change(wait_seconds=600.0)),  # one GPU on n2 and one on n4
    ("off", Change(wait_seconds=30.0)),
    ("off", Change(preempt=("shift",), gpus=2, wait_seconds=30.0)),
    ("wide", Change(add_gpus=2, gpus=2)),  # with n4, as it may sit anywhere
    ("wide", Change(preempt=("lent",), gpus=3)),
    ("huge", Change(add_gpus=28, gpus=28)),  # two nodes are the fewest then: the new one and n4
]


@pytest.mark.parametrize(("job", "change"), RIGHT_CHANGES)
def test_a_change_that_helps_is_right(job: str, change: Change) -> None:
    assert rules_broken_by(ROUND, with_change(change, job)) == set()


@pytest.mark.parametrize(
    ("job", "change", "fault"),
    [
        ("cpus", Change(), "nothing is changed"),
        ("cpus", Change(preempt=("shift",), gpus=3), "says 3 GPUs"),
        ("cpus", Change(preempt=("shift",)), "says 0 GPUs"),
        ("cpus", Change(preempt=("shift", "shift"), gpus=4), "twice"),
        ("cpus", Change(preempt=("shift",), move={"shift": {"n4": 2}}, gpus=4), "twice"),
        ("cpus", Change(preempt=("nobody",), gpus=2), "does not run"),
        ("cpus", Change(preempt=("memory",), gpus=2), "does not run"),
        ("cpus", Change(preempt=("pinned",), gpus=1), "no restart_seconds"),
        ("cpus", Change(preempt=("solo",), move={"lent": {"n0": 1, "n2": 2}}, gpus=7), "further apart"),
        ("cpus", Change(move={"pinned": {"n2": 1}}, gpus=1), "no restart_seconds"),
        ("cpus", Change(move={"shift": {"n2": 2}}, gpus=2), "no room on node 'n2'"),
        ("cpus", Change(move={"shift": {"n3": 1, "n4": 1}}, gpus=2), "no room on node 'n3'"),
        ("cpus", Change(move={"shift": {"n4": 1}}, gpus=2), "moves to 1 GPUs"),
        ("cpus", Change(move={"shift": {"nowhere": 2}}, gpus=2), "moves to 2 GPUs of node 'nowhere'"),
        ("cpus", Change(move={"shift": {"n4": 2, "n0": 0}}, gpus=2), "moves to 0 GPUs of node 'n0'"),
        ("cpus", Change(move={"shift": {"n1": 2}}, gpus=2), "could not start"),
        ("cpus", Change(wait_seconds=450.0), "could not start"),
        ("cpus", Change(wait_seconds=120.0), "left alone"),
        ("cpus", Change(wait_seconds=-1.0), "waits for -1.0 s"),
        ("cpus", Change(wait_seconds=float("nan")), "waits for nan s"),
        ("cpus", Change(add_gpus=1, rack="b", gpus=1), "could not start"),
        ("cpus", Change(add_gpus=0, rack="b"), "adds 0 GPUs"),
        ("cpus", Change(preempt=("shift",), rack="b", gpus=2), "adds no node"),
        ("off", Change(wait_seconds=29.999999), "left alone"),
        ("off", Change(preempt=("shift",), gpus=2), "left alone"),
        ("wide", Change(add_gpus=1, gpus=1), "could not start"),
        ("wide", Change(preempt=("shift",), gpus=2), "could not start"),
        ("huge", Change(add_gpus=27, gpus=27), "could not start"),
    ],
)
def test_a_change_that_does_not_help_is_named(job: str, change: Change, fault: str) -> None:
    certificate = verify(ROUND, with_change(change, job))
    (violation,) = certificate.violations
    assert (violation.rule, violation.where) == ("waiting-change", job)
    assert fault in violation.detail
