"""Train two small models alone and together, and print predicted and measured rates.

    python -m benchmarks.on_a_gpu.two_models                   with PyTorch and a GPU, if both are there
    python -m benchmarks.on_a_gpu.two_models --device cpu      with numpy alone: "gpu" is then work of the CPU, too

Each model trains in a process of its own, on cores of its own unless told otherwise. An iteration has four stages: a
file is read past the cache, prepared by the CPU, trained on, and the gradient goes over a local connection and back.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from muri_opt.systems.muri import best_period, rates_together

NAMES = ("loader", "trainer")
"""One spends its time in reading and preparing, the other at the GPU and the network."""
RESOURCES = ("storage", "cpu", "gpu", "network")
Found = dict[str, dict[str, Any]]


def main(arguments: list[str] | None = None) -> None:
    """Measure both models alone, then together, and print what was predicted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each measurement takes")
    parser.add_argument("--size", type=float, default=1.0, help="how large the work of an iteration is")
    parser.add_argument("--share-cores", action="store_true", help="let both processes run on all cores")
    given = parser.parse_args(arguments)
    device = _device(given.device)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    own = len(cores) > 1 and not given.share_cores
    half = len(cores) // 2
    sets = dict(zip(NAMES, (cores[:half], cores[half:]) if own else (cores, cores), strict=True))
    settings = {"device": device, "seconds": given.seconds, "size": given.size}
    with tempfile.TemporaryDirectory() as folder:
        alone: Found = {}
        for name in NAMES:
            alone |= measured([name], sets, {**settings, "folder": folder})
        together = measured(NAMES, sets, {**settings, "folder": folder})
    mine = tuple(own and (r == "cpu" or (r == "gpu" and device == "cpu")) for r in RESOURCES)
    for line in report(alone, together, mine):
        print(line)


def report(alone: Found, together: Found, own: Sequence[bool]) -> list[str]:
    """Return what was measured and predicted, line by line, and what a round is to say of it."""
    stages = [alone[name]["job"]["stage_seconds"] for name in NAMES]
    predicted = rates_together(stages, own)
    period = best_period(stages).period_seconds
    lines = [f"{'':9}{'storage':>9}{'cpu':>9}{'gpu':>9}{'network':>9}  milliseconds, median alone"]
    for name, times in zip(NAMES, stages, strict=True):
        lines.append(f"{name:9}" + "".join(f"{1000 * time:9.2f}" for time in times))
    rates = [together[name]["per_second"] / alone[name]["per_second"] for name in NAMES]
    lines += [
        "",
        f"{'':9}{'alone':>9}{'together':>9}{'rate':>9}{'free':>9}{'in step':>9}  a second; rate against alone",
    ]
    for name, rate, free, times in zip(NAMES, rates, predicted, stages, strict=True):
        speeds = (alone[name]["per_second"], together[name]["per_second"])
        lines.append(f"{name:9}" + "".join(f"{one:9.2f}" for one in (*speeds, rate, free, sum(times) / period)))
    total = f"{'both':27}{sum(rates):9.2f}{sum(predicted):9.2f}{sum(map(sum, stages)) / period:9.2f}"
    jobs = [{"id": name, "gpus": 1, **alone[name]["job"]} for name in NAMES]
    measurement = {"models": list(NAMES), "rates": [round(rate, 3) for rate in rates]}
    return [*lines, total, "", "for a round:", json.dumps({"jobs": jobs, "together": [measurement]})]


def measured(names: Sequence[str], cores: dict[str, list[int]], settings: dict[str, Any]) -> Found:
    """Return what processes of the models find that begin together: the stages, and iterations a second."""
    workers = {}
    for name in names:
        told = json.dumps({**settings, "name": name, "cores": cores[name]})
        command = [sys.executable, "-m", "benchmarks.on_a_gpu.training", told]
        threads = {"OMP_NUM_THREADS": str(max(1, len(cores[name]))), "PYTHONUNBUFFERED": "1"}
        workers[name] = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads},
            cwd=Path(__file__).parents[2],
        )
    found: Found = {}
    try:
        for worker in workers.values():
            _line(worker)  # it is ready
        for worker in workers.values():
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        for name, worker in workers.items():
            found[name] = json.loads(_line(worker))
    finally:
        for worker in workers.values():
            worker.kill()
            worker.communicate()
    return found


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit("a process ended early; its error is above")
    return line


def _device(asked: str) -> str:
    """Return where to train: on a GPU if there is one and PyTorch to use it."""
    if asked == "cpu":
        return "cpu"
    if find_spec("torch") is None:
        if asked == "cuda":
            raise SystemExit("--device cuda needs PyTorch")
        return "cpu"
    import torch

    if asked == "cuda" and not torch.cuda.is_available():
        raise SystemExit("--device cuda: PyTorch finds no GPU")
    return "cuda" if torch.cuda.is_available() else "cpu"


if __name__ == "__main__":
    main()
