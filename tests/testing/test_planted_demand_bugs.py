"""Each planted bug of what jobs ask is found and made small; correct allocators are not accused."""

import pytest
from asked_allocator import CORRECT, HONOURS
from gang_allocator import Gangs
from more_examples import some_of
from planted_demands import DEMANDS as PLANTED

from muri_opt import parse_round
from muri_opt.testing import INVARIANTS, SAFETY, check_allocator, find_breaches, published
from muri_opt.testing.drawing import rounds_of_family
from muri_opt.testing.invariants_demands import DEMANDS

POLICIES = ("fifo", "srtf", "srsf", "las", "max-min", "tiresias")


def found_small(kind, seed, invariants):
    """Return what the check finds of a bug among 500 rounds, after seeing that it is small."""
    report = find_breaches(kind(), invariants, max_examples=500, seed=seed)
    found = report.of(PLANTED[kind])
    assert found is not None, [one.breach.invariant for one in report.broken]
    assert len(found.round_.jobs) <= 3
    assert len(found.round_.cluster.nodes) <= 3
    return found


def test_there_is_a_bug_for_every_rule():
    assert set(PLANTED.values()) == {one.name for one in DEMANDS}
    assert len(PLANTED) >= 24
    assert set(DEMANDS) < set(SAFETY)
    assert {field for one in DEMANDS for field in one.fields} <= HONOURS


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_planted_bug_of_demands_is_found_and_small(kind):
    found = found_small(kind, 0, [INVARIANTS[PLANTED[kind]]])
    again = INVARIANTS[PLANTED[kind]].check(kind(), parse_round(found.json.encode()))
    assert again == found.breach
    assert set(found.round_.used_fields) & INVARIANTS[PLANTED[kind]].fields
    assert len(found.round_.used_fields) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_planted_bug_of_demands_is_found_by_default_under_other_seeds(kind, seed):
    found_small(kind, seed, SAFETY)


def test_a_correct_allocator_passes_the_default_check():
    report = check_allocator(CORRECT["AskedGangs"])
    assert report.examples == 300
    assert {one.name for one in DEMANDS} <= set(report.kept)
    assert report.exercised["gpu-type"]["a job that takes not every type"] >= 10


@pytest.mark.parametrize("name", CORRECT)
def test_who_honours_what_jobs_ask_is_not_accused(name):
    assert check_allocator(CORRECT[name], max_examples=60, seed=1, require_exercised=False).ok


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_of_gangs_honour_what_they_say(policy):
    assert check_allocator(
        published(policy), max_examples=some_of(12, 60), seed=2, seconds=None, require_exercised=False
    ).ok


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_who_honours_what_jobs_ask_is_not_accused_over_thousands_of_rounds(seed):
    for allocator in (*CORRECT.values(), *map(published, POLICIES)):
        assert check_allocator(allocator, max_examples=2000, seed=seed).ok


def test_who_says_nothing_of_fields_meets_none():
    few = {"max_examples": 40, "require_exercised": False}
    report = check_allocator(Gangs(), **few)
    assert set(report.kept) == {one.name for one in SAFETY if not one.fields}
    told = check_allocator(CORRECT["AskedGangs"], fields={"job.held", "node.state"}, **few)
    assert {"held", "node-state"} <= set(told.kept)
    assert "labels" not in told.kept
    plain = find_breaches(CORRECT["AskedGangs"], fields=(), **few)
    assert not plain.exercised.keys() & {one.name for one in DEMANDS}


def test_who_forgets_a_field_is_found_by_naming_it():
    report = find_breaches(Gangs(), fields={"job.held"}, max_examples=60, require_exercised=False)
    assert [one.breach.invariant for one in report.broken] == ["held"]
    assert report.of("held").breach.detail.endswith("job 'j0' may not start now (held)")


@pytest.mark.parametrize("seed", [0, 1])
def test_the_rounds_of_a_check_have_what_puts_every_rule_to_the_test(seed):
    rounds = rounds_of_family("gangs", 400, seed, HONOURS)
    assert len({round_.fingerprint for round_ in rounds}) >= 390
    assert rounds_of_family("gangs", 50, seed, HONOURS) == rounds[:50]
    for one in DEMANDS:
        for aspect in one.aspects:
            assert sum(map(aspect.holds, rounds)) >= 8, aspect.name
