"""The published policies keep, by their own rules and value, exactly what they promise; the documentation says so.

No time is measured: the first decision of some of them loads what it needs, which takes seconds where much else runs.
"""

import json
import re
from pathlib import Path

import pytest
from more_examples import some_of

from benchmarks.invariants import TABLES
from muri_opt import InputError, parse_round
from muri_opt.rounds import INFORMATION
from muri_opt.systems import POLICIES
from muri_opt.testing import (
    INVARIANTS,
    NOT_PROMISED,
    RATIONALITY,
    SAFETY,
    Tier,
    check_allocator,
    family_of,
    family_rounds,
    promised,
    published,
)

HERE = Path(__file__).resolve()
SECTION = (HERE.parents[2] / "docs" / "testing.md").read_text().split("## What the published policies keep")[1]
UNPROMISED = [json.loads(line) for line in HERE.with_name("unpromised_rounds.jsonl").read_text().splitlines()]
PAIRS = {(policy, name) for policy, names in NOT_PROMISED.items() for name in names}


def tables():
    """Return the rows of each table of the documentation: the name of the invariant and a cell for each policy."""
    rows = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ")]
    starts = [at for at, row in enumerate(rows) if row[0] == "invariant"]
    return [rows[start:end] for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]


def test_the_tables_are_of_every_policy_and_say_what_is_promised():
    assert tuple(tuple(rows[0][1:]) for rows in tables()) == TABLES
    assert sorted(sum(TABLES, ())) == sorted(POLICIES)
    for heading, *rows in tables():
        assert [row[0].strip("`") for row in rows if row[0] != "---"] == [
            "all of safety",
            *(one.name for one in INVARIANTS.values() if one.tier is not Tier.SAFETY),
        ]
        for name, *cells in rows:
            kind = INVARIANTS.get(name.strip("`"))
            for policy, cell in zip(heading[1:], cells, strict=True):
                if kind in RATIONALITY:
                    assert cell == ("yes" if kind in promised(policy) else "no"), (policy, name)
                elif kind is not None:
                    assert re.fullmatch(r"\d\.\d\d|-", cell), (policy, name)
                elif name != "---":
                    assert cell == "yes"


def test_each_no_has_its_smallest_round_in_words():
    told = set()
    for policies, names in re.findall(
        r"^\* ([a-z0-9, -]+?), ((?:`[a-z-]+`(?:,| and)? ?)+)\.", SECTION, flags=re.MULTILINE
    ):
        told |= {(one, name) for one in re.split(", | and ", policies) for name in re.findall("`(.+?)`", names)}
    assert told == PAIRS


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_keeps_what_is_promised(policy):
    report = check_allocator(
        published(policy),
        promised(policy),
        policy=policy,
        strategy=family_rounds(family_of(policy)),
        max_examples=some_of(6, 40),
        seed=7,
        seconds=None,
        require_exercised=False,
    )
    assert set(report.kept) == {one.name for one in promised(policy) if not one.fields}
    assert {one.name for one in SAFETY if not one.fields} <= set(report.kept)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_is_safe_where_cpus_and_memory_bind_too(policy):
    report = check_allocator(
        published(policy), policy=policy, max_examples=some_of(10, 60), seconds=None, require_exercised=False
    )
    asked = POLICIES[policy].honours - INFORMATION
    assert report.kept == tuple(one.name for one in SAFETY if one.speaks_of(asked))


def test_there_is_a_round_for_all_that_is_not_promised():
    assert {(one["policy"], one["invariant"]) for one in UNPROMISED} == PAIRS
    assert {name for _, name in PAIRS} <= {one.name for one in RATIONALITY}


@pytest.mark.parametrize("one", UNPROMISED, ids=lambda one: f"{one['policy']} {one['invariant']}")
def test_what_is_not_promised_breaks(one):
    round_ = parse_round(json.dumps(one["round"]).encode())
    allocator = published(one["policy"])
    broken = INVARIANTS[one["invariant"]].under(one["policy"]).check(allocator, round_, seconds=None)
    assert broken.detail == one["detail"]
    assert all(kept.under(one["policy"]).check(allocator, round_, seconds=None) is None for kept in SAFETY)


def test_an_unknown_policy_promises_nothing():
    with pytest.raises(InputError, match=r"policy: found 'fifi' .did you mean 'fifo'"):
        promised("fifi")


@pytest.mark.parametrize("policy", ["fifo", "afs-l"])
def test_the_exact_method_is_at_the_optimum(policy):
    near = INVARIANTS["near-optimum"].allowing(0.0)
    assert check_allocator(
        published(policy, "exact"),
        [*SAFETY, near],
        policy=policy,
        max_examples=6,
        seconds=None,
        require_exercised=False,
    ).ok
