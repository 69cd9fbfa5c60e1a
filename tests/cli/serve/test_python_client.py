"""The client of one file, against servers that really run."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "clients" / "python" / "muri_opt_client.py"
ROUND = json.loads((ROOT / "instances" / "toy" / "two-gangs.json").read_text())


@pytest.fixture(scope="module")
def client() -> Any:
    return _loaded()


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("muri_opt_client", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_one_file_of_the_standard_library_that_an_older_python_can_read() -> None:
    tree = ast.parse(FILE.read_text(), feature_version=(3, 8))
    imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert {name.partition(".")[0] for name in imported} <= set(sys.stdlib_module_names)


def test_over_the_standard_streams(client: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "muri_opt", "serve", "--stdio", "--journals", str(tmp_path)]
    with client.StdioClient(command) as server:
        assert server.ask("solve", round=ROUND, policy="fifo")["value"] == 5
        server.ask("session/open", cluster=ROUND["cluster"], policy="fifo")
        with pytest.raises(client.Refused, match="no-such-job") as refused:
            server.ask("session/finish", job="no-such-job")
    assert (refused.value.status, refused.value.field) == (422, "job")
    with pytest.raises((client.Refused, ValueError, OSError)):
        server.ask("session/state")


def test_over_http(client: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "muri_opt", "serve", "--http", "0", "--slots", "1", "--journals", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().rpartition(" ")[2].strip()
        server = client.HttpClient(address)
        # The solvers are being started: the client asks again until they are there.
        assert server.ask("solve", round=ROUND, policy="fifo", deadline_seconds=600)["value"] == 5
        with pytest.raises(client.Refused, match="no-such-job"):
            server.ask("why", round=ROUND, job="no-such-job")
        process.terminate()
    with pytest.raises(OSError, match="refused"):
        server.ask("session/state")
