"""Texts of rounds: the library, files, folders and generated families, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from comparison_library import own_library
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.rounds import canonical_json
from muri_opt.rounds.generate.families import FAMILIES as GENERATED, generate
from muri_opt.studies.compare import rounds_from
from muri_opt.studies.compare.choose import chosen_methods, chosen_policies
from muri_opt.studies.compare.sources import SYSTEMS
from muri_opt.studies.library import Recipe, instances
from muri_opt.studies.library.recipe import Draw
from muri_opt.systems import POLICIES

KEYS = {"jobs": st.integers(0, 6), "nodes": st.integers(0, 3), "count": st.integers(1, 3), "seed": st.integers(0, 99)}


def write_round(path: Path, seed: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(canonical_json(generate("gangs", jobs=3, nodes=1, seed=seed)))
    return path


def test_a_family_and_an_instance_of_the_library():
    family = rounds_from(["toy"])
    assert [named.name for named in family] == [one.name for one in instances(family="toy")]
    assert all(named.optima for named in family)
    (one,) = rounds_from(["small/gangs-01"])
    assert one.name == "small/gangs-01"
    assert one.best.fingerprint == one.round.fingerprint


def test_files_recipes_and_folders(tmp_path):
    paths = [write_round(tmp_path / "rounds" / f"{name}.json", seed) for seed, name in enumerate("ab")]
    (tmp_path / "rounds" / "a.best.json").write_text("{}")
    folder = rounds_from([str(tmp_path / "rounds")])
    assert [named.name for named in folder] == [str(path) for path in paths]
    assert [named.best for named in folder] == [None, None]
    recipe = tmp_path / "recipe.json"
    draw = Draw(family="gangs", jobs=3, nodes=1, seed=7)
    recipe.write_text(
        json.dumps({"format": "muri-opt/recipe/1", "generate": vars_of(draw), "fingerprint": print_of(draw)})
    )
    (one,) = rounds_from([str(recipe)])
    assert one.round == draw.round()


def vars_of(draw: Draw) -> dict:
    return {name: getattr(draw, name) for name in draw.__struct_fields__}


def print_of(draw: Draw) -> str:
    return Recipe.of(draw).fingerprint


def test_the_same_round_twice_is_one(tmp_path):
    path = write_round(tmp_path / "a.json", 1)
    texts = [str(path), "generate:gangs?jobs=3&nodes=1&seed=1", "generate:gangs?jobs=3&nodes=1&count=2"]
    names = [named.name for named in rounds_from(texts)]
    assert names == [str(path), "generate:gangs?jobs=3&nodes=1&seed=0"]


@given(st.sampled_from([*GENERATED, *SYSTEMS]), st.fixed_dictionaries({}, optional=KEYS))
def test_generated_rounds_are_those_of_the_generator(family, options):
    text = (
        f"generate:{family}" + ("?" if options else "") + "&".join(f"{key}={value}" for key, value in options.items())
    )
    found = rounds_from([text])
    jobs, nodes, first = options.get("jobs", 20), options.get("nodes", 4), options.get("seed", 0)
    wanted = {}
    for seed in range(first, first + options.get("count", 1)):
        made = generate(SYSTEMS.get(family, family), jobs=jobs, nodes=nodes, seed=seed)
        wanted[made.fingerprint] = (f"generate:{family}?jobs={jobs}&nodes={nodes}&seed={seed}", made)
    assert [(named.name, named.round) for named in found] == list(wanted.values())
    again = rounds_from([named.name for named in found])
    assert [named.round for named in again] == [named.round for named in found]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("smal", "rounds: found 'smal' (did you mean 'small'?); allowed: a family of the library (toy, small,"),
        ("gone.json", "rounds: found 'gone.json'"),
        ("small/gangs-99", "instance: found 'small/gangs-99' (did you mean 'small/gangs-09'?)"),
        ("small/gangs-01.best", "instance: found 'small/gangs-01.best'"),
        (
            "generate:mury",
            "family to generate: found 'mury' (did you mean 'muri'?); allowed: one of afs, afs-trace, aiturbo",
        ),
        (
            "generate:muri?job=3",
            "option of this family: found 'job' (did you mean 'jobs'?); allowed: one of count, jobs",
        ),
        ("generate:muri?jobs", "options of the family: found 'jobs'"),
        ("generate:muri?jobs=3&jobs=4", "option jobs: found the option twice"),
        ("generate:muri?jobs=-1", "jobs: found '-1'"),
        ("generate:muri?count=0", "count: found 0; allowed: a whole number from 1"),
        ("generate:muri?count=200000", "count: found 200000"),
    ],
)
def test_what_is_no_source_is_refused(text, said):
    with pytest.raises(InputError) as refusal:
        rounds_from([text])
    assert said in str(refusal.value)


def test_files_that_hold_no_rounds_are_named(tmp_path):
    write_round(tmp_path / "rounds" / "a.json", 1)
    (tmp_path / "rounds" / "b.json").write_text("{}")
    with pytest.raises(InputError, match=r"b\.json"):
        rounds_from([str(tmp_path / "rounds")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: found no rounds"):
        rounds_from([str(tmp_path / "empty")])
    library = own_library(tmp_path / "library", "small/gangs-01")
    with pytest.raises(InputError, match="toy: found no rounds"):
        rounds_from(["toy"], library)
    with pytest.raises(InputError, match="allowed: none: the family is empty"):
        rounds_from(["toy/eight-gangs"], library)


def test_policies_by_name_all_and_stored():
    rounds = rounds_from(["small/gangs-01", "small/elastic-01"])
    stored = chosen_policies(["stored"], rounds)
    assert [policies for _, policies in stored] == [tuple(one.policy for one in named.optima) for named in rounds]
    assert {policies for _, policies in chosen_policies(["all"], rounds)} == {tuple(POLICIES)}
    both = chosen_policies(["fifo:nodes=any", "stored", "fifo"], rounds[:1])
    assert both[0][1] == tuple(dict.fromkeys(["fifo", *(one.policy for one in rounds[0].optima)]))


def test_policies_and_methods_that_are_none():
    rounds = rounds_from(["small/gangs-01", "generate:gangs?jobs=2"])
    with pytest.raises(
        InputError, match=r"'stored' for generate:gangs\?jobs=2&nodes=4&seed=0; allowed: policies by name"
    ):
        chosen_policies(["stored"], rounds)
    with pytest.raises(InputError, match=r"policy: found 'fifi' \(did you mean 'fifo'"):
        chosen_policies(["fifi"], rounds)
    with pytest.raises(InputError, match="policies: found nothing"):
        chosen_policies([], rounds)
    with pytest.raises(InputError, match="method: found 'exat'"):
        chosen_methods(["heuristic", "exat"])
    with pytest.raises(InputError, match="methods: found nothing"):
        chosen_methods([])
    assert chosen_methods(["auto", "heuristic", "auto"]) == ("auto", "heuristic")
