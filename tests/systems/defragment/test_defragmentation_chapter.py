"""The chapter of moves says what the code does: labels, letters, the stored program, the prices of the example."""

import json
import re
from pathlib import Path

import pytest

from muri_opt import Limits, read_round
from muri_opt.modelling import lp_text
from muri_opt.solve.solvers import BACKENDS, backend_named
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.prices import Prices, Pricing
from muri_opt.systems.defragment.program import build_program
from muri_opt.systems.defragment.running_jobs import Start

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "formulations" / "defragmentation"
TEXT = (FOLDER / "README.md").read_text()
EXAMPLES = json.loads((FOLDER / "examples.json").read_text())


def asked(example):
    start = Start.of(read_round(ROOT / "instances" / f"{example['instance']}.json"))
    return start, Goal.free(start, example["nodes"]) if "nodes" in example else Goal.hold(start, example["job"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.get("nodes", example.get("job"))))
def test_labels_and_letters_are_those_of_the_program(example):
    model = build_program(*asked(example)).model
    program = TEXT.partition("\n## Program")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z]+)` \|", program, flags=re.MULTILINE) == list(model.labels)
    for letter in (family.label for family in model.columns):
        assert re.search(rf"\${letter}_\{{?[tsik]", TEXT), letter


def test_the_program_of_the_example_is_the_stored_text():
    assert lp_text(build_program(*asked(EXAMPLES[0])).model) == (FOLDER / EXAMPLES[0]["lp"]).read_text()


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_finds_the_stored_optimum(backend):
    for example in EXAMPLES:
        start, goal = asked(example)
        found = backend_named(backend).solve(build_program(start, goal).model, Limits(seconds=None))
        optimum = None if found.value is None else list(divmod(found.value, start.weight))
        assert (example, optimum) == (example, example["optimum"])


def test_the_prices_of_the_example_prove_it():
    start, goal = asked(EXAMPLES[0])
    priced = Pricing(start, goal).at(Prices(denominator=1, goods=(-2, -10, 0), waiting=0))
    assert (priced.scaled, priced.bound) == (29, 29)
    assert Pricing(start, goal).at(Prices(denominator=1, goods=(0, 0, 0), waiting=0)).bound == 19
