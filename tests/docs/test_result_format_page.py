"""The page on the result format lists every field as the code has it."""

import json
import re
from pathlib import Path

from format_fields import rows
from msgspec import inspect

from muri_opt import Proof, Result
from muri_opt.solve.results import parse_result

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "result-format.md").read_text()
REPEATED = re.compile(r"changes\.(stop|move|resize|regroup|keep)\[\]\.")
"""Fields that are those of ``changes.start`` again."""


def table(heading):
    """Return the cells of the table under a heading, without its head."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_all_fields_are_listed_with_their_types_and_defaults():
    listed = table("All fields of a result")
    expected = [row for row in rows(inspect.type_info(Result)) if not REPEATED.match(row[0])]
    assert [(path.strip("`"), kind, default) for path, kind, _, default, _ in listed] == expected
    assert all(all(row) for row in listed)


def test_every_proof_is_explained():
    assert sorted(row[0].strip("`") for row in table("Proofs")) == sorted(proof.value for proof in Proof)


def test_the_example_is_a_result():
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert parse_result(text).value == json.loads(text)["value"]
