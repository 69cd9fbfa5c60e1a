"""What every test of the command line needs: a way to run it, and a round."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muri_opt.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def toy():
    return str(ROOT / "instances" / "toy" / "eight-gangs.json")


@pytest.fixture
def run(capsys):
    """Return a function that runs the command line here and returns (code, output, errors)."""

    def call(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def refused(run):
    """Return a function that runs the command line, expects one line of complaint and code 2, and returns the line."""

    def call(*argv):
        code, out, err = run(*argv)
        assert (code, out) == (2, "")
        assert err.startswith("muri-opt: ")
        assert err.count("\n") == 1
        return err.removeprefix("muri-opt: ").rstrip("\n")

    return call


@pytest.fixture
def round_file(tmp_path):
    """Return a function that writes a small round, changed as asked, and returns the name of the file."""

    def write(**changes):
        round_ = {
            "format": "muri-opt/round/1",
            "cluster": {"nodes": [{"id": "n0", "gpus": 4}, {"id": "n1", "gpus": 4}]},
            "jobs": [{"id": "job-0", "gpus": 3, "submitted": 0}, {"id": "job-1", "gpus": 6, "submitted": 1}],
        }
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(round_ | changes))
        return str(path)

    return write


@pytest.fixture
def solved(run, toy, tmp_path):
    """Return the file with the result of the toy round."""
    path = tmp_path / "result.json"
    code, _, err = run("solve", toy, "--policy", "srtf", "--output", path)
    assert (code, err) == (0, "")
    return path


@pytest.fixture
def process():
    """Return a function that runs ``python -m muri_opt`` in a process of its own."""

    def call(*argv, path=(), **options):
        before = os.environ.get("PYTHONPATH", "")
        search = os.pathsep.join([*map(str, path), str(ROOT), *([before] if before else [])])
        return subprocess.run(
            [sys.executable, "-m", "muri_opt", *map(str, argv)],
            env={**os.environ, "PYTHONPATH": search, **options.pop("env", {})},
            **{"capture_output": True, "text": True, "timeout": 120, "check": False, **options},
        )

    return call
