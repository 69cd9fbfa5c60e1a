"""AITurbo's policy on rounds worked out by hand, and what it keeps on any round."""

from __future__ import annotations

from fractions import Fraction

import pytest
from configuration_rounds import configuration_rounds, counts, is_known, job, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from plan_rounds_for_policies import faults, options_of

from muri_opt import InputError, Job, Limits, Round, WaitingReason, solve_round
from muri_opt.rounds import JobConfiguration
from muri_opt.systems import policy_from
from muri_opt.systems.aiturbo.policy import AITurboPolicy, Move
from muri_opt.systems.plans import FreeNodes, PlanOptions

GPU = "gpu-p1-w1-s1"
WIDE = "gpu-p1-w2-s1"
HERE = JobConfiguration.of_name(GPU)
SPECS = [
    "aiturbo",
    "aiturbo:objective=time",
    "aiturbo:switch=off,ranks=raw",
    "aiturbo:step=off",
    "aiturbo:objective=time,within=running,patience=inf",
    "aiturbo:patience=0",
]


def running(round_: Round, policy: str = "aiturbo") -> dict[str, str]:
    """Return the configuration of each job that runs, in the order of the round."""
    decision = policy_from(policy).decide(round_, 0)
    assert faults(round_, policy_from(policy).plan_rules, decision) == []
    return {one.jobs[0]: one.plan for one in decision.assignments}


def on_gpu(name: str, executed: float, **fields: object) -> Job:
    return job(name, {GPU: 1.0}, executed_seconds=executed, **fields)


def test_an_unpredictable_job_is_first_while_it_has_had_little() -> None:
    """One GPU; u counts its rank by service twice (2/3 or 4/3), p has 2/3 or 1/3 and the first place of one (1/2)."""
    p = on_gpu("p", 100.0)
    assert running(round_of([(1, 8.0)], p, on_gpu("u", 10.0, predictable=False))) == {"u": GPU}
    assert running(round_of([(1, 8.0)], p, on_gpu("u", 1000.0, predictable=False))) == {"p": GPU}
    assert running(round_of([(1, 8.0)], p, on_gpu("u", 1000.0, remaining_iterations=None))) == {"p": GPU}


def test_a_gang_that_does_not_fit_is_skipped() -> None:
    """By service a, b, c: three GPUs hold two workers of a, not those of b beside them, and the one of c."""
    a, b = (job(name, {WIDE: 1.0}, executed_seconds=s) for name, s in (("a", 1.0), ("b", 2.0)))
    round_ = round_of([(3, 9.0)], on_gpu("c", 100.0), b, a)
    assert running(round_) == {"c": GPU, "a": WIDE}
    decision = policy_from("aiturbo").decide(round_, 0)
    assert [(wait.job, wait.reason) for wait in decision.waiting] == [("b", WaitingReason.CAPACITY)]


@pytest.mark.parametrize(
    ("wide", "cpu", "policy", "found"),
    [
        # R S is 100 * 20 = 2000 now; with a worker more 100 / 1.9 * 35 = 1842, on CPUs 200 * 10 = 2000
        (1.9, 0.5, "aiturbo", WIDE),
        # 2333 and 1667: the removal gains
        (1.5, 0.6, "aiturbo", "cpu-p1-w1"),
        # 2333 and 2000: nothing is gained, so nothing changes
        (1.5, 0.5, "aiturbo", GPU),
        # 1842 and 1667: the removal gains more
        (1.9, 0.6, "aiturbo", "cpu-p1-w1"),
        (1.9, 0.6, "aiturbo:switch=off", WIDE),
        # R alone: 66.7 instead of 100 seconds
        (1.5, 0.6, "aiturbo:objective=time", WIDE),
        (1.5, 0.6, "aiturbo:step=off", GPU),
        (0.5, 0.4, "aiturbo:objective=time", GPU),
    ],
)
def test_the_better_of_addition_and_removal_is_done_if_it_gains(
    wide: float, cpu: float, policy: str, found: str
) -> None:
    one = job("a", {GPU: 1.0, WIDE: wide, "cpu-p1-w1": cpu})
    assert running(round_of([(2, 8.0)], one), policy) == {"a": found}


def test_a_step_without_room_is_not_made() -> None:
    """Both gain by a second worker; b has had less service, so its step comes first and takes the third GPU."""
    speeds = {GPU: 1.0, WIDE: 3.0}
    a, b = (job(name, speeds, executed_seconds=s) for name, s in (("a", 9.0), ("b", 1.0)))
    assert running(round_of([(3, 9.0)], a, b)) == {"a": GPU, "b": WIDE}


def test_equal_gains_are_ranked_by_service_and_equal_service_by_arrival() -> None:
    a, b = (on_gpu(name, s) for name, s in (("a", 9.0), ("b", 1.0)))
    assert running(round_of([(1, 9.0)], a, b)) == {"b": GPU}
    first, second = on_gpu("first", 1.0, submitted=5.0), on_gpu("second", 1.0, submitted=7.0)
    assert running(round_of([(1, 9.0)], second, first)) == {"first": GPU}


def test_who_gains_more_may_come_before_who_has_had_less() -> None:
    """Raw ranks: a gains more and has had more, 1 + 2, as b, 2 + 1; c has had the most and gains least, 3 + 3.

    On equal scores less service comes first: b, a, c.
    """
    a = job("a", {GPU: 1.0, WIDE: 6.0}, executed_seconds=2.0)
    b = job("b", {GPU: 1.0, WIDE: 3.0}, executed_seconds=1.0)
    c = job("c", {GPU: 1.0, WIDE: 2.0}, executed_seconds=3.0)
    assert running(round_of([(4, 9.0)], a, b, c)) == {"a": WIDE, "b": WIDE}
    assert running(round_of([(2, 9.0)], a, b, c), "aiturbo:ranks=raw") == {"b": WIDE}


def moves(gains: dict[int, float], grows: set[int]) -> dict[int, Move]:
    return {j: Move(Fraction(gain), j in grows, HERE) for j, gain in gains.items()}


def test_raw_ranks_of_a_short_list_win_and_normalised_ones_do_not() -> None:
    """Five jobs to increase, one (5) to decrease; job 0 has had least and is third of the five by gain."""
    steps = moves({0: 3.0, 1: 5.0, 2: 4.0, 3: 2.0, 4: 1.0, 5: 9.0}, {0, 1, 2, 3, 4})
    by_service = [0, 5, 1, 2, 3, 4]
    raw = AITurboPolicy(name="aiturbo", ranks="raw").scores(by_service, steps)
    assert (raw[0], raw[5]) == (3 + 1, 1 + 2)
    fair = AITurboPolicy(name="aiturbo").scores(by_service, steps)
    assert (fair[0], fair[5]) == (Fraction(3, 6) + Fraction(1, 7), Fraction(1, 2) + Fraction(2, 7))
    assert fair[0] < fair[5]
    assert raw[5] < raw[0]


def test_levels_grow_with_the_number_of_jobs() -> None:
    raw, fair = AITurboPolicy(name="aiturbo", ranks="raw"), AITurboPolicy(name="aiturbo")

    def levels(policy: AITurboPolicy, jobs: int, *scores: int | str) -> list[int]:
        return [*policy.levels({job: Fraction(score) for job, score in enumerate(scores)}, jobs).values()]

    assert levels(raw, 100, 2, 29, 30, 179, 180, 200) == [0, 0, 1, 1, 2, 2]
    assert levels(raw, 10, 2, 3, 17, 18, 20) == [0, 1, 1, 2, 2]
    assert levels(fair, 100, "0.29", "0.3", "1.79", "1.8") == [0, 1, 1, 2]


def test_within_a_level_jobs_that_run_may_come_first() -> None:
    """Both are of the second level; the waiting one has the lower score, so only ``within=running`` keeps the other."""
    old = on_gpu("old", 50.0, state="running", placement={"n0": 1})
    round_ = round_of([(1, 9.0)], old, on_gpu("new", 1.0))
    assert running(round_, "aiturbo:restarts=ignore") == {"new": GPU}
    assert running(round_, "aiturbo:restarts=ignore,within=running") == {"old": GPU}
    # new is of the first level once that has the lower half of all scores
    assert running(round_, "aiturbo:restarts=ignore,within=running,first=0.5") == {"new": GPU}
    assert running(round_) == {"old": GPU}  # one job runs either way: the change adds nothing


def test_a_running_job_that_is_not_admitted_stops_and_one_that_is_stays() -> None:
    held = [on_gpu(f"j{s}", 10.0 - s, state="running", placement={f"n{s}": 1}) for s in range(2)]
    new = job("new", {"gpu-p1-w1-s2": 1.0})
    round_ = round_of([(1, 4.0), (2, 4.0)], *held, new)
    decision = policy_from("aiturbo:restarts=ignore").decide(round_, 0)
    assert {one.jobs[0]: dict(one.gpus) for one in decision.assignments} == {"new": {"n1": 2}, "j1": {"n0": 1}}
    assert [wait.job for wait in decision.waiting] == ["j0"]
    kept = policy_from("aiturbo").decide(round_, 0)
    assert {one.jobs[0]: dict(one.gpus) for one in kept.assignments} == {"j0": {"n0": 1}, "j1": {"n1": 1}}
    stays = policy_from("aiturbo").decide(round_of([(1, 4.0), (2, 4.0)], *held), 0)
    assert {one.jobs[0]: dict(one.gpus) for one in stays.assignments} == {"j0": {"n0": 1}, "j1": {"n1": 1}}


def test_nobody_waits_for_ever() -> None:
    """The wide job would wait for good: two small ones with less service have the lower scores in every round."""
    small = [on_gpu(f"s{j}", 1.0, predictable=False) for j in range(2)]
    fields = {"executed_seconds": 100.0, "waiting_seconds": 2400.0}
    round_ = round_of([(2, 9.0)], *small, job("wide", {WIDE: 1.0}, **fields))
    assert running(round_) == {"wide": WIDE}
    assert running(round_, "aiturbo:patience=2401") == {"s0": GPU, "s1": GPU}
    assert running(round_, "aiturbo:patience=inf") == {"s0": GPU, "s1": GPU}
    longer = [job(f"w{j}", {WIDE: 1.0}, waiting_seconds=2400.0 + j) for j in range(3)]
    assert running(round_of([(2, 9.0)], *longer)) == {"w2": WIDE}


def test_service_counts_gpus_as_told_and_tasks_as_run() -> None:
    """a: 10 * 5 + 5 * 2 * 10 = 150; b: 10 * 1 * 8 + 5 * 2 * 8 = 160."""
    a, b = on_gpu("a", 10.0, attained_gpu_seconds=5.0), on_gpu("b", 8.0)
    assert running(round_of([(1, 9.0)], b, a)) == {"a": GPU}
    assert running(round_of([(1, 9.0)], b, on_gpu("a", 10.0))) == {"b": GPU}


def test_a_present_configuration_that_fits_no_node_is_left_for_the_best_that_does() -> None:
    one = job("a", {WIDE: 9.0, GPU: 1.0, "gpu-p2-w2-s1": 99.0})
    assert running(round_of([(1, 9.0)], one)) == {"a": GPU}
    assert running(round_of([(1, 9.0)], one), "aiturbo:step=off") == {}


def test_the_time_a_job_has_run_must_be_told() -> None:
    round_ = round_of([(1, 9.0)], on_gpu("a", 1.0), on_gpu("b", None))
    with pytest.raises(InputError, match=r"jobs\[1\] \('b'\).executed_seconds: found nothing"):
        policy_from("aiturbo").check(round_)


@given(configuration_rounds(jobs=6, nodes=4), st.sampled_from(SPECS))
@more_examples(150)
def test_every_decision_keeps_every_rule(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    decision = policy.decide(round_, 0)
    assert faults(round_, policy.plan_rules, decision) == []
    assert policy.decide(round_, 7) == decision
    for one in decision.assignments:
        job_ = round_.jobs[round_.job_index[one.jobs[0]]]
        steps = sum(abs(a - b) for a, b in zip(counts(one.plan), counts(job_.plan), strict=True))
        assert steps <= (1 if is_known(job_) and "step=off" not in spec else 0)
        assert one.plan[:3] == job_.plan[:3] or "switch=off" not in spec


@given(configuration_rounds(jobs=6, nodes=4), st.sampled_from(SPECS))
@more_examples(100)
def test_no_job_that_was_skipped_would_fit_as_it_is(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    decision, options = policy.decide(round_, 0), PlanOptions.of(round_, policy.plan_rules)
    free = FreeNodes(round_, options)
    for one, o in zip(decision.assignments, options_of(round_, policy.plan_rules, decision).values(), strict=True):
        free.take(o, [round_.cluster.node_index[node] for node in one.gpus])
    for wait in decision.waiting:
        j = round_.job_index[wait.job]
        same = [o for o in options.of_job(j) if round_.jobs[j].plans[options.plan[o]].name == round_.jobs[j].plan]
        assert not any(free.fits(o) and free.within_quota(j) for o in same)


@pytest.mark.parametrize(
    ("patience", "method", "priority", "turns"),
    [("inf", "heuristic", 0, 0), ("2400", "heuristic", 0, 2), ("2400", "auto", 0, 0), ("2400", "auto", 1, 30)],
)
def test_scores_and_values_alone_let_a_wide_job_starve(patience: str, method: str, priority: int, turns: int) -> None:
    """The wide job gains least; of the small ones that which gains most has always had least, and comes before it.

    Patience is a rule of the algorithm; what the exact program serves first is priority.
    """
    speeds = {
        "a": {GPU: 1.0, WIDE: 7.0},
        "b": {"gpu-p2-w1-s1": 1.0, "gpu-p2-w2-s1": 2.0},
        "c": {"gpu-p3-w1-s1": 1.0, "gpu-p3-w2-s1": 1.6},
        "wide": {"gpu-p1-w3-s1": 1.0, "gpu-p2-w3-s1": 1.11},
    }
    urgent = {"wide": priority}
    ran, waited, found = dict.fromkeys(speeds, 0.0), dict.fromkeys(speeds, 0.0), 0
    for _ in range(30):  # rounds of 240 seconds
        jobs = [
            job(
                name,
                speeds[name],
                executed_seconds=ran[name],
                waiting_seconds=waited[name],
                submitted=float(place),
                priority=urgent.get(name, 0),
            )
            for place, name in enumerate(speeds)
        ]
        spec = f"aiturbo:step=off,patience={patience}"
        who = solve_round(round_of([(3, 20.0)], *jobs), spec, method, Limits(seconds=None)).decision.running
        found += "wide" in who
        for name in speeds:
            ran[name] += 240.0 * (name in who)
            waited[name] = 0.0 if name in who else waited[name] + 240.0
    # Once the small jobs have had anything, the wide one has had least of all, and still only patience lets it run.
    assert found == turns
