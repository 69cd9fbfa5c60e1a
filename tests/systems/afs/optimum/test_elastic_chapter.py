"""The chapter of the elastic optimum says what the code does: labels, the example and its prices."""

import re
from fractions import Fraction
from pathlib import Path

from muri_opt.systems.afs.optimum.search import elastic_optimum
from muri_opt.verify.certificates.elastic_optimum import ElasticCase, check_elastic_optimum

TEXT = (Path(__file__).resolve().parents[4] / "formulations" / "elastic" / "README.md").read_text()


def test_every_label_is_a_kind_of_price():
    labels = re.findall(r"^\| `([a-z]+)` \|", TEXT, flags=re.MULTILINE)
    assert set(labels) == {"work", "period"}
    case = ([[0, 1, 2], [0, 1, 2]], [2, 2], [4, 2], 2, [0, 1])
    best = elastic_optimum(*case)
    for work_prices, period_prices in best.proof.values():
        assert (len(work_prices), len(period_prices)) == (2, 1)


def test_the_prices_of_the_example_prove_it():
    speed, cap, work = [[0, 10, 18, 24], [0, 10, 19, 27]], [3, 3], [100, 300]
    case = ElasticCase.of(speed, cap, work, 3)
    # Prices of the chapter are per unit of work; here work and speed are counted in tenths.
    prices = {
        (0,): ((Fraction(5, 60), Fraction(10, 270)), ()),
        (1,): ((Fraction(5, 120), Fraction(20, 270)), ()),
    }
    pieces = [(Fraction(25, 6), (3, 0)), (Fraction(100, 9), (0, 3))]
    assert check_elastic_optimum(case, pieces, prices) == (Fraction(175, 9), Fraction(175, 9))


def test_two_vectors_in_one_slot_are_needed_in_the_second_example():
    speed = [[0, 10, 14, 14], [0, 10, 14, 14], [0, 1, 3, 8]]
    best = elastic_optimum(speed, [3, 3, 3], [24, 24, 48], 3)
    assert (best.total_completion, best.proved) == (12, True)
    assert len(best.pieces) == 3
