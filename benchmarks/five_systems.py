"""Five systems and their baselines on four traces, heuristic and exact, by the own clock.

Ratios are to ``fifo:preempt=yes``.

DIR holds your own copies of the files, which are not part of this project: traces of the Muri authors as
``muri/trace3.csv`` and ``muri/trace4.csv``, the flattened Philly trace of the Sia artifact as
``philly/philly_jobs.csv``, the AFS authors' curves as ``afs/iteration_seconds.csv``, and the workload and the measured
tables of Rubick's authors in ``rubick``. Every run is kept in a folder, so the command can be stopped and given again.
Heuristics come first, for all traces; then the exact programs (method ``auto``: the heuristic, then its exact program
until it is proved within the gap or the time of the round is over; the better of the two). Times are wall seconds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from muri_opt.replay.studies.runs import RunRow, StudyRun
from muri_opt.replay.studies.study import StudyError, run_study
from muri_opt.replay.studies.tables import settled

LISTS = ("fifo:preempt=yes", "fifo", "srtf", "srsf", "tiresias")
"""List policies; the first one, which the others are compared with, stops running jobs for earlier ones."""
MURI = ("muri-s", "muri-l")
ELASTIC = ("max-min-elastic", "optimus", "afs-l", "afs-p")
RUBICK = ("rubick", "sia", "synergy", "equal-share")
AITURBO = ("aiturbo", "optimus-ps")
JOINT = ("joint-s", "joint-l")
SOLVED = (*MURI, "philly", "afs-l", "afs-p", "optimus", "rubick", "sia", "aiturbo", "optimus-ps")
METHODS = ("heuristic", "auto")
RESTART = 30
LAUNCH = 260
QUICK_JOBS = 4
SECONDS_PER_HOUR = 3600
HEAD = ("policy", "method", "jobs", "mean JCT", "ratio", "99th", "ratio", "makespan", "ratio", "restarts", "rounds")
HEAD += ("ms a round", "settled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Runs that are compared with each other: the text of a workload and a policy each; ratios are to the first.

    ``solved`` are policies whose exact program is run too. ``settings`` are those of every run.
    """

    title: str
    cluster: str
    pairs: Sequence[tuple[str, str]]
    solved: tuple[str, ...] = SOLVED
    settings: Mapping[str, float] = field(default_factory=dict)

    def runs(self, *, method: str, seconds: float, gap: float) -> list[StudyRun]:
        """Return the runs by one method; list policies decide on arrays where nothing else is asked of them."""
        plain = StudyRun(workload="-", cluster=self.cluster, policy="fifo", **self.settings)
        if method == "heuristic":
            fast = not self.settings
            return [
                replace(plain, workload=text, policy=name, fast=fast and name in LISTS) for text, name in self.pairs
            ]
        solving = {"method": method, "round_seconds": seconds, "round_gap": gap}
        return [
            replace(plain, workload=text, policy=name, **solving) for text, name in self.pairs if name in self.solved
        ]


def parts(directory: Path, folder: Path, *, first: int | None) -> list[Part]:
    """Return what is replayed; ``first`` keeps so many jobs of every trace.

    What a trace does not say of its jobs, the measured models of another system say, which the jobs take in turn: how
    they scale and what plans they have, and the stages of jobs that are not Muri's.
    """

    def text(*names: str, **options: str | int | None) -> str:
        given = [f"{key}={value}" for key, value in {**options, "first": first}.items() if value is not None]
        return str(directory.joinpath(*names)) + "?" * bool(given) + "&".join(given)

    def systems(*names: str, cluster: str, stages: str | None, **options: str | int) -> list[tuple[str, str]]:
        curves = str(directory / "afs" / "iteration_seconds.csv")
        policies = (
            (text(*names, **options), (*LISTS, "philly")),
            (text(*names, **options, stages=stages), MURI),
            (text(*names, **options, scaling=curves), ELASTIC),
            (text(*names, **options, scaling=curves, plans=f"rubick@{cluster}"), RUBICK),
            (text(*names, **options, scaling=curves, plans=f"aiturbo@{cluster}"), AITURBO),
            (text(*names, **options, stages=stages, scaling=curves), JOINT),
        )
        return [(workload, policy) for workload, some in policies for policy in some]

    found = [
        Part(
            title=f"{name}, 8 x 8",
            cluster="8x8",
            pairs=systems("muri", f"{name}.csv", cluster="8x8", stages=None),
        )
        for name in ("trace3", "trace4")
    ]
    stages = str(directory / "muri" / "trace3.csv")
    for tenant in ("2869ce", "e13805"):
        options = {"tenant": tenant, "restart": RESTART}
        found.append(
            Part(
                title=f"Philly {tenant}, 16 x 4, {RESTART} s a restart",
                cluster="16x4",
                pairs=systems("philly", "philly_jobs.csv", cluster="16x4", stages=stages, **options),
            )
        )
    base = text("rubick", "workload-base.csv", restart=LAUNCH)
    found.append(
        Part(
            title=f"Rubick's workload-base, 8 x 8, rounds of 60 s, {LAUNCH} s a launch or change",
            cluster=large_nodes(folder),
            pairs=[(base, policy) for policy in ("fifo:preempt=yes", "rubick", "sia", "synergy", "antman")],
            solved=("rubick",),
            settings={"interval": 60.0, "launch_seconds": float(LAUNCH)},
        )
    )
    return found


def large_nodes(folder: Path) -> str:
    """Write the cluster of Rubick's authors: 8 nodes of 8 GPUs, 96 CPUs and 1,600 GiB; return its file."""
    nodes = [{"id": f"n{k}", "gpus": 8, "cpus": 96, "memory_gib": 1600} for k in range(8)]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "large-nodes.json"
    path.write_bytes(msgspec.json.encode({"nodes": nodes}))
    return str(path)


def table(part: Part, runs: Iterable[StudyRun], rows: Mapping[StudyRun, RunRow]) -> list[str]:
    """Return the lines of a table of the runs that are done, times in hours."""
    lines = [
        f"**{part.title}**",
        "",
        "| " + " | ".join(HEAD) + " |",
        "| --- | --- |" + " ---: |" * (len(HEAD) - 2),
    ]
    known = [rows[run] for run in runs if run in rows]
    for row in known:
        found, first = row.figures, known[0].figures
        cells = [row.run.policy, row.run.method, f"{found['jobs']:,}"]
        for name in ("mean", "p99", "makespan"):
            cells += [f"{found[name] / SECONDS_PER_HOUR:,.2f}", f"{found[name] / first[name]:.3f}"]
        each = 1000 * found["decision_seconds"] / max(found["rounds"], 1)
        cells += [f"{found['restarts']:,}", f"{found['rounds']:,}", f"{each:,.1f}", settled(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def overview(every: Sequence[Part], runs: Sequence[Sequence[StudyRun]], rows: Mapping[StudyRun, RunRow]) -> list[str]:
    """Return one table of all parts: mean completion times by both methods, as ratios to ``fifo:preempt=yes``."""
    ratios: dict[str, dict[tuple[str, str], float]] = {}
    for part, mine in zip(every, runs, strict=True):
        known = [rows[run] for run in mine if run in rows]
        for row in known:
            ratio = row.figures["mean"] / known[0].figures["mean"]
            ratios.setdefault(row.run.policy, {})[part.title, row.run.method] = ratio
    heads = [(part.title, method) for part in every for method in METHODS]
    lines = [
        "| policy | " + " | ".join(f"{title.partition(',')[0]}, {method}" for title, method in heads) + " |",
        "| --- |" + " ---: |" * len(heads),
    ]
    for policy, found in ratios.items():
        lines.append(f"| {policy} | " + " | ".join(f"{found[k]:.3f}" if k in found else "" for k in heads) + " |")
    return [*lines, ""]


def main(arguments: list[str] | None = None) -> int:
    """Run what is not known yet and print the tables, once after the heuristics and once with all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--folder", type=Path, default=Path("five-systems"), help="where the runs are kept")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--engine", default="processes", help="processes, here or ray")
    parser.add_argument("--round-seconds", type=float, default=0.3, help="for each round that is solved")
    parser.add_argument("--gap", type=float, default=1e-3, help="how near to the optimum of a round is near enough")
    parser.add_argument(
        "--quick", action="store_true", help=f"only {QUICK_JOBS} jobs of each trace, and one exact program"
    )
    given = parser.parse_args(arguments)
    every = parts(given.directory, given.folder, first=QUICK_JOBS if given.quick else None)
    if given.quick:
        every = [replace(part, solved=part.solved[:1]) for part in every]
    runs: list[list[StudyRun]] = [[] for _ in every]
    failed = 0
    for method in METHODS:
        for mine, part in zip(runs, every, strict=True):
            mine += part.runs(method=method, seconds=given.round_seconds, gap=given.gap)
        rows, failed = done(
            [run for mine in runs for run in mine], folder=given.folder, engine=given.engine, jobs=given.jobs
        )
        print(f"After the runs by method {method}; times in hours, ratios to the first line\n")
        print("\n".join(line for mine, part in zip(runs, every, strict=True) for line in table(part, mine, rows)))
        print("**Mean completion times of all, as ratios to fifo:preempt=yes**\n")
        print("\n".join(overview(every, runs, rows)))
    return 1 if failed else 0


def done(runs: list[StudyRun], *, folder: Path, engine: str, jobs: int) -> tuple[dict[StudyRun, RunRow], int]:
    """Return the rows of the runs that could be done, and how many could not; those are told."""

    def tell(over: int, total: int) -> None:
        print(f"{over} of {total}", file=sys.stderr, flush=True)

    try:
        rows = run_study(
            runs, folder=folder, engine=engine, jobs=jobs if engine == "processes" else None, progress=tell
        )
    except StudyError as error:
        for run, found in error.failures:
            print(f"failed: {run.workload} under {run.policy} ({run.method}): {found.message}")
        return {row.run: row for row in error.rows}, len(error.failures)
    return {row.run: row for row in rows}, 0


if __name__ == "__main__":
    sys.exit(main())
