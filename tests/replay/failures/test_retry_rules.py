"""Retry rules: the posterior by hand, the comparison in exact numbers, and words for every decision."""

from dataclasses import replace
from fractions import Fraction

import pytest

from muri_opt.errors import InputError
from muri_opt.replay.failures import (
    AdaptiveRetry,
    Counts,
    Experience,
    FailureClass,
    FailureTable,
    FixedRetry,
    PastTrial,
)

TABLE = FailureTable(
    classes=(
        FailureClass(name="typo", trials=2, jobs=1, users=1, median_minutes=1.0, kind="user"),
        FailureClass(name="disk", trials=2, jobs=1, users=1, median_minutes=10.0, kind="infrastructure"),
        FailureClass(name="odd", trials=2, jobs=1, users=1, median_minutes=5.0, kind="unclear"),
    )
)
FRESH = Experience(table=TABLE, spread=0.0)


def past(*names, seconds=60.0, gpus=1):
    return tuple(PastTrial(failure=name, seconds=seconds, gpus=gpus) for name in names)


def test_the_prior_by_kind():
    assert [FRESH.chance(name) for name in ("typo", "disk", "odd")] == [Fraction(1, 4), Fraction(3, 4), Fraction(1, 2)]
    assert [FRESH.mean_milliseconds(name) for name in ("typo", "disk", "odd")] == [60_000, 600_000, 300_000]


def test_the_posterior_by_hand():
    known = FRESH.retried("odd", passed=True).retried("odd", passed=True).retried("odd", passed=False)
    assert known.chance("odd") == Fraction(1 + 2, 2 + 3)
    assert known.chance("typo") == Fraction(1, 4)
    known = known.failed(past("odd", seconds=100)[0]).failed(past("odd", seconds=50.5)[0])
    assert known.mean_milliseconds("odd") == Fraction(300_000 + 100_000 + 50_500, 3)
    assert known.expected_loss("odd", 4) == Fraction(2, 5) * 4 * Fraction(450_500, 3)
    assert FRESH.chance("odd") == Fraction(1, 2)


def test_the_spread_makes_the_mean_longer():
    assert replace(FRESH, spread=1.0).mean_milliseconds("typo") == round(60_000 * 1.6487212707)


def test_experience_from_whole_jobs():
    known = FRESH.after([(past("disk", "disk", "odd"), True), (past("typo"), False), ((), True)])
    assert known.counts == (
        Counts(runs=1, milliseconds=60_000),
        Counts(failed=2, runs=2, milliseconds=120_000),
        Counts(passed=1, runs=1, milliseconds=60_000),
    )
    assert known.chance("disk") == Fraction(3, 6)
    assert known.chance("odd") == Fraction(2, 3)


def test_a_fixed_number_of_retries():
    rule = FixedRetry(retries=2)
    verdicts = [rule.decide(past(*["typo"] * n), gpus=2, value=None, experience=FRESH) for n in (1, 2, 3)]
    assert [verdict.retry for verdict in verdicts] == [True, True, False]
    assert [verdict.reason for verdict in verdicts] == ["retry 1 of 2", "retry 2 of 2", "all 2 retries used"]
    assert {verdict.expected_loss for verdict in verdicts} == {Fraction(3, 4) * 2 * 60_000}
    assert not FixedRetry(retries=0).decide(past("disk"), gpus=1, value=None, experience=FRESH).retry


def test_a_retry_must_be_worth_more_than_the_risk():
    # 1/2 of the value against 2 GPUs for 300 seconds: 600,000 GPU-milliseconds, reached by 1,200,000 but not exceeded.
    rule = AdaptiveRetry()
    even, above = (rule.decide(past("odd"), gpus=2, value=value, experience=FRESH) for value in (1_200_000, 1_200_001))
    assert (even.retry, above.retry) == (False, True)
    assert (
        even.reason
        == "after 'odd' a run passes with a chance of 0.500: worth 0.167 GPU hours, not more than the "
        + ("0.167 at risk")
    )
    assert ", more than the 0.167 at risk" in above.reason
    assert above.expected_loss == 300_000


def test_a_user_error_twice_in_a_row_is_never_retried():
    rule = AdaptiveRetry()
    rich = {"gpus": 1, "value": 10**15, "experience": FRESH}
    assert rule.decide(past("typo"), **rich).retry
    again = rule.decide(past("typo", "typo"), **rich)
    assert (again.retry, again.reason) == (False, "'typo' twice in a row: a user error")
    assert rule.decide(past("typo", "odd", "typo"), **rich).retry
    assert rule.decide(past("disk", "disk"), **rich).retry
    assert rule.decide(past("odd", "odd", "odd"), **rich).retry


def test_the_value_of_a_job_nobody_knows():
    # Chance 3/4; ten minutes at risk a GPU. Worth 800 s: exactly 600 s. Three times a run of 267 s: just above.
    rule = AdaptiveRetry(worth_milliseconds=800_000)
    assert not rule.decide(past("disk"), gpus=8, value=None, experience=FRESH).retry
    assert rule.decide(past("disk", seconds=267), gpus=8, value=None, experience=FRESH).retry
    assert (
        not AdaptiveRetry(worth_milliseconds=800_000, multiple=2)
        .decide(past("disk", seconds=267), gpus=8, value=None, experience=FRESH)
        .retry
    )


def test_retries_stop_where_they_never_pass():
    known, rule, tries = FRESH, AdaptiveRetry(worth_milliseconds=3_600_000), 0
    while rule.decide(past("odd", seconds=300), gpus=1, value=None, experience=known).retry:
        known = known.failed(past("odd", seconds=300)[0]).retried("odd", passed=False)
        tries += 1
    # 1 / (2 + n) of an hour against 300 seconds: worth it as long as 2 + n < 12.
    assert tries == 10


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FixedRetry(retries=-1), "retries: found -1"),
        (lambda: AdaptiveRetry(worth_milliseconds=0), "worth_milliseconds: found 0"),
        (lambda: AdaptiveRetry(multiple=0), "multiple: found 0"),
        (lambda: AdaptiveRetry().decide((), gpus=1, value=None, experience=FRESH), "history: found no trial"),
        (lambda: AdaptiveRetry().decide(past("odd"), gpus=0, value=None, experience=FRESH), "gpus: found 0"),
        (lambda: FixedRetry().decide((), gpus=1, value=None, experience=FRESH), "history: found no trial"),
        (lambda: FRESH.chance("tipo"), "did you mean 'typo'"),
        (lambda: FRESH.failed(past("rust")[0]), "failure: found 'rust'"),
        (lambda: Experience(prior={"user": (1, 1)}), "prior[infrastructure]: found None"),
        (
            lambda: Experience(prior=dict.fromkeys(("user", "infrastructure", "unclear"), (0, 1))),
            "prior[user]: found 0",
        ),
        (lambda: Experience(spread=9), "spread: found 9"),
        (lambda: Experience(counts=(Counts(),)), "counts: found 1; allowed: 22, one a class"),
    ],
)
def test_bad_input_is_refused(make, said):
    with pytest.raises(InputError) as refused:
        make()
    assert said in str(refused.value)
