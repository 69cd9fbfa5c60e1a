"""How far AFS and its rivals are from the true elastic optimum, on random jobs that are all there from the start.

Every rule is asked again whenever a job finishes; the optimum may change shares at any moment (chapter `elastic`). Work
is uniform between 1 and 20 units. Curves: linear; Amdahl's law with a serial part uniform between 0.02 and 0.5; powers
of the GPU count with exponents uniform between 0.3 and 1; and nine measured ones, drawn with equal chance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.event_clock import Rule, run_clock
from muri_opt.systems.afs.optimum.search import elastic_optimum
from muri_opt.systems.afs.scan_orders import SCANS
from muri_opt.systems.curves import scaling_table

MEASURED = {  # speed-up on 1, 2, 4, 8 and 16 GPUs, as far as measured: from the simulator of the AFS authors
    "vgg16": (1, 1.82, 3.48, 6.61),
    "googlenet": (1, 1.85, 3.27, 5.60, 8.18),
    "inception4": (1, 1.95, 3.97, 7.79, 13.84),
    "resnet50": (1, 1.98, 3.62, 5.95, 9.04),
    "deepspeech": (1, 1.49, 1.74, 1.83, 1.96),
    "transformer": (1, 1.89, 3.43, 6.53, 9.85),
    "dcgan": (1, 1.81, 3.16, 4.69, 5.88),
    "chatbot": (1, 1.43, 1.73),
    "video": (1, 1.80, 2.96, 3.81, 4.51),
}
SIZES = ((2, 4), (3, 6))
Curve = Callable[[np.random.Generator, int], dict[int, float]]


def linear(_: np.random.Generator, gpus: int) -> dict[int, float]:
    return {k: float(k) for k in range(1, gpus + 1)}


def amdahl(draw: np.random.Generator, gpus: int) -> dict[int, float]:
    serial = draw.uniform(0.02, 0.5)
    return {k: 1 / (serial + (1 - serial) / k) for k in range(1, gpus + 1)}


def power(draw: np.random.Generator, gpus: int) -> dict[int, float]:
    exponent = draw.uniform(0.3, 1)
    return {k: k**exponent for k in range(1, gpus + 1)}


def measured(draw: np.random.Generator, _: int) -> dict[int, float]:
    speedups = MEASURED[str(draw.choice(list(MEASURED)))]
    return {2**i: speedup for i, speedup in enumerate(speedups)}


CURVES: dict[str, Curve] = {"linear": linear, "Amdahl": amdahl, "power": power, "measured": measured}


def main(arguments: list[str] | None = None) -> None:
    """Print the ratios of average job completion time to the optimum, mean and worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="rounds per line of the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scan", choices=SCANS, default="longest", help="order in which AFS-L visits the jobs")
    given = parser.parse_args(arguments)
    print(f"{given.rounds} rounds a line: average completion time over the proved optimum, mean (worst)\n")
    print("| curves | jobs, GPUs | AFS-L | Optimus | MaxMin | SRTF-E |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in CURVES:
        for jobs, gpus in SIZES:
            draw = np.random.default_rng([given.seed, jobs, *name.encode()])
            found = np.array([ratios(draw, CURVES[name], jobs, gpus, given.scan) for _ in range(given.rounds)])
            cells = [
                f"{mean:.3f} ({most:.3f})" for mean, most in zip(found.mean(axis=0), found.max(axis=0), strict=True)
            ]
            print(f"| {name} | {jobs}, {gpus} | " + " | ".join(cells) + " |", flush=True)


def ratios(draw: np.random.Generator, curve: Curve, jobs: int, gpus: int, scan: str) -> list[float]:
    """Return the ratio to the optimum of AFS-L, Optimus, max-min and elastic SRTF on one random round."""
    tables = [scaling_table(curve(draw, gpus)).speeds[: gpus + 1] for _ in range(jobs)]
    cap = np.array([len(table) - 1 for table in tables])
    speed: NDArray[np.int64] = np.zeros((jobs, gpus + 1), dtype=np.int64)
    for row, table in zip(speed, tables, strict=True):
        row[: len(table)] = table
    work = np.rint(draw.uniform(1, 20, jobs) * speed[:, 1])
    optimum = elastic_optimum(speed, cap, work, gpus)
    assert optimum.proved
    rules = ClockRules(speed=speed, cap=cap, gpus=gpus)
    every: tuple[Rule, ...] = (rules.afs(scan=scan), rules.optimus, rules.max_min, rules.srtf)
    results = [
        run_clock(arrivals=np.zeros(jobs), work=work, speed=speed, cap=cap, rule=rule, gpus=gpus) for rule in every
    ]
    return [result.mean_duration / float(optimum.mean_completion) for result in results]


if __name__ == "__main__":
    main()
