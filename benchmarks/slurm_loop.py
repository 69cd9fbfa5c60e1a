"""Held jobs of a real Slurm started by ``muri-opt slurm loop``, beside Slurm's own backfill on the same jobs.

Run with ``python -m benchmarks.slurm_loop [seed ...]``, as root, with Debian's packages of Slurm: a private one with
fake GPUs is started for every run (four nodes, two GPU types). Each seed draws 36 jobs of 1 to 8 GPUs that sleep for 2
to 20 s and say a time limit in proportion. Completion times are those of Slurm's own records, in whole seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from muri_opt.cli.slurm.text import gpus_in, node_names, number

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
from real_slurm import real_slurm

JOBS = 36
POLICY = "srtf"
SHAPES = ((1, 1), (1, 2), (1, 4), (2, 4), (2, 2))
"""Nodes, and GPUs on each of them."""
TYPES = {None: {"gpu01", "gpu02", "gpu03", "gpu04"}, "a100": {"gpu01", "gpu02"}, "v100": {"gpu03", "gpu04"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One job: when it is submitted, its shape and type, and how long it sleeps."""

    after: float
    nodes: int
    gpus: int
    type: str | None
    seconds: int

    @property
    def options(self) -> tuple[str, ...]:
        """What ``sbatch`` is told."""
        kind = "" if self.type is None else f"{self.type}:"
        minutes = -(-self.seconds // 3)
        return (f"-N{self.nodes}", f"--gres=gpu:{kind}{self.gpus}", "--mem=1000", "-t", str(minutes))


def drawn(seed: int) -> list[Drawn]:
    """Return the jobs of a seed."""
    draw = np.random.default_rng(seed)
    moments = np.sort(draw.uniform(0, 20, JOBS))
    kinds = list(TYPES)
    return [
        Drawn(
            after=float(after),
            nodes=SHAPES[shape][0],
            gpus=SHAPES[shape][1],
            type=kinds[int(draw.integers(3))],
            seconds=int(draw.integers(2, 21)),
        )
        for after, shape in zip(moments, draw.choice(len(SHAPES), JOBS, p=[0.4, 0.25, 0.2, 0.05, 0.1]), strict=True)
    ]


def run(jobs: list[Drawn], port: int, *, ours: bool) -> dict[str, float]:
    """Return what became of jobs under our loop or under Slurm's own scheduler."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm", ignore_cleanup_errors=True) as folder,
        real_slurm(Path(folder), port) as slurm,
    ):
        names, began, loop = list[str](), time.monotonic(), None
        for job in jobs:
            time.sleep(max(0.0, job.after - (time.monotonic() - began)))
            names.append(slurm.submit(*job.options, seconds=job.seconds, held=ours))
            if ours and loop is None:
                command = [
                    sys.executable,
                    "-m",
                    "muri_opt",
                    "slurm",
                    "loop",
                    "--partition",
                    "train",
                    "--rounds",
                    "1000",
                ]
                command += ["--policy", POLICY, "--method", "heuristic", "--interval", "0.5"]
                loop = subprocess.Popen(command, env=slurm.environment, stdout=subprocess.PIPE, text=True)
        records = slurm.wait("COMPLETED", jobs=names)
        planned = _ended(loop)
        return _figures(jobs, [records[name] for name in names], [planned.get(name) for name in names])


def _ended(loop: subprocess.Popen[str] | None) -> dict[str, set[str]]:
    """End the loop, and return where it has put each job."""
    if loop is None:
        return {}
    loop.terminate()
    text, _ = loop.communicate()
    lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    return {line["job"]: set(line["nodes"]) for line in lines if line["do"] == "place"}


def _figures(jobs: list[Drawn], records: list[dict[str, Any]], planned: list[set[str] | None]) -> dict[str, float]:
    took = [number(one["end_time"]) - number(one["submit_time"]) for one in records]
    wrong_nodes = wrong_shapes = 0
    for job, record, nodes in zip(jobs, records, planned, strict=True):
        on = set(node_names(record["nodes"]))
        wrong_nodes += not on <= TYPES[job.type] or (nodes is not None and on != nodes)
        held = [sum(gpus_in(one).values()) for one in record["gres_detail"] or ()]
        wrong_shapes += len(on) != job.nodes or any(each != job.gpus for each in held)
    end = max(number(one["end_time"]) for one in records) - min(number(one["submit_time"]) for one in records)
    return {"mean": float(np.mean(took)), "makespan": end, "nodes": wrong_nodes, "shapes": wrong_shapes}


def main() -> None:
    """Print a line for each seed and side."""
    seeds = [int(word) for word in sys.argv[1:]] or [1, 2, 3]
    print(f"| seed | side | mean completion, s | makespan, s | on wrong nodes | wrong shapes |\n{'| --- ' * 6}|")
    for seed in seeds:
        jobs = drawn(seed)
        for side in ("Slurm's backfill", f"muri-opt, {POLICY}"):
            found = run(jobs, 19_000 + 100 * seed, ours=side.startswith("muri"))
            cells = [
                f"{found['mean']:.1f}",
                f"{found['makespan']:.0f}",
                f"{found['nodes']:.0f}",
                f"{found['shapes']:.0f}",
            ]
            print(f"| {seed} | {side} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
