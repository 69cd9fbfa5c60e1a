"""The page on the round format lists every field as the code has it, and its examples are rounds."""

import re
from pathlib import Path

from format_fields import rows

from muri_opt.report.text.policies import HONOURED, REFUSED, honours_table
from muri_opt.rounds import canonical_json, parse_round
from muri_opt.rounds.used_fields import FIELDS
from muri_opt.systems import POLICIES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "round-format.md").read_text()
EXAMPLES = re.findall(r"^```json\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def table(heading):
    """Return the cells of the table under a heading, without its head."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_all_fields_are_listed_with_their_types_and_defaults():
    listed = table("All fields")
    assert [(path.strip("`"), kind, default) for path, kind, _, default, _ in listed] == [*rows()]
    assert all(all(row) for row in listed)


def test_the_fields_of_format_2_are_marked():
    marked = {path.strip("`") for path, *_, meaning in table("All fields") if meaning.startswith("**2**")}
    parts = {"jobs[].nodes.least", "jobs[].nodes.most", "jobs[].within.level", "jobs[].within.required"}
    parts |= {"together[].models", "together[].rates", "cluster.nodes[].levels"}
    places = {"cluster": "", "node": "cluster.nodes[].", "tenant": "cluster.tenants[].", "job": "jobs[]."}
    places |= {"plan": "jobs[].plans[].", "round": ""}
    more_in_two = ("cluster.levels", "node.gpu_type", "plan.nodes")  # of the last two format 1 knows less
    fields = [field.partition(".") for field in FIELDS if field not in more_in_two]
    assert marked == {"cluster.levels", *parts, *(places[kind] + name for kind, _, name in fields)}


def test_the_table_of_policies_and_fields_is_that_of_the_code():
    assert honours_table() in PAGE + "\n"
    cells = table("Which policy honours which field")
    assert [row[0].strip("`") for row in cells] == list(FIELDS)
    assert {cell for row in cells for cell in row[1:]} <= {HONOURED, REFUSED}
    head = honours_table().partition("\n")[0]
    assert sorted(re.findall(r"`([\w-]+)`", head)) == sorted(POLICIES)


def test_the_examples_are_rounds_that_together_use_every_field():
    found = [parse_round(text) for text in EXAMPLES]
    assert len(found) == 3
    for round_ in found:
        assert round_.format == "muri-opt/round/2"
        assert parse_round(canonical_json(round_)) == round_
    assert {field for round_ in found for field in round_.used_fields} == set(FIELDS)
