"""The table of failure classes: sound in itself, in line with the confirmed figures, and closed to bad rows."""

from dataclasses import replace
from fractions import Fraction

import pytest

from muri_opt.errors import InputError
from muri_opt.replay.failures import PHILLY_FAILURES, FailureClass, FailureTable, JobFailures, PastTrial, PreRun, Trial

CLASSES = PHILLY_FAILURES.classes


def test_the_table_is_in_line_with_the_confirmed_figures():
    """The eight most frequent reasons: 88.9 % of failures, 2.3 a job and 38.8 a user, last digits cut off."""
    top = sorted(CLASSES, key=lambda failure: -failure.trials)[:8]
    trials = sum(failure.trials for failure in top)
    assert 1000 * trials // sum(failure.trials for failure in CLASSES) == 889
    assert 10 * trials // sum(failure.jobs for failure in top) == 23
    assert 10 * trials // sum(failure.users for failure in top) == 388


def test_every_kind_occurs_and_programming_errors_strike_early():
    by_kind = {kind: [f for f in CLASSES if f.kind == kind] for kind in ("user", "infrastructure", "unclear")}
    assert all(by_kind.values())
    assert len(CLASSES) == sum(map(len, by_kind.values())) == 22
    for early, late in (("syntax error", "model checkpoint error"), ("semantic error", "MPI runtime failure")):
        assert PHILLY_FAILURES.find(early).median_minutes < PHILLY_FAILURES.find(late).median_minutes
    assert {PHILLY_FAILURES.find(name).kind for name in ("syntax error", "import error", "incorrect inputs")} == {
        "user"
    }


def test_arithmetic_of_a_class():
    failure = FailureClass(name="a", trials=9, jobs=6, users=2, median_minutes=0.5, kind="user")
    assert failure.median_milliseconds == 30_000
    assert failure.trials_per_job == Fraction(3, 2)
    assert replace(failure, median_minutes=1e-9).median_milliseconds == 1
    assert FailureTable(classes=[failure]).find("a") is failure


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trials": 1}, "trials: found 1 in 2 jobs"),
        ({"jobs": 0}, "jobs: found 0"),
        ({"users": 0.5}, "users: found 0.5"),
        ({"median_minutes": 0}, "median_minutes: found 0"),
        ({"kind": "bad luck"}, "kind: found 'bad luck'; allowed: one of user, infrastructure, unclear"),
        ({"name": 3}, "name: found 3"),
    ],
)
def test_a_bad_class_is_refused(change, said):
    row = {"name": "a", "trials": 3, "jobs": 2, "users": 1, "median_minutes": 1.0, "kind": "user"} | change
    with pytest.raises(InputError) as refused:
        FailureClass(**row)
    assert said in str(refused.value)


def test_a_bad_table_is_refused():
    with pytest.raises(InputError, match="classes: found none"):
        FailureTable(classes=())
    with pytest.raises(InputError, match=r"classes\[1\].name: found 'CPU out of memory'"):
        FailureTable(classes=(CLASSES[0], CLASSES[0]))
    with pytest.raises(InputError, match=r"classes\[0\]: found 'a'; allowed: a FailureClass"):
        FailureTable(classes=("a",))
    with pytest.raises(InputError, match="did you mean 'syntax error'"):
        PHILLY_FAILURES.find("syntax eror")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Trial(failure="a", milliseconds=0), "milliseconds: found 0"),
        (lambda: Trial(failure="a", milliseconds=1.5), "milliseconds: found 1.5"),
        (lambda: Trial(failure=None, milliseconds=1), "failure: found None"),
        (lambda: JobFailures(trials=("a",)), "trials[0]: found 'a'"),
        (lambda: JobFailures(passes=False), "passes: found False without a failing trial"),
        (lambda: PastTrial(failure="a", seconds=-1, gpus=1), "seconds: found -1"),
        (lambda: PastTrial(failure="a", seconds=float("nan"), gpus=1), "seconds: found nan"),
        (lambda: PastTrial(failure="a", seconds=1, gpus=-1), "gpus: found -1"),
        (lambda: PreRun(milliseconds=-1), "milliseconds: found -1"),
        (lambda: PreRun(milliseconds=1, by_gpus={0: 1}), "by_gpus key: found 0"),
        (lambda: PreRun(milliseconds=1, by_gpus={2: -1}), "by_gpus[2]: found -1"),
    ],
)
def test_bad_trials_and_lengths_are_refused(make, said):
    with pytest.raises(InputError) as refused:
        make()
    assert said in str(refused.value)


def test_times_of_past_trials_are_whole_milliseconds():
    trial = PastTrial(failure="a", seconds=1.2346, gpus=2)
    assert (trial.seconds, trial.milliseconds) == (1.235, 1235)
