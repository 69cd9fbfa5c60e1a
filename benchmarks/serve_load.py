"""A server under load: many clients, large rounds, a deadline; wrong answers, missed deadlines, refusals and memory.

Run with ``python -m benchmarks.serve_load [--seconds 300] [--clients 20] [--jobs 1000] [--deadline 1.0]``. Every client
asks for its own round again and again, with a random policy; a refusal (429) is asked again after a tenth of a second.
Every answer is verified here, by the round it is for. Memory is that of the server and its workers together.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

from muri_opt import Round, parse_result, verify
from muri_opt.rounds import canonical_json
from muri_opt.rounds.generate.families import generate

POLICIES = ("fifo", "srtf", "las")
LATE = 0.25
"""Seconds after a deadline from which an answer is counted as late."""


def main() -> None:
    """Print what the clients saw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--deadline", type=float, default=1.0)
    parser.add_argument("--slots", type=int, default=2)
    given = parser.parse_args()
    command = [sys.executable, "-m", "muri_opt", "serve", "--http", "0", "--slots", str(given.slots)]
    rounds = [generate("gangs", jobs=given.jobs, nodes=given.jobs // 8, seed=seed) for seed in range(given.clients)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2])
        while _asked(port, "GET", "/readyz", b"")[0] != 200:
            time.sleep(0.1)
        load = Load(port, rounds, given.deadline)
        before = load.warm(), _memory(server.pid)
        load.run(given.seconds)
        after = _memory(server.pid)
        server.send_signal(signal.SIGTERM)
        server.wait()
    load.tell(before[1], after)


class Load:
    """Clients that ask until their time is over."""

    def __init__(self, port: int, rounds: list[Round], deadline: float) -> None:
        self._port, self._rounds, self._deadline = port, rounds, deadline
        self._texts = [canonical_json(one).decode() for one in rounds]
        self._statuses: Counter[int] = Counter()
        self._took: list[float] = []
        self._wrong = 0
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Let every slot answer once, so that memory is compared between two warm states."""
        for client in range(len(self._rounds)):
            self._once(client, np.random.default_rng(client))
        self._statuses.clear()
        self._took.clear()

    def run(self, seconds: float) -> None:
        """Ask from all clients at once."""
        ends = time.monotonic() + seconds
        threads = [threading.Thread(target=self._client, args=(client, ends)) for client in range(len(self._rounds))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, client: int, ends: float) -> None:
        draw = np.random.default_rng(client)
        while time.monotonic() < ends:
            if self._once(client, draw) == 429:
                time.sleep(0.1)

    def _once(self, client: int, draw: np.random.Generator) -> int:
        policy, deadline = str(draw.choice(POLICIES)), self._deadline
        body = f'{{"round": {self._texts[client]}, "policy": "{policy}", "deadline_seconds": {deadline}}}'
        began = time.monotonic()
        status, text = _asked(self._port, "POST", "/v1/solve", body.encode())
        took = time.monotonic() - began
        right = status != 200 or verify(self._rounds[client], parse_result(text)).feasible
        with self._lock:
            self._statuses[status] += 1
            self._wrong += not right
            if status == 200:
                self._took.append(took)
        return status

    def tell(self, before: float, after: float) -> None:
        """Print the figures."""
        took = np.array(self._took)
        late = int((took > self._deadline + LATE).sum())
        print(f"replies by status: {dict(self._statuses)}")
        print(f"wrong answers: {self._wrong}; later than the deadline by more than {LATE} s: {late}")
        quantiles = ", ".join(f"{np.quantile(took, part):.3f}" for part in (0.5, 0.99, 1.0))
        print(f"seconds of an answer: median, 99th percentile, most: {quantiles}")
        print(f"memory of server and workers, MiB: {before:.0f} before, {after:.0f} after")


def _asked(port: int, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request(method, path, body)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def _memory(process: int) -> float:
    """Return the resident memory of a process and all below it, in MiB."""
    own = Path(f"/proc/{process}/status").read_text()
    size = next(int(line.split()[1]) for line in own.splitlines() if line.startswith("VmRSS"))
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return size / 1024 + sum(_memory(int(child)) for child in children)


if __name__ == "__main__":
    main()
