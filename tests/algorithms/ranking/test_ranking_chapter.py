"""The chapter of orders says what the code does: labels, examples, stored program, split lists."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from muri_opt.algorithms.ranking import Rankings, borda_order, borda_scores, disagreement, kemeny_order, kemeny_program
from muri_opt.modelling import lp_text
from muri_opt.rounds import Limits
from muri_opt.solve.solvers import BACKENDS, backend_named
from muri_opt.verify.certificates.ranking import check_ranking

FOLDER = Path(__file__).resolve().parents[3] / "formulations" / "ranking"
TEXT = (FOLDER / "README.md").read_text()
EXAMPLES = json.loads((FOLDER / "examples.json").read_text())


def rankings_of(example):
    return Rankings.of(example["lists"], weights=example["weights"])


def test_labels_and_letters_are_those_of_the_program():
    model = kemeny_program(rankings_of(EXAMPLES[0]))
    assert re.findall(r"^\| `([a-z]+)` \|", TEXT, flags=re.MULTILINE) == list(model.labels)
    assert [family.label for family in model.columns] == ["y"]
    assert "$y_{ab}" in TEXT


def test_the_program_of_the_example_is_the_stored_text():
    assert lp_text(kemeny_program(rankings_of(EXAMPLES[0]))) == (FOLDER / EXAMPLES[0]["lp"]).read_text()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: "-".join(map(str, example["lists"][0])))
def test_every_backend_finds_the_optimum_of_the_examples(example):
    rankings = rankings_of(example)
    assert disagreement(rankings, borda_order(rankings)) == example["borda"]
    assert kemeny_order(rankings).value == example["optimum"]
    constant = disagreement(rankings, range(rankings.jobs)[::-1])
    for backend in BACKENDS:
        found = backend_named(backend).solve(kemeny_program(rankings), Limits(seconds=None))
        assert (backend, found.value + constant, found.bound + constant) == (backend, *[example["optimum"]] * 2)


def test_one_triangle_proves_the_example():
    lists, weights = EXAMPLES[0]["lists"], EXAMPLES[0]["weights"]
    checked = check_ranking(lists, weights, [0, 1, 2, 3], [(range(4), 1, {(0, 1, 3): 1})])
    assert (checked.value, checked.bound) == (6, 6)
    assert [int(score) for score in borda_scores(Rankings.of(lists), normalised=False)] == [7, 6, 9, 8]


def test_with_raw_ranks_the_shorter_list_wins():
    draw = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], [3, 10, 7])  # unpredictable, increase, decrease
    total = {True: np.zeros(3), False: np.zeros(3)}
    for _ in range(400):
        lists = [draw.permutation(20), draw.permutation(10) + 3, draw.permutation(7) + 13]
        for normalised, sums in total.items():
            scores = np.array(borda_scores(Rankings.of(lists), normalised=normalised, average=True), dtype=float)
            sums += np.bincount(kinds, weights=2 * scores) / np.bincount(kinds) / 400
    assert np.allclose(total[False], [21, 16, 14.5], atol=0.7)  # five standard errors
    assert np.allclose(total[True], 1, atol=0.06)


def test_a_complete_list_with_disjoint_lighter_ones_is_optimal():
    draw = np.random.default_rng(1)
    for _ in range(50):
        every, parts = draw.permutation(9), draw.permutation(9)
        rankings = Rankings.of([every, parts[:4], parts[4:7]], weights=[2, 1, 2])
        assert disagreement(rankings, every) == kemeny_order(rankings).value
