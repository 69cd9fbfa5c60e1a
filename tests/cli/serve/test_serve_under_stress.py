"""A server that is treated badly: many connections, slow clients, a full disk, any body.

Waits for time limits of the server, so that most of it is slow.
"""

from __future__ import annotations

import json
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_serve_http import ROOT, ROUND, TOKEN, Running, head

CLUSTER = {"nodes": [{"id": "n0", "gpus": 8}]}
SILENT = 900
"""Connections that say nothing: with a client's own end, all a process may open on a machine that is set up plainly."""


def memory(server: Running) -> int:
    """Return the bytes of memory that the server's process has."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


class OnFullDisk:
    """A server of lines that cannot write more than some bytes into a file, as on a disk that is full."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        command = [sys.executable, "-m", "muri_opt", "serve", "--stdio", "--journals", str(folder)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, text=True)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"do": do, **fields}), file=self.process.stdin, flush=True)
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply

    def submit(self, number: int) -> dict[str, Any]:
        return self.ask("session/submit", jobs=[{"id": f"job-{number}", "gpus": 1, "submitted": 0.0}])

    def jobs(self) -> set[str]:
        return set(self.ask("session/state")["answer"]["jobs"])

    def end(self) -> None:
        self.process.communicate(timeout=120)


def test_a_full_disk_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    full = OnFullDisk(tmp_path, most_bytes=5_000)
    full.ask("session/open", cluster=CLUSTER)
    taken = 0
    while "answer" in (reply := full.submit(taken)):
        taken += 1
    assert reply["problem"]["status"] == 507
    assert full.jobs() == {f"job-{number}" for number in range(taken)}
    full.end()
    roomy = OnFullDisk(tmp_path, most_bytes=resource.RLIM_INFINITY)
    assert roomy.jobs() == {f"job-{number}" for number in range(taken)}
    assert "answer" in roomy.submit(taken)
    roomy.end()


@pytest.mark.slow
def test_a_thousand_silent_connections_keep_nobody_out(tmp_path: Path) -> None:
    server = Running(tmp_path, "--slots", "1")
    before = memory(server)
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=120) for _ in range(SILENT)]
    for line in lines[::2]:
        line.sendall(b"POST /v1/solve HTTP/1.1\r\nHost: x\r\n")
    assert server.post("solve", {"round": ROUND})[0] == 200
    assert memory(server) - before < 64 << 20
    assert all(line.recv(1) == b"" for line in lines)  # closed by the server
    for line in lines:
        line.close()
    assert server.end() == 0


@pytest.mark.slow
def test_a_slow_body_is_given_up(tmp_path: Path) -> None:
    server = Running(tmp_path, "--slots", "1")
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as line:
        line.sendall(head(1_000_000) + b"{")
        assert server.post("solve", {"round": ROUND})[0] == 200
        assert line.recv(100).startswith(b"HTTP/1.1 408")
    assert server.end() == 0


@pytest.mark.slow
def test_no_answer_is_undocumented(tmp_path: Path) -> None:
    command = shutil.which("schemathesis")
    assert command is not None
    server = Running(tmp_path, "--slots", "1")
    options = ["--max-examples", "20", "--header", f"Authorization: Bearer {TOKEN}", "--request-timeout", "70"]
    # What a schema allows may still be refused: two jobs of one name, a job that is not there.
    options += ["--exclude-checks", "positive_data_acceptance"]
    described = f"http://127.0.0.1:{server.port}/openapi.json"
    done = subprocess.run([command, "run", described, *options], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, json.dumps(done.stdout[-4000:])
    assert server.end() == 0
