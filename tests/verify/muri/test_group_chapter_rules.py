"""Mixed sizes and the worst order: right answers written by hand, and wrong ones by the rule they break."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from alterations import changed_first, decided, replace, rules_broken_by, with_assignments
from by_policy import rules_of, settings_of, under
from handmade import gang, round_of
from plain_groups import PATTERNS, Plain, seated_period

from muri_opt import (
    Assignment,
    Certificate,
    Decision,
    InputError,
    Limit,
    Node,
    Reason,
    Result,
    Round,
    Tenant,
    Termination,
    Waiting,
    WaitingReason,
)
from muri_opt.systems.capacity import Placed, group_decision
from muri_opt.systems.muri.interleaving import best_period


def by_hand(round_: Round, policy: str, value: int, *groups: Assignment, **reasons: WaitingReason) -> Result:
    """Return the result of a decision, as a heuristic without a bound would give it."""
    waiting = tuple(Waiting(job=job, reason=reason, detail="", remedy="") for job, reason in reasons.items())
    return Result(
        fingerprint=round_.fingerprint,
        policy=policy,
        rules=rules_of(policy),
        method="heuristic",
        value=value,
        termination=Termination(reason=Reason.FEASIBLE, limit=Limit.HEURISTIC),
        decision=Decision(assignments=groups, waiting=waiting),
        certificate=Certificate(feasible=False),
    )


# A job of four GPUs and one of two interleave on four GPUs of two nodes; each has its two CPUs and GiB on all of them.
JOBS = (
    gang(0, 4, tenant="red", cpus=8, memory_gib=8, stage_seconds=(1.0, 1.0, 0.0, 0.0)),
    gang(1, 2, tenant="blue", cpus=4, memory_gib=4, stage_seconds=(0.0, 0.0, 2.0, 1.0)),
    gang(2, 1, tenant="red", stage_seconds=(1.0, 0.0, 0.0, 0.0)),
    gang(3, 1, stage_seconds=(1.0, 0.0, 0.0, 0.0)),
)
TENANTS = (Tenant(id="red", quota_gpus=4), Tenant(id="blue", quota_gpus=2))
NODES = (Node(id="n0", gpus=3, cpus=12, memory_gib=12), Node(id="n1", gpus=1, cpus=4, memory_gib=4))
ROUND = round_of(NODES, JOBS, TENANTS)
GROUP = Assignment(
    jobs=("j1", "j0"), order=(0, 1), gpus={"n0": 3, "n1": 1}, cpus={"n0": 12.0, "n1": 4.0}, period_seconds=3.0
)
MIXED = by_hand(
    ROUND, "muri-l:sizes=mixed", 291_666, GROUP, j2=WaitingReason.QUOTA, j3=WaitingReason.CAPACITY
)  # 4 x 2 + 2 x 3 seconds of stages in 4 x 4 x 3


def test_a_group_of_mixed_sizes_is_right() -> None:
    assert rules_broken_by(ROUND, MIXED) == set()


def quartet(result: Result) -> Result:
    """The waiting jobs share as well, which is more than the largest group of three."""
    order = best_period([JOBS[j].stage_seconds for j in (1, 0, 2, 3)]).order
    four = replace(GROUP, jobs=("j1", "j0", "j2", "j3"), order=order)
    return under(with_assignments(result, four, waiting=()), "muri-l:sizes=mixed,group=3")


MUTANTS: list[tuple[Callable[[Result], Result], str]] = [
    (lambda result: under(result, "muri-l"), "equal-gpus"),
    (lambda result: under(result, "muri-l:sizes=equal"), "equal-gpus"),
    (lambda result: under(result, "muri-l:sizes=mixed,group=1"), "group-size"),
    (quartet, "group-size"),
    (lambda result: changed_first(result, gpus={"n0": 2}, cpus={"n0": 8.0}), "gang"),
    (lambda result: changed_first(result, gpus={"n0": 3}, cpus={"n0": 12.0}), "gang"),
    (lambda result: changed_first(result, gpus={"n0": 3, "n1": 3}, cpus={"n0": 12.0, "n1": 12.0}), "gang"),
    (lambda result: changed_first(result, cpus={"n0": 9.0, "n1": 3.0}), "cpus-with-gpus"),  # as if for six GPUs
    (lambda result: changed_first(result, cpus={"n0": 6.0, "n1": 2.0}), "cpus-with-gpus"),  # of one job only
    (lambda result: changed_first(result, gpus={"n0": 2, "n1": 2}, cpus={"n0": 8.0, "n1": 8.0}), "gpu-capacity"),
    (lambda result: changed_first(result, period_seconds=4.0), "period"),
    (lambda result: under(result, "muri-l:sizes=mixed,objective=gpu-time"), "value"),
    (lambda result: under(result, "muri-l:sizes=mixed,objective=progress"), "value"),
    (lambda result: under(result, "muri-l:sizes=mixed,preset=authors,pattern=cyclic"), "period"),
    (lambda result: replace(result, value=583_333), "value"),  # as if both jobs had all four GPUs
]


@pytest.mark.parametrize(("mutate", "rule"), MUTANTS)
def test_a_wrong_group_of_mixed_sizes_is_rejected_by_its_rule(mutate: Callable[[Result], Result], rule: str) -> None:
    broken = rules_broken_by(ROUND, mutate(MIXED))
    assert rule in broken
    assert broken <= {rule, "value", "cpu-capacity", "memory-capacity"}


@pytest.mark.parametrize(
    ("node", "fields", "rule"),
    [
        (0, {"cpus": 11.999}, "cpu-capacity"),
        (1, {"cpus": 3.999}, "cpu-capacity"),
        (0, {"memory_gib": 11.5}, "memory-capacity"),
        (1, {"memory_gib": 3.5}, "memory-capacity"),
    ],
)
def test_every_job_has_its_cpus_and_memory_on_every_gpu(node: int, fields: dict[str, float], rule: str) -> None:
    nodes = [replace(each, **fields) if place == node else each for place, each in enumerate(NODES)]
    round_ = round_of(nodes, JOBS, TENANTS)
    assert rules_broken_by(round_, replace(MIXED, fingerprint=round_.fingerprint)) == {rule}


def test_a_job_without_stage_times_shares_with_nobody() -> None:
    round_ = round_of(NODES, [JOBS[0], replace(JOBS[1], stage_seconds=None), *JOBS[2:]], TENANTS)
    result = replace(MIXED, fingerprint=round_.fingerprint, value=0)
    assert rules_broken_by(round_, result) == {"period"}


@pytest.mark.parametrize(("red", "blue", "broken"), [(4, 2, set()), (3, 2, {"quota"}), (4, 1, {"quota"})])
def test_a_quota_counts_the_gpus_each_job_asks_for(red: int, blue: int, broken: set[str]) -> None:
    round_ = round_of(NODES, JOBS, [Tenant(id="red", quota_gpus=red), Tenant(id="blue", quota_gpus=blue)])
    assert rules_broken_by(round_, replace(MIXED, fingerprint=round_.fingerprint)) == broken


@pytest.mark.parametrize(("cpus", "reason"), [(17.999, WaitingReason.FRAGMENTATION), (18.0, WaitingReason.PRIORITY)])
@pytest.mark.parametrize("first", [0, 1])
def test_a_job_waits_for_the_cpus_a_mixed_group_takes_on_all_its_gpus(
    first: int, cpus: float, reason: WaitingReason
) -> None:
    """Four GPUs with four CPUs each leave what the fifth needs, or not."""
    round_ = round_of([Node(id="n0", gpus=5, cpus=cpus)], [*JOBS[:2], replace(JOBS[3], id="j2", cpus=2)], TENANTS)
    jobs = (first, 1 - first)
    placed = Placed(jobs=jobs, share=np.array([4]), order=(0, 1), period_seconds=3.0)
    decision = group_decision(round_, [placed], consolidate=False)
    right = replace(by_hand(round_, "muri-l:sizes=mixed", 291_666), decision=decision)
    assert [wait.reason for wait in decision.waiting] == [reason]
    assert rules_broken_by(round_, right) == set()
    for wrong in set(WaitingReason) - {reason}:
        waits = (replace(decision.waiting[0], reason=wrong),)
        assert rules_broken_by(round_, with_assignments(right, *decision.assignments, waiting=waits)) == {
            "waiting-reason"
        }


STAGES = [(9, 1, 2), (1, 8, 0), (0, 2, 7)]


def shared_by_three(pattern: str, *, worst: bool) -> tuple[Round, Result]:
    """Return three jobs on one GPU in their best or worst order."""
    jobs = [gang(j, 1, stage_seconds=tuple(map(float, times))) for j, times in enumerate(STAGES)]
    round_ = replace(round_of([1], []), resources=("data", "gpu", "network"), jobs=tuple(jobs))
    plain = Plain(round_=round_, order="las", pattern=pattern, worst=worst)
    found = best_period([job.stage_seconds for job in jobs], pattern, worst=worst)
    group = Assignment(
        jobs=("j0", "j1", "j2"), order=found.order, gpus={"n0": 1}, period_seconds=plain.period(jobs) / 10**6
    )
    return round_, by_hand(round_, plain.spec, plain.value(jobs), group)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_group_is_in_its_best_or_its_worst_order_as_the_policy_says(pattern: str) -> None:
    answers = {worst: shared_by_three(pattern, worst=worst) for worst in (False, True)}
    for worst, (round_, result) in answers.items():
        assert rules_broken_by(round_, result) == set()
        (other,) = decided(answers[not worst][1]).assignments
        assert rules_broken_by(round_, changed_first(result, order=other.order)) == {"order"}
        assert rules_broken_by(round_, changed_first(result, period_seconds=other.period_seconds)) == {"period"}
        assert rules_broken_by(round_, under(result, answers[not worst][1].policy)) == {
            "order",
            "period",
            "value",
        }


def test_every_order_as_bad_as_the_worst_is_right() -> None:
    round_, result = shared_by_three("muri-cyclic", worst=True)
    (group,) = decided(result).assignments
    micros = [[time * 10**6 for time in times] for times in STAGES]
    legal = set()
    for order in permutations(range(3)):
        period = seated_period("muri-cyclic", [micros[job] for job in order], (0, 1, 2))
        bad = period == round(group.period_seconds * 10**6)
        legal.add(bad)
        assert rules_broken_by(round_, changed_first(result, order=order)) == (set() if bad else {"order"})
    assert legal == {True, False}


@pytest.mark.parametrize(
    "policy",
    [
        "muri-s:ordering=worst,matching=queue",
        "muri-s:pattern=four",
        "muri-l:objective=weighted",
        "muri-l:sizes=any",
        "muri-l:matching=greedy",
        "muri-l:least_weight=1.01",
        "muri-l:least_weight=-0.5",
        "muri-l:least_weight=nan",
        "muri-l:least_weight=",
        "muri-l:least_weight=1e999",
        "muri-l:least_weight=a decimal from 0 to 1",
        "fifo:least_weight=0",
        "las:sizes=mixed",
    ],
)
def test_a_policy_of_other_settings_is_refused(policy: str) -> None:
    with pytest.raises(InputError) as refused:
        settings_of(policy)
    assert refused.value.field.startswith(("policy", "parameter of policy"))


def test_settings_are_read_from_the_text_of_a_policy() -> None:
    rules = settings_of("muri-s:objective=progress,sizes=mixed,ordering=worst,pattern=muri-4slot-steady,group=2")
    assert (rules.order, rules.largest_group, rules.mixed) == ("srsf", 2, True)
    assert (rules.pattern, rules.worst, rules.objective) == (
        "muri-4slot-steady",
        True,
        "progress",
    )
    assert settings_of("muri-l").order == "las"
    assert settings_of("muri-s:preset=authors").pattern == "muri-4slot"
    assert settings_of("muri-s:preset=authors,pattern=cyclic").pattern == "cyclic"
    assert settings_of("muri-s:pattern=preset").pattern == "cyclic"
    for text in ("0", "1", "0.5", ".25", "1.", "1e-05"):
        assert settings_of(f"muri-s:least_weight={text}") == settings_of("muri-s")
