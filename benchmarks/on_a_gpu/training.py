"""One small model that trains in a process of its own: four stages, timed by ``StageTimer``.

Started by ``two_models`` with its settings as JSON. It says "ready", waits for a line, trains for the time it is given,
and prints the job as it would stand in a round, and its iterations a second.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.profiling import StageTimer

WIDTH = 512
"""Features of a sample."""


@dataclass(frozen=True)
class Shape:
    """How large the stages of a model are: MiB read, times a batch is prepared, layers of so many units, KiB sent."""

    mebibytes: float
    prepared: int
    layers: int
    units: int
    kibibytes: float


SHAPES = {
    "loader": Shape(mebibytes=16, prepared=12, layers=2, units=512, kibibytes=256),
    "trainer": Shape(mebibytes=1, prepared=1, layers=6, units=1024, kibibytes=4096),
}


def main() -> None:
    """Train as told by the only argument."""
    told = json.loads(sys.argv[1])
    if told["cores"]:
        os.sched_setaffinity(0, told["cores"])
    shape, size = SHAPES[told["name"]], told["size"]
    batch = max(8, int(256 * size))
    path = Path(told["folder"]) / f"{told['name']}.bin"
    path.write_bytes(os.urandom(max(batch * WIDTH, int(shape.mebibytes * size * 2**20))))
    step = (_torch_step if told["device"] == "cuda" else _numpy_step)(shape)
    exchange = _exchange(bytes(max(1024, int(shape.kibibytes * size * 1024))))
    timer = StageTimer(warm_up=2, iterations=10**6)

    def iterate(into: StageTimer) -> None:
        with into.stage("storage"):
            raw = _read(path)
        with into.stage("cpu"):
            samples = _prepared(raw, batch, shape.prepared)
        with into.stage("gpu"):
            step(samples)
        with into.stage("network"):
            exchange()

    for _ in range(3):
        iterate(StageTimer())
    print("ready", flush=True)
    sys.stdin.readline()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < told["seconds"] or done < 5:
        iterate(timer)
        done += 1
    speed = done / (time.perf_counter() - began)
    print(json.dumps({"job": timer.fragment(model=told["name"]), "per_second": speed}), flush=True)
    sys.stdin.readline()  # until the others have ended, too


def _read(path: Path) -> bytes:
    """Return a file as the device has it, not as the system remembers it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if hasattr(os, "posix_fadvise"):
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))
    finally:
        os.close(descriptor)


def _prepared(raw: bytes, batch: int, times: int) -> NDArray[np.float32]:
    """Return a batch of samples, flipped and scaled several times over."""
    samples = np.frombuffer(raw, dtype=np.uint8, count=batch * WIDTH).reshape(batch, WIDTH).astype(np.float32)
    for _ in range(times):
        samples = np.sqrt(np.abs(samples[:, ::-1] - samples.mean(axis=0))) + 1.0
    return samples / samples.max()


def _numpy_step(shape: Shape) -> Callable[[NDArray[np.float32]], None]:
    """Return a step of gradient descent of a small network that learns to give its samples back."""
    draw = np.random.default_rng(0)
    sizes = [WIDTH, *[shape.units // 4] * (shape.layers - 1), WIDTH]
    layers = [draw.normal(0, 0.02, pair).astype(np.float32) for pair in pairwise(sizes)]

    def step(samples: NDArray[np.float32]) -> None:
        values = [samples]
        for weights in layers:
            values.append(np.maximum(values[-1] @ weights, 0))
        error = (values[-1] - samples) / len(samples)
        for place in range(len(layers) - 1, -1, -1):
            error = error * (values[place + 1] > 0)
            gradient = values[place].T @ error
            error = error @ layers[place].T
            layers[place] -= np.float32(0.01) * gradient

    return step


def _torch_step(shape: Shape) -> Callable[[NDArray[np.float32]], None]:
    """Return the same on the GPU, larger, in bfloat16."""
    import torch

    sizes = [WIDTH, *[8 * shape.units] * (shape.layers - 1), WIDTH]
    layers: list[Any] = []
    for before, after in pairwise(sizes):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).to("cuda", torch.bfloat16)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(samples: NDArray[np.float32]) -> None:
        given = torch.from_numpy(samples).to("cuda", torch.bfloat16).repeat(16, 1)
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(model(given), given).backward()
        optimiser.step()

    return step


def _exchange(gradient: bytes) -> Callable[[], None]:
    """Return what sends a gradient over a local connection to one that sends it back."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    there, _ = server.accept()

    def echo() -> None:
        while received := there.recv(1 << 16):
            there.sendall(received)

    threading.Thread(target=echo, daemon=True).start()

    def exchange() -> None:
        sender = threading.Thread(target=client.sendall, args=(gradient,))
        sender.start()
        left = len(gradient)
        while left:
            left -= len(client.recv(min(left, 1 << 16)))
        sender.join()

    return exchange


if __name__ == "__main__":
    main()
