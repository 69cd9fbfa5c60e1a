"""Tables in files: columns of all entries, CSV and Parquet that read back, Markdown that is one."""

from __future__ import annotations

import csv

import pyarrow.parquet
import pytest

from muri_opt.studies.runner.atomic_write import replace_file
from muri_opt.studies.runner.result_tables import columns_from, markdown_table, parquet_writer, write_csv

ROWS = [{"name": "a,b", "number": 1, "part": None}, {"name": 'say "c"', "number": 2**70, "part": 1, "more": 0.5}]


def test_an_entry_that_lacks_a_column_has_nothing_there():
    assert columns_from(ROWS) == {
        "name": ["a,b", 'say "c"'],
        "number": [1, 2**70],
        "part": [None, 1],
        "more": [None, 0.5],
    }
    assert columns_from([]) == {}


def test_csv_reads_back(tmp_path):
    write_csv(columns_from(ROWS), tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert read == [
        {"name": "a,b", "number": "1", "part": "", "more": ""},
        {"name": 'say "c"', "number": str(2**70), "part": "1", "more": "0.5"},
    ]


@pytest.mark.parametrize(("number", "read"), [(2**63 - 1, 2**63 - 1), (-(2**63), -(2**63)), (2**63, str(2**63))])
def test_parquet_reads_back_and_keeps_every_digit(tmp_path, number, read):
    rows = [ROWS[0], {**ROWS[1], "number": number}]
    parquet_writer(["part"])(columns_from(rows), tmp_path / "rows.parquet")
    first, second = pyarrow.parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert second == {"name": 'say "c"', "number": read, "part": 1.0, "more": 0.5}
    assert first == {"name": "a,b", "number": type(read)(1), "part": None, "more": None}
    assert isinstance(second["part"], float)


def test_markdown_escapes_what_would_end_a_cell():
    assert markdown_table(["name", "n"], [["a|b", "1"]], 1) == ["| name | n |", "| --- | ---: |", "| a\\|b | 1 |"]


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "folder", b"data")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]
