"""The book and the code say the same: labels, letters, the program of the example, its proved optimum."""

import json
import re
from itertools import product
from pathlib import Path

import pytest
from asked_rounds import asked_round
from by_policy import formulation_of
from loan_rounds import LOANS, loan_round
from sharing_asked_rounds import asked_sharing_round
from wish_rounds import wish_round

from muri_opt import Proof, RefusalError, policy_from, read_round, solve_round
from muri_opt.modelling import lp_text
from muri_opt.solve.solvers import BACKENDS
from muri_opt.systems.plans import PlanOptions, PlanRules
from muri_opt.systems.plans.node_patterns.items import Items, node_families
from muri_opt.systems.plans.node_patterns.master import Master

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = {  # a policy whose program has every constraint of the chapter, and a round it can decide
    "gangs": ("fifo:nodes=fewest", "toy/eight-gangs"),
    "grouping": ("muri-s", "toy/eight-stages"),
    "sharing": ("afs-l", "toy/three-elastic"),
    "planning": ("rubick", "toy/five-plans"),
    "placement": ("philly:migrate=inf", "toy/three-servers"),
    "configuration": ("aiturbo:objective=time", "toy/four-configurations"),
    "deadline": ("deadline", "toy/four-deadlines"),
    "joint": ("joint-s", "toy/four-joint"),
}
FAMILIES = {"defragmentation", "elastic"}  # of no policy: tied by test_*_chapter.py of their packages
MOST = {name: backend.capabilities.most_columns or 1 << 60 for name, backend in BACKENDS.items()}
EXAMPLES = [
    pytest.param(chapter, example, id=f"{chapter}-{example['instance']}-{example['policy']}")
    for chapter in CHAPTERS
    for example in json.loads((ROOT / "formulations" / chapter / "examples.json").read_text())
]


def chapter_text(chapter):
    return (ROOT / "formulations" / chapter / "README.md").read_text()


def round_of(example):
    return read_round(ROOT / "instances" / f"{example['instance']}.json")


def test_every_chapter_is_listed_and_tested():
    folders = {path.parent.name for path in ROOT.glob("formulations/*/README.md")}
    assert folders == set(CHAPTERS) | FAMILIES
    index = (ROOT / "formulations" / "README.md").read_text()
    assert all(f"]({chapter}/README.md)" in index for chapter in folders)


def labels_of(chapter, section):
    text = chapter_text(chapter).partition(f"\n## {section}")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z]+)` \|", text, flags=re.MULTILINE)


def test_the_labels_of_the_patterns_are_the_row_families_of_their_program():
    round_ = round_of({"instance": CHAPTERS["planning"][1]})
    items = Items.of(round_, PlanOptions.of(round_, PlanRules()))
    master = Master(items=items, families=node_families(round_, items))
    assert labels_of("planning", "Patterns of whole nodes") == list(master.program().labels)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_labels_of_a_chapter_are_the_row_families_of_its_model(chapter):
    labels = labels_of(chapter, "Program")
    policy, instance = CHAPTERS[chapter]
    formulation = formulation_of(policy_from(policy))
    model = formulation.build(round_of({"instance": instance}))
    assert formulation.chapter == chapter
    assert labels == list(model.labels)
    for letter in (family.label for family in model.columns):
        assert re.search(rf"\${letter}_\{{?[jSov0]", chapter_text(chapter)), letter


@pytest.mark.parametrize(("chapter", "example"), [case for case in EXAMPLES if "lp" in case.values[1]])
def test_the_model_of_an_example_is_the_stored_text(chapter, example):
    stored = (ROOT / "formulations" / chapter / example["lp"]).read_text()
    assert lp_text(formulation_of(policy_from(example["policy"])).build(round_of(example))) == stored


@pytest.mark.parametrize(("chapter", "example"), EXAMPLES)
def test_the_optimum_of_an_example_is_the_stored_one_on_every_backend(chapter, example):
    round_ = round_of(example)
    heuristic = solve_round(round_, example["policy"], "heuristic")
    assert heuristic.value == example["heuristic"]
    for backend in BACKENDS:
        if len(formulation_of(policy_from(example["policy"])).build(round_).objective) > MOST[backend]:
            with pytest.raises(RefusalError, match="columns"):
                solve_round(round_, example["policy"], f"exact@{backend}")
            continue
        result = solve_round(round_, example["policy"], f"exact@{backend}")
        assert (backend, result.value, result.bound) == (backend, example["optimum"], example["optimum"])
        assert result.certificate.proof in (Proof.COUNTING, Proof.LINEAR_DUALS, Proof.EXHAUSTIVE)


def test_rows_of_wishes_are_those_of_the_chapter_of_gangs() -> None:
    every = [*labels_of("gangs", "Program"), *labels_of("gangs", "Rows of what jobs ask")]
    models = [formulation_of(policy_from("las:nodes=fewest")).build(wish_round(seed, "shape")) for seed in range(20)]
    assert all([label for label in every if label in model.labels] == list(model.labels) for model in models)
    assert any("near" in model.labels for model in models)


def test_rows_of_tenants_are_those_of_the_chapter_of_gangs() -> None:
    """Rounds of tenants that borrow, or have quotas by type, have the rows that the chapter adds, in its order."""
    sections = ("Program", "Rows of what jobs ask", "Rows of tenants")
    every, tenants = (
        [label for section in sections for label in labels_of("gangs", section)],
        labels_of("gangs", sections[2]),
    )
    found = set[str]()
    for seed, group in product(range(20), LOANS):
        model = formulation_of(policy_from("las:nodes=fewest")).build(loan_round(seed, group))
        assert [label for label in every if label in model.labels] == list(model.labels)
        found |= set(model.labels)
    assert set(tenants) <= found
    assert re.search(r"\$n_v", chapter_text("gangs"))


def test_rows_of_what_jobs_ask_are_those_of_the_chapter_of_gangs() -> None:
    """Rounds that ask for everything have the rows that the chapter adds, in its order."""
    usual, asked = labels_of("gangs", "Program"), labels_of("gangs", "Rows of what jobs ask")
    found = set[str]()
    for seed, group in product(range(40), ("types", "shape", "all")):
        model = formulation_of(policy_from("las:nodes=fewest")).build(asked_round(seed, group))
        assert [label for label in (*usual, *asked) if label in model.labels] == list(model.labels)
        found |= set(model.labels)
    assert found == {*usual, *asked} - {"near"}  # what jobs ask, not what they prefer


def test_rows_of_what_jobs_ask_are_those_of_the_chapter_of_groups() -> None:
    """Rounds that ask for everything have the rows that the chapter adds, and none that it does not know."""
    usual = [*labels_of("grouping", "Program"), *labels_of("grouping", "Groups that run")]
    asked = labels_of("grouping", "What jobs ask of nodes")
    found, letters = set[str](), set[str]()
    for seed, group in product(range(20), ("labels", "priority", "all")):
        model = formulation_of(policy_from("muri-s")).build(asked_sharing_round(seed, group))
        assert set(model.labels) <= {*usual, *asked}
        found |= set(model.labels)
        letters |= {family.label for family in model.columns}
    assert found == {*usual, *asked}
    assert letters == {"x", "f", "h", "l", "k"}
    assert all(re.search(rf"{letter}_(\{{qu|[Sc])", chapter_text("grouping")) for letter in letters)
