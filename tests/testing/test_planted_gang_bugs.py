"""Each planted bug of gangs is found by the default check and made small; correct allocators are not accused."""

import pytest
from gang_allocator import CORRECT, FirstFit, Gangs
from more_examples import some_of
from planted_answers import ANSWERS
from planted_limits import LIMITS

from muri_opt import parse_round
from muri_opt.testing import INVARIANTS, RATIONALITY, SAFETY, check_allocator, find_breaches, published

PLANTED = LIMITS | ANSWERS
POLICIES = ("fifo", "srtf", "srsf", "las", "max-min", "tiresias")
SELDOM = {"MemoryOfFirstNodeOnly": 300, "TakesWhatTheTableOffers": 300}
"""Bugs that show in few rounds, and how many rounds are drawn for them; all others show within 120 of this seed."""


def found_small(kind, seed, examples):
    """Return what the default check finds of a bug, after seeing that it is small and that its round shows it."""
    report = find_breaches(kind(), max_examples=examples, seed=seed)
    found = report.of(PLANTED[kind])
    assert found is not None, [one.breach.invariant for one in report.broken]
    assert not report.ok
    assert len(found.round_.jobs) <= 3
    assert len(found.round_.cluster.nodes) <= 3
    return found


def test_there_are_bugs_for_all_that_a_round_can_say():
    assert len(PLANTED) >= 60
    assert set(PLANTED.values()) == {one.name for one in SAFETY if not one.fields}


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_planted_bug_is_found_by_default_and_small(kind):
    found = found_small(kind, 0, SELDOM.get(kind.__name__, 120))
    if PLANTED[kind] != "deterministic":
        again = INVARIANTS[PLANTED[kind]].check(kind(), parse_round(found.json.encode()))
        assert again is not None or kind.__name__ == "RemembersByNames"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_planted_bug_is_found_under_other_seeds(kind, seed):
    found_small(kind, seed, 500)


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_allocator_is_not_accused(name):
    assert check_allocator(CORRECT[name], max_examples=120).ok


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_of_gangs_are_not_accused(policy):
    assert check_allocator(published(policy), fields=(), max_examples=some_of(25, 120), seconds=None).ok


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_correct_allocators_are_not_accused_over_thousands_of_rounds(seed):
    for allocator in (*CORRECT.values(), *map(published, POLICIES)):
        assert check_allocator(allocator, fields=(), max_examples=2000, seed=seed).ok


class StartsNobodyAlone(Gangs):
    """Starts jobs in twos only."""

    def queue(self):
        waiting = super().queue()
        return waiting[: len(waiting) // 2 * 2]


class StopsTheSmallest(Gangs):
    """Stops one running job whenever anybody waits."""

    def running(self):
        jobs = super().running()
        return jobs if len(jobs) == len(self.round_.jobs) else sorted(jobs, key=lambda job: job.gpus)[1:]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(StartsNobodyAlone, "alone"), (FirstFit, "same-jobs"), (StopsTheSmallest, "preempts-for-a-start")],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_what_is_safe_and_not_reasonable_is_found_by_those_who_ask(kind, name):
    assert check_allocator(kind(), max_examples=100).ok
    assert INVARIANTS[name] in RATIONALITY
    found = find_breaches(kind(), [INVARIANTS[name]], max_examples=300).of(name)
    assert len(found.round_.jobs) <= 3
