"""Average job completion time of AFS and its rivals on virtual clusters of the Philly trace.

TRACE is a table of jobs with the columns timestamp, duration (seconds), num_gpus and cluster, as in the flattened
Philly trace of the Sia artifact; CURVES a table with the columns model, gpus and iteration_seconds, as in the
simulator of the AFS authors. The jobs of a virtual cluster go by time; the k-th uses model k modulo the number of
models whose table reaches as many GPUs as the job requested, in the order of CURVES, and its work is what the model
does on the requested GPUs in the job's duration. Jobs that no model can serve are left out. A change of a share costs
nothing unless --restart says so. The last rule takes the best shares of the exact program at every event.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from muri_opt.studies.explain import best_speed
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.event_clock import Rule, run_clock
from muri_opt.systems.afs.scan_orders import SCANS
from muri_opt.systems.curves import scaling_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The jobs of one virtual cluster, by arrival."""

    arrivals: NDArray[np.float64]
    work: NDArray[np.float64]
    speed: NDArray[np.int64]
    cap: NDArray[np.int64]
    requested: NDArray[np.int64]


def main(arguments: list[str] | None = None) -> None:
    """Print one line per virtual cluster: hours of average job completion time by rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("curves", type=Path)
    parser.add_argument("--vc", nargs="+", default=["e13805", "2869ce", "ed69ec"], help="virtual clusters")
    parser.add_argument("--gpus", type=int, default=64, help="GPUs of a virtual cluster")
    parser.add_argument("--scan", choices=SCANS, default="longest", help="order in which AFS-L visits the jobs")
    parser.add_argument("--phi", type=int, default=1, help="future share AFS-L assumes")
    parser.add_argument("--restart", type=float, default=0.0, help="seconds without progress after a change of share")
    given = parser.parse_args(arguments)
    models = read_curves(given.curves, given.gpus)
    names = ("FIFO", "SRTF", "SRSF", "MaxMin", "SRTF-E", "Optimus", "AFS-L", "AFS-L, exact")
    print(f"average job completion time in hours, {given.gpus} GPUs; FIFO, SRTF and SRSF are not elastic\n")
    print("| virtual cluster (jobs) | " + " | ".join(names) + " | share changes per job: AFS-L, exact |")
    print("| --- |" + " --- |" * (len(names) + 1))
    for cluster in given.vc:
        trace = read_trace(given.trace, cluster, models)
        rules = ClockRules(speed=trace.speed, cap=trace.cap, gpus=given.gpus)
        every: list[Rule] = [rules.inelastic(trace.requested, order) for order in ("fifo", "srtf", "srsf")]
        every += [
            rules.max_min,
            rules.srtf,
            rules.optimus,
            rules.afs(scan=given.scan, phi=given.phi),
            best_speed(rules),
        ]
        results = [
            run_clock(
                arrivals=trace.arrivals,
                work=trace.work,
                speed=trace.speed,
                cap=trace.cap,
                rule=rule,
                gpus=given.gpus,
                restart_seconds=given.restart,
            )
            for rule in every
        ]
        hours = " | ".join(f"{result.mean_duration / 3600:.3f}" for result in results)
        changes = ", ".join(f"{result.changes.mean():.1f}" for result in results[-2:])
        print(f"| {cluster} ({len(trace.work)}) | {hours} | {changes} |", flush=True)


def read_curves(path: Path, gpus: int) -> list[NDArray[np.int64]]:
    """Return the speeds of every model on 0, 1, 2, ... GPUs, in the order of the file."""
    tables: dict[str, dict[int, float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            tables.setdefault(row["model"], {})[int(row["gpus"])] = 1 / float(row["iteration_seconds"])
    return [np.array(scaling_table(table).speeds[: gpus + 1]) for table in tables.values()]


def read_trace(path: Path, cluster: str, models: list[NDArray[np.int64]]) -> Trace:
    """Return the jobs of a virtual cluster, each with the model that falls to it."""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["cluster"] == cluster]
    if not rows:
        raise SystemExit(f"{path}: no jobs of virtual cluster {cluster!r}")
    begun = [datetime.fromisoformat(row["timestamp"]) for row in rows]
    arrivals, work, speeds, requested = [], [], [], []
    for i in sorted(range(len(rows)), key=begun.__getitem__):
        gpus = int(rows[i]["num_gpus"])
        able = [model for model in models if len(model) > gpus]
        if able:
            model = able[len(work) % len(able)]
            arrivals.append((begun[i] - min(begun)).total_seconds())
            work.append(float(rows[i]["duration"]) * int(model[gpus]))
            speeds.append(model)
            requested.append(gpus)
    speed = np.zeros((len(work), max(map(len, speeds))), dtype=np.int64)
    for row, model in zip(speed, speeds, strict=True):
        row[: len(model)] = model
    return Trace(
        arrivals=np.array(arrivals),
        work=np.array(work),
        speed=speed,
        cap=np.array([len(model) - 1 for model in speeds]),
        requested=np.array(requested),
    )


if __name__ == "__main__":
    main()
