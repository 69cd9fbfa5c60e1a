"""What work is worth for completion times: the shared arithmetic, and the systems that follow it."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from random import Random

import msgspec
import numpy as np
import pytest
from by_policy import broken_rules, decision_value, formulation_of, settings_of
from elastic_rounds import best_of_all, random_elastic_round
from shared_rounds import random_round

from muri_opt import (
    Assignment,
    Cluster,
    Decision,
    InputError,
    Job,
    Limits,
    Node,
    Plan,
    Round,
    policy_from,
    solve_round,
    verify,
)
from muri_opt.solve.exact import optimise, solve_directly
from muri_opt.systems.afs.worth_rule import worth_shares
from muri_opt.systems.completion import Behind, completion_weights, jobs_behind, least_cost, likely_behind
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.completion import behind_guessed, behind_known, worth_of_work

FOREVER = Limits(seconds=None)
GUESSES = {0.0: 960, 1.0: 960, 2.0: 1920, 3.0: 2816, 4.0: 3840}
"""Milliseconds in four binary digits, at least a second, by the seconds that a job has had."""


def test_whole_numbers_beyond_a_machine_word_are_exact():
    period, counts = np.array([[10**15, 9 * 10**14]]), np.array([1, 64])
    assert least_cost(period, counts, np.array([10**6]), 7, 3)[0] == (7 + 3 * 10**6) * 10**15
    assert least_cost(period * 0, counts, np.array([10**6]), 7, 3).tolist() == [0]


@pytest.mark.parametrize("largest", [10**6, 10**13, 10**25])
@pytest.mark.parametrize("seed", range(8))
def test_the_least_cost_is_that_of_whole_numbers_however_large(seed, largest):
    draw = Random(seed)
    counts = np.array(sorted(draw.sample(range(1, 100), 6)), dtype=np.int64)
    behind = np.array([draw.randrange(10**7) for _ in range(30)], dtype=np.int64)
    times = [[draw.choice((0, draw.randrange(1, largest))) for _ in counts] for _ in behind]
    fixed, each = draw.randrange(1, 10**9), draw.randrange(10**3)
    for at in range(0, 30, 3):  # costs that only whole numbers tell apart
        times[at] = [10**30 // (fixed + each * int(behind[at]) * count) + 1 for count in counts.tolist()]
    period = np.array(times, dtype=object if max(map(max, times)) >= 1 << 62 else np.int64)
    exact = [
        min(
            ((fixed + each * ahead * count) * time for count, time in zip(counts.tolist(), own, strict=True) if time),
            default=0,
        )
        for ahead, own in zip(behind.tolist(), times, strict=True)
    ]
    assert least_cost(period, counts, behind, fixed, each).tolist() == exact


def test_system_and_verifier_say_the_same_weights():
    rng = Random(1)
    for _ in range(200):
        jobs, gpus = rng.randint(1, 6), rng.randint(0, 9)
        service = [rng.randint(0, 5) for _ in range(jobs)]
        times = [{k: rng.randint(1, 10**9) for k in range(1, 5) if rng.random() < 0.7} for _ in range(jobs)]
        table = np.array([[mine.get(k, 0) for k in range(5)] for mine in times])
        ours = completion_weights(Behind.known(service), table, np.arange(5), gpus).tolist()
        assert ours == worth_of_work(behind_known(service), times, gpus)
        behind = [sum(other > mine for other in service) for mine in service]
        assert jobs_behind(service).tolist() == behind
        exact = [
            min((floor(time * (1 + Fraction(n * k, max(1, gpus)))) for k, time in mine.items()), default=0)
            for n, mine in zip(behind, times, strict=True)
        ]
        assert ours == exact


def ranked_elastic(seed: int) -> Round:
    """Return a round of elastic jobs that say what they have had, too."""
    round_, rng = random_elastic_round(seed), Random(seed)
    jobs = tuple(
        msgspec.structs.replace(job, attained_gpu_seconds=float(rng.randint(0, 4)), restart_seconds=None)
        for job in round_.jobs
    )
    return msgspec.structs.replace(round_, jobs=jobs)


@pytest.mark.parametrize("spec", ["afs-l:objective=completion", "afs-p:objective=completion"])
def test_shares_are_worth_what_the_formula_says_and_every_method_finds_the_best(spec):
    parts = []
    for seed in range(12):
        round_ = ranked_elastic(seed)
        values, total = settings_of(spec).values(round_), round_.cluster.total_gpus
        curves = [Curve.of(job) for job in round_.jobs]
        if spec.startswith("afs-l"):
            left = [curve.end_alone(job) for job, curve in zip(round_.jobs, curves, strict=True)]
            behind = [Fraction(sum(other > mine for other in left)) for mine in left]
        else:
            guess = [GUESSES[job.attained_gpu_seconds] for job in round_.jobs]
            behind = [Fraction(sum(1000 * x // (x + mine) for x in guess) - 500, 1000) for mine in guess]
        for others, curve, table in zip(behind, curves, values, strict=True):
            worth = min((1 + Fraction(others * k, total)) / curve.speeds[k] for k in table)
            for k, value in table.items():
                exact = 10**6 * worth * curve.speeds[k]
                assert abs(value - exact) <= 2 + exact / 10**6
        best = best_of_all(round_, values)
        program = formulation_of(policy_from(spec))
        for answer in (solve_directly(round_, program), optimise(round_, program, "highs", FOREVER, None)):
            assert decision_value(round_, spec, answer.decision) == best
            assert broken_rules(round_, answer.decision, spec) == []
        found = policy_from(spec).decide(round_, 0)
        assert broken_rules(round_, found, spec) == []
        parts.append(decision_value(round_, spec, found) / max(1, best))
    assert max(parts) <= 1
    assert sum(parts) / len(parts) > 0.9


def test_the_rule_of_shares_is_best_where_gains_shrink():
    rng = np.random.default_rng(3)
    for _ in range(50):
        gains = -np.sort(-rng.integers(0, 20, (3, 4)), axis=1)
        values = np.concatenate([np.zeros((3, 1), dtype=np.int64), gains.cumsum(axis=1)], axis=1)
        cap, gpus = rng.integers(0, 5, 3), int(rng.integers(0, 9))
        shares = worth_shares(values, cap, gpus)
        best = max(
            sum(values[j, k] for j, k in enumerate(way))
            for way in np.ndindex(5, 5, 5)
            if sum(way) <= gpus and all(np.array(way) <= cap)
        )
        assert shares.sum() <= gpus
        assert (shares <= cap).all()
        assert values[np.arange(3), shares].sum() == best


def test_a_step_that_does_not_fit_is_taken_as_far_as_it_does():
    assert worth_shares(np.array([[0, 1, 2, 30]]), np.array([3]), 2).tolist() == [2]
    assert worth_shares(np.array([[0, 0, 0, 30]]), np.array([3]), 2).tolist() == [0]


def test_elastic_jobs_of_unknown_service_are_refused():
    job = Job(id="a", gpus=1, scaling={1: 1.0})
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=1),)), jobs=(job,))
    with pytest.raises(InputError, match=r"jobs\[0\] \('a'\)\.attained_gpu_seconds"):
        policy_from("afs-p:objective=completion").decide(round_, 0)


def test_muri_serves_the_jobs_whose_gpus_are_worth_most():
    # Of 4 GPUs: a and b have one job and none behind them, c has two. For a GPU: 1/4 + 1/4, 1, 1/2 + 2/4.
    fields = {"iteration_seconds": 1.0, "stage_seconds": (1.0, 0.0, 0.0)}
    jobs = (
        Job(id="a", gpus=4, remaining_iterations=3, **fields),
        Job(id="b", gpus=1, remaining_iterations=100, **fields),
        Job(id="c", gpus=2, remaining_iterations=1, **fields),
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=4),)), jobs=jobs, resources=("data", "gpu", "network"))
    decision = policy_from("muri-s:objective=completion,group=1").decide(round_, 0)
    assert [one.jobs for one in decision.assignments] == [("c",), ("b",)]
    assert decision_value(round_, "muri-s:objective=completion,group=1", decision) == 1_000_000 + 2_000_000


@pytest.mark.parametrize("spec", ["muri-s:objective=completion", "muri-l:objective=completion"])
def test_a_result_of_muri_is_proved_and_verified_by_its_rules(spec):
    for seed in range(4):
        round_ = random_round(seed)
        result = solve_round(round_, spec, "auto", FOREVER)
        assert result.rules["objective"] == "completion"
        assert result.value == result.bound >= decision_value(round_, spec, policy_from(spec).decide(round_, 0))
        assert verify(round_, result).feasible


def test_jobs_that_are_likely_behind_are_counted_by_chance_however_large_they_are():
    for shift in (0, 20, 60):
        expected = [9 << shift, 3 << shift, 3 << shift, 1 << shift]
        assert likely_behind(expected).tolist() == [250 + 250 + 100, 750 + 500 + 250, 750 + 500 + 250, 900 + 750 + 750]


def test_system_and_verifier_count_the_same_jobs_behind_where_lengths_are_guesses():
    rng = Random(2)
    for _ in range(100):
        jobs = [
            Job(id=str(place), gpus=rng.choice((1, 8)), restart_seconds=rng.choice((None, 30.0)))
            for place in range(rng.randint(1, 8))
        ]
        had = [rng.choice((0, rng.randint(0, 10**6), 2**70)) for _ in jobs]
        ours = Behind.guessed(jobs, had)
        assert (ours.parts, ours.each.tolist()) == behind_guessed(jobs, had)


@pytest.mark.parametrize(
    ("spec", "said", "plan"),
    [
        ("afs-p:objective=completion", {"scaling": {1: 1.0}}, None),
        ("rubick:objective=completion-attained", {"plans": (Plan(name="dp1", gpus=1, throughput=1.0),)}, "dp1"),
    ],
)
def test_jobs_that_had_about_the_same_service_are_worth_about_the_same(spec, said, plan):
    jobs = tuple(
        Job(id=f"job-{place}", gpus=1, iteration_seconds=1.0, attained_gpu_seconds=had, **said)
        for place, had in enumerate([4000.0, 4001.0, 4002.0, 1.0e6])
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=1),)), jobs=jobs)
    alone = [Decision(assignments=(Assignment(jobs=(job.id,), gpus={"n": 1}, plan=plan),)) for job in jobs]
    values = [decision_value(round_, spec, one) for one in alone]
    # Of the others two are behind with the chance of a half each, and the fourth nearly always.
    assert values[0] == values[1] == values[2] > 2 * values[3]
