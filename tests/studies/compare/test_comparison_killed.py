"""A gap study that is killed goes on where it was, and ends with the same table as one that was not."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from muri_opt.studies.compare import compare

SOURCES = ("small/elastic-01", "small/elastic-02")
SETTINGS = {"policies": ["afs-l", "afs-p", "optimus"], "methods": ["heuristic", "exact@highs"], "seconds": 60}
KILLED = """
import os, signal, sys
from muri_opt.studies.compare import compare

def progress(over, total):
    if over == 7:
        os.killpg(0, signal.SIGKILL)

settings = {"policies": ["afs-l", "afs-p", "optimus"], "methods": ["heuristic", "exact@highs"], "seconds": 60}
compare(sys.argv[2:], folder=sys.argv[1], **settings, jobs=1, progress=progress)
"""


def timeless(rows) -> list[dict]:
    return [{name: value for name, value in row.as_dict().items() if name != "solve_seconds"} for row in rows]


def without_times(text: str) -> list[list[str]]:
    """Return the cells of a table in Markdown without the last two, which are times."""
    return [line.split("|")[:-3] if line.startswith("|") else [line] for line in text.splitlines()]


@pytest.mark.slow
def test_a_study_killed_in_the_middle_gives_the_table_of_one_that_was_not(tmp_path):
    script, folder, whole = tmp_path / "study.py", tmp_path / "study", tmp_path / "whole"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(folder), *SOURCES]
    ended = subprocess.run(command, start_new_session=True, capture_output=True, text=True, timeout=900, check=False)
    assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, "")
    lines = folder / "results.jsonl"
    assert len(lines.read_bytes().splitlines()) == 1 + 7
    assert not (folder / "results.csv").exists()
    with lines.open("ab") as file:
        file.write(b'{"fingerprint":"torn o')
    told = []
    rows = compare(SOURCES, folder=folder, engine="here", **SETTINGS, progress=lambda over, _: told.append(over))
    assert told == list(range(7, len(rows) + 1))
    assert len(lines.read_bytes().splitlines()) == 1 + len(rows)
    straight = compare(SOURCES, folder=whole, engine="here", **SETTINGS)
    assert timeless(rows) == timeless(straight)
    assert len(rows) == 12
    tables = [without_times((place / "comparison.md").read_text()) for place in (folder, whole)]
    assert tables[0] == tables[1]
    assert len({row.fingerprint for row in rows}) == len(rows)
