"""The clients of one file, against servers that really run."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

from muri_opt.cli.serve.service import MESSAGES

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


def test_a_server_that_has_ended_is_told_and_can_be_closed(client: Any) -> None:
    with client.StdioClient([sys.executable, "-c", "import sys; sys.stdin.close()"]) as server:
        for _ in range(2):
            with pytest.raises(client.Refused, match="the server has ended") as refused:
                server.ask("session/state", session="x" * 100_000)
            assert refused.value.status == 502


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start a server and return its address."""
    command = [sys.executable, "-m", "muri_opt", "serve", "--http", "0", "--slots", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().rpartition(" ")[2].strip()
        process.terminate()


def test_over_http(client: Any, address: str) -> None:
    server = client.HttpClient(address)
    # The solvers are being started: the client asks again until they are there.
    assert server.ask("solve", round=ROUND, policy="fifo", deadline_seconds=600)["value"] == 5
    with pytest.raises(client.Refused, match="no-such-job"):
        server.ask("why", round=ROUND, job="no-such-job")
    assert server.ask("solve", round=ROUND, policy="fifo", deadline_seconds=None)["value"] == 5
    with pytest.raises(TypeError, match="a number of seconds, or None"):
        server.ask("solve", round=ROUND, deadline_seconds="soon")
    with pytest.raises(OSError, match="refused"):
        client.HttpClient("http://127.0.0.1:9").ask("session/state")


class Odd(BaseHTTPRequestHandler):
    """What answers as no server of muri-opt does: slowly, and at some paths with a page of a proxy."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        slow = self.path.endswith("/v1/solve")
        time.sleep(0.5 if slow else 0)
        self.send_response(200 if slow else 503)
        self.send_header("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT")
        self.end_headers()
        told = {"value": 5, "path": self.path, "token": self.headers["Authorization"]}
        self.wfile.write(json.dumps(told).encode() if slow else b"<html>down</html>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def odd() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_answer_is_waited_for_until_the_deadline_of_its_call(client: Any, odd: str) -> None:
    server = client.HttpClient(odd, timeout=0.1)
    assert server.ask("solve", deadline_seconds=30)["value"] == 5
    with pytest.raises(OSError, match="timed out"):
        server.ask("solve")


def test_a_path_before_the_messages_and_the_end_of_a_token_file_are_as_they_are_meant(client: Any, odd: str) -> None:
    told = client.HttpClient(f"{odd}/muri/", f"{odd}\n").ask("solve")
    assert (told["path"], told["token"]) == ("/muri/v1/solve", f"Bearer {odd}")
    for address in ("127.0.0.1:8080", "ftp://a", "http://", ""):
        with pytest.raises(ValueError, match="allowed: as http://127"):
            client.HttpClient(address)


def test_what_is_no_answer_of_a_server_is_told(client: Any, odd: str) -> None:
    with pytest.raises(client.Refused, match="no answer of a server of muri-opt: <html>down") as refused:
        client.HttpClient(odd).ask("session/state")
    assert refused.value.status == 503


class Dying(BaseHTTPRequestHandler):
    """What dies of the first message that it gets, and would answer the second."""

    asked = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        kind = type(self)
        kind.asked += 1
        self.send_response(502 if kind.asked == 1 else 200)
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(b'{"status": 502, "detail": "the worker ended"}' if kind.asked == 1 else b"{}")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("do", "asked"), [("solve", 2), ("session/decide", 2), ("session/submit", 1), ("x", 1)])
def test_what_may_have_been_done_is_not_asked_again(client: Any, do: str, asked: int) -> None:
    dying = type("Once", (Dying,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), dying) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            asking = client.HttpClient(f"http://127.0.0.1:{server.server_port}")
            if asked == 2:
                assert asking.ask(do) == {}
            else:
                with pytest.raises(client.Refused, match="the worker ended"):
                    asking.ask(do)
        finally:
            server.shutdown()
    assert dying.asked == asked


def test_both_clients_repeat_the_same_messages(client: Any) -> None:
    written = (ROOT / "clients" / "go" / "muriopt.go").read_text()
    listed = written.partition("var twice = ")[2].partition("\n}")[0]
    assert set(re.findall(r'"([a-z/-]+)": true', listed)) == set(client.TWICE)
    assert set(client.TWICE) <= set(MESSAGES)


@pytest.mark.go
def test_the_client_in_go(address: str) -> None:
    said = {"MURI_OPT_ADDRESS": address, "MURI_OPT_ROUND": str(ROOT / "instances" / "toy" / "two-gangs.json")}
    command = [shutil.which("go") or "go", "test", "-count=1", "./..."]  # it vets them, too
    folder, environment = ROOT / "clients" / "go", {**os.environ, **said, "GOTOOLCHAIN": "local"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
