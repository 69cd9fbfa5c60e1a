"""The check of an elastic optimum finds schedules and proofs that are wrong."""

from fractions import Fraction

import pytest

from muri_opt.errors import InputError
from muri_opt.systems.afs.optimum.search import elastic_optimum
from muri_opt.verify.certificates.elastic_optimum import ElasticCase, check_elastic_optimum

SPEED = [[0, 2, 3], [0, 1, 4], [0, 3, 3]]
ARGUMENTS = (SPEED, [2, 2, 1], [6, 8, 3], 2, [0, 0, 1])
CASE = ElasticCase.of(*ARGUMENTS)


@pytest.fixture(scope="module")
def found():
    return elastic_optimum(*ARGUMENTS)


def message(pieces, proof):
    with pytest.raises(InputError) as caught:
        check_elastic_optimum(CASE, pieces, proof)
    return str(caught.value)


def test_schedule_and_proof_of_the_optimum_pass(found):
    assert check_elastic_optimum(CASE, found.pieces, found.proof) == (found.total_completion, found.bound)
    assert found.proved
    assert len(found.proof) > 1


def test_a_worse_schedule_is_measured_not_believed(found):
    idle = (Fraction(1), (0, 0, 0))
    later = [idle, *((duration, shares) for duration, shares in found.pieces)]
    total, bound = check_elastic_optimum(CASE, later, found.proof)
    assert (total, bound) == (found.total_completion + 3, found.bound)


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        ((Fraction(1), (2, 1, 0)), "at most 2 GPUs"),
        ((Fraction(1), (1, -1, 0)), "at most 2 GPUs"),
        ((Fraction(-1), (1, 1, 0)), "at most 2 GPUs"),
        ((Fraction(1), (1, 1)), "at most 2 GPUs"),
        ((Fraction(1), (0, 0, 2)), "up to its cap"),
        ((Fraction(1), (0, 0, 1)), "from its arrival on"),
    ],
)
def test_impossible_pieces_are_named(found, piece, words):
    assert words in message([piece, *found.pieces], found.proof)


def test_work_left_over_is_named(found):
    assert "all work done" in message(found.pieces[:-1], found.proof)


def test_every_order_needs_prices(found):
    for events in found.proof:
        rest = {known: prices for known, prices in found.proof.items() if known != events}
        assert "cover every order" in message(found.pieces, rest)


def test_prices_too_high_are_found(found):
    for events, (work, time) in found.proof.items():
        raised = tuple(price + Fraction(1, 10**30) for price in work)
        assert "prices never too high" in message(found.pieces, {**found.proof, events: (raised, time)})
    for events, (work, time) in found.proof.items():
        raised = tuple(price + 3 for price in time)
        assert "prices never too high" in message(found.pieces, {**found.proof, events: (work, raised)})


def test_prices_too_low_prove_less(found):
    lower = {
        events: (tuple(p / 2 for p in work), tuple(p - 1 for p in time)) for events, (work, time) in found.proof.items()
    }
    total, bound = check_elastic_optimum(CASE, found.pieces, lower)
    assert bound < found.bound <= total


def test_prices_must_be_one_per_job_and_not_negative(found):
    work, time = found.proof[next(iter(found.proof))]
    for wrong in ((work[1:], time), (work, (*time, 0)), ((-work[0], *work[1:]), time)):
        assert ">= 0" in message(found.pieces, {**found.proof, next(iter(found.proof)): wrong})
