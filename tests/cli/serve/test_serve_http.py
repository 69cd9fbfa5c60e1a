"""The messages over HTTP, by a real server and real connections."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from muri_opt import InputError, parse_result, parse_round, verify
from muri_opt.cli.serve.http_server import check_address
from muri_opt.cli.serve.service import MESSAGES

ROOT = Path(__file__).resolve().parents[3]
ROUND = json.loads((ROOT / "instances" / "toy" / "two-gangs.json").read_text())
TOKEN = "0123456789" * 2


def head(length: int) -> bytes:
    """Return the head of a request with a body of so many bytes."""
    lines = ("POST /v1/solve HTTP/1.1", "Host: x", f"Authorization: Bearer {TOKEN}", f"Content-Length: {length}")
    return "\r\n".join([*lines, "", ""]).encode()


class Running:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "muri_opt", "serve", "--http", "0", "--journals", str(folder), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        self.until_ready()

    def until_ready(self) -> None:
        while self.ask("GET", "/readyz")[0] != 200:
            time.sleep(0.05)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, HTTPResponse]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        text = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=text, headers={"Authorization": f"Bearer {TOKEN}", **sent})
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        kind = reply.headers.get_content_type()
        return reply.status, json.loads(data) if "json" in kind else data.decode(), reply

    def post(self, do: str, body: Any, **headers: str) -> tuple[int, Any]:
        status, answer, _ = self.ask("POST", f"/v1/{do}", body, **headers)
        return status, answer

    def workers(self) -> list[int]:
        """Return the processes of the server's workers."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(word) for word in Path(path).read_text().split()]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        with self.process:  # closes its output
            return self.process.wait(timeout=120)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("journals")
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    found = Running(folder, "--slots", "1", "--token-file", str(token))
    yield found
    assert found.end() == 0


def test_a_round_is_solved_and_its_answer_verified(server: Running) -> None:
    status, result = server.post("solve", {"round": ROUND, "policy": "fifo"}, X_Deadline_Seconds="30")
    assert status == 200
    assert verify(parse_round(json.dumps(ROUND)), parse_result(json.dumps(result))).feasible
    status, certificate = server.post("verify", {"round": ROUND, "result": result})
    assert (status, certificate["feasible"]) == (200, True)
    assert server.post("why", {"round": ROUND, "job": "job-1"})[1]["waiting"]["reason"] == "capacity"
    assert server.post("what-if", {"round": ROUND, "add_nodes": ["1x8"]})[1]["then"]["running"] == 3


def test_the_same_bytes_for_the_same_message(server: Running) -> None:
    body = {"round": ROUND, "limits": {"work": 1, "seed": 5}}
    assert server.post("solve", body) == server.post("solve", body)


def test_text_over_many_lines_is_one_message(server: Running) -> None:
    assert server.post("solve", json.dumps({"round": ROUND}, indent=2).encode())[0] == 200


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/solve", b"{", 400),
        ("/v1/solve", b"[1]", 400),
        ("/v1/solve", b"\xff", 400),
        ("/v1/solve", {"round": 3}, 422),
        ("/v1/solve", {"round": ROUND, "policy": "os:system"}, 422),
        ("/v1/solve", {"round": ROUND, "deadline_seconds": "soon"}, 422),
        ("/v1/solve", {"round": ROUND, "do": "why"}, 422),
        ("/v1/nothing", {}, 404),
        ("/v2/solve", {}, 404),
        ("/v1/session/state", {"session": "nobody"}, 404),
    ],
)
def test_what_is_wrong_is_a_problem(server: Running, path: str, body: Any, status: int) -> None:
    found, problem, reply = server.ask("POST", path, body)
    assert (found, problem["status"]) == (status, status)
    assert reply.headers["content-type"] == "application/problem+json"


def test_wrong_ways_to_ask(server: Running) -> None:
    status, _, reply = server.ask("GET", "/v1/solve")
    assert (status, reply.headers["allow"]) == (405, "POST")
    status, _, reply = server.ask("POST", "/metrics")
    assert (status, reply.headers["allow"]) == (405, "GET, HEAD")
    assert server.ask("POST", "/v1/solve", {"round": ROUND}, Authorization="Bearer no")[0] == 401
    assert server.ask("POST", "/v1/solve", {"round": ROUND}, Authorization="")[0] == 401


@pytest.mark.parametrize(("deadline", "found"), [("soon", "soon"), ("null", "null"), ("", "nothing"), ("-1", "-1")])
def test_a_deadline_that_is_none_is_told_by_the_name_of_its_header(server: Running, deadline: str, found: str) -> None:
    for do, body in (("solve", {"round": ROUND}), ("session/state", {})):
        status, problem = server.post(do, body, X_Deadline_Seconds=deadline)
        assert (status, problem["field"], problem["found"]) == (422, "X-Deadline-Seconds", found)
    status, problem = server.post("solve", {"round": ROUND, "deadline_seconds": {}})
    assert (status, problem["field"], problem["found"]) == (422, "deadline_seconds", "{}")


def test_messages_without_a_deadline_pass_over_the_header(server: Running) -> None:
    cluster = ROUND["cluster"]
    for do, body in (
        ("session/open", {"session": "header", "cluster": cluster}),
        ("session/submit", {"session": "header", "jobs": [{"id": "a", "gpus": 1, "submitted": 0}]}),
        ("session/state", {"session": "header"}),
        ("session/close", {"session": "header"}),
    ):
        assert server.post(do, body, X_Deadline_Seconds="600")[0] == 200


def test_a_field_that_is_there_twice_is_refused(server: Running) -> None:
    body = json.dumps({"round": ROUND}).encode()
    assert server.post("solve", body.replace(b"{", b'{"policy": "fifo", "do": "solve", ', 1))[0] == 200
    for head in (b'\n{"policy": "fifo",\n "policy": "srtf", ', b'{"deadline_seconds": 1, "deadline_seconds": 9, '):
        status, problem = server.post("solve", body.replace(b"{", head, 1))
        assert (status, problem["field"]) == (422, "message")
        assert "twice" in problem["found"]


def test_no_deadline_stops_a_worker(server: Running) -> None:
    restarts = [line for line in server.ask("GET", "/metrics")[1].splitlines() if "worker_restarts_total" in line]
    for deadline in (-3e16, 6e16):
        for do, body in (("solve", {"round": ROUND}), ("session/decide", {"now": 0.0})):
            status, problem = server.post(do, {**body, "deadline_seconds": deadline})
            assert (status, problem.get("field")) in {(422, "deadline_seconds"), (404, None)}
    assert set(restarts) <= set(server.ask("GET", "/metrics")[1].splitlines())


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        head = (
            f"POST /v1/solve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {1 << 40}\r\n\r\n"
        )
        line.sendall(head.encode())
        assert line.recv(100).startswith(b"HTTP/1.1 413")


def test_beyond_its_slots_a_server_refuses_and_says_when_to_ask_again(server: Running) -> None:
    text = (ROOT / "instances" / "toy" / "eight-gangs.json").read_text()
    body = {"round": json.loads(text), "policy": "srtf", "method": "exact@exhaustive", "limits": {"seconds": 2}}
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: server.ask("POST", "/v1/solve", body), range(8)))
    statuses = [status for status, _, _ in replies]
    assert set(statuses) <= {200, 429}
    assert 200 in statuses
    assert all(reply.headers["retry-after"] == "1" for status, _, reply in replies if status == 429)


def test_a_session_goes_on_after_its_worker_was_killed(server: Running) -> None:
    assert server.post("session/open", {"session": "s", "cluster": ROUND["cluster"], "policy": "fifo"})[0] == 200
    assert server.post("session/submit", {"session": "s", "jobs": ROUND["jobs"]}) == (200, {})
    step = server.post("session/decide", {"session": "s", "now": 20})[1]["step"]
    for worker in server.workers():
        os.kill(worker, signal.SIGKILL)
    while server.post("session/state", {"session": "s"})[0] != 200:
        time.sleep(0.05)
    assert server.post("session/acknowledge", {"session": "s", "step": step}) == (200, {})
    jobs = server.post("session/state", {"session": "s"})[1]["jobs"]
    assert [job["state"] for job in jobs.values()] == ["running", "waiting", "running"]
    while server.post("solve", {"round": ROUND})[0] != 200:
        time.sleep(0.05)
    assert "muri_opt_worker_restarts_total 0" not in server.ask("GET", "/metrics")[1]


def test_a_client_that_goes_away_does_not_get_the_next_ones_answer(server: Running) -> None:
    body = json.dumps({"round": ROUND, "method": "heuristic"}).encode()
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
            line.sendall(head(len(body)) + body)
    while (found := server.post("why", {"round": ROUND, "job": "job-1"}))[0] != 200:
        assert found[0] in (429, 502, 503)
        time.sleep(0.05)
    assert found[1]["format"] == "muri-opt/why/1"


def test_two_clients_on_one_session_submit_every_job_once(server: Running) -> None:
    two = {"session": "two-clients"}
    server.post("session/open", {**two, "cluster": {"nodes": [{"id": "n0", "gpus": 8}]}})

    def submit(number: int) -> int:
        job = {"id": f"job-{number // 2}", "gpus": 1, "submitted": 0.0}
        return server.post("session/submit", {**two, "jobs": [job]})[0]

    with ThreadPoolExecutor(2) as clients:
        assert sorted(clients.map(submit, range(40))) == [200] * 20 + [422] * 20
    assert len(server.post("session/state", two)[1]["jobs"]) == 20


def test_what_operators_ask(server: Running) -> None:
    assert server.ask("GET", "/healthz")[:2] == (200, "ok\n")
    server.post("solve", {"round": ROUND, "policy": "srtf"})
    server.post("solve", {"round": ROUND, "policy": "fifo:nodes=fewest"})
    text = server.ask("GET", "/metrics")[1]
    for part in ('replies_total{message="solve",status="200"}', 'gap_count{policy="fifo"}', "muri_opt_slots 1"):
        assert part in text
    described = server.ask("GET", "/openapi.json")[1]
    assert {f"/v1/{do}" for do in MESSAGES} <= set(described["paths"])
    assert described["components"]["schemas"]["Solve"]["properties"]["round"] == {"$ref": "#/components/schemas/Round"}


def test_what_was_taken_is_answered_before_the_end(tmp_path: Path) -> None:
    server = Running(tmp_path, "--slots", "1")
    with ThreadPoolExecutor(1) as pool:
        text = (ROOT / "instances" / "toy" / "eight-gangs.json").read_text()
        body = {"round": json.loads(text), "method": "exact@exhaustive", "limits": {"seconds": 1}}
        asked = pool.submit(server.post, "solve", body)
        while "muri_opt_slots_busy 1" not in server.ask("GET", "/metrics")[1] and not asked.done():
            time.sleep(0.01)
        assert server.end() == 0
        assert asked.result()[0] == 200


@pytest.mark.parametrize("host", ["192.168.1.4", "::", "example.org"])
def test_no_address_of_others_without_a_token(host: str) -> None:
    with pytest.raises(InputError, match="without a token"):
        check_address(host, None)
    check_address(host, TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.3.2.1"])
def test_the_own_machine_needs_no_token(host: str) -> None:
    check_address(host, None)
