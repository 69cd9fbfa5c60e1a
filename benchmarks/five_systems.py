"""Five systems and their baselines on traces, heuristic and exact, by the own clock, with ratios to ``fifo``.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from muri_opt.replay.studies.runs import RunRow, StudyRun
from muri_opt.replay.studies.study import StudyError, run_study

LISTS = ("fifo", "srtf", "srsf", "tiresias")
MURI = ("muri-s", "muri-l")
ELASTIC = ("max-min-elastic", "optimus", "afs-l", "afs-p")
RUBICK = ("rubick", "sia", "synergy", "equal-share")
AITURBO = ("aiturbo", "optimus-ps")
RESTART = 30
LAUNCH = 260
QUICK_JOBS = 4
SECONDS_PER_HOUR = 3600
HEAD = ("policy", "method", "jobs", "mean JCT", "ratio", "99th", "ratio", "makespan", "ratio", "restarts", "rounds")
HEAD += ("ms a round",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Runs that are compared with each other: policies by the text of the workload they need, the first one ``fifo``.

    ``solved`` are policies whose exact program is run too. ``settings`` are those of every run.
    """

    title: str
    cluster: str
    policies: Mapping[str, tuple[str, ...]]
    solved: tuple[str, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)

    def runs(self, *, method: str, seconds: float, gap: float) -> list[StudyRun]:
        """Return the runs by one method; list policies decide on arrays where nothing else is asked of them."""
        every = [(text, policy) for text, policies in self.policies.items() for policy in policies]
        plain = StudyRun(workload="-", cluster=self.cluster, policy="fifo", **self.settings)
        if method == "heuristic":
            fast = not self.settings
            return [
                replace(plain, workload=text, policy=policy, fast=fast and policy in LISTS) for text, policy in every
            ]
        solving = {"method": method, "round_seconds": seconds, "round_gap": gap}
        return [replace(plain, workload=text, policy=name, **solving) for text, name in every if name in self.solved]


def parts(directory: Path, folder: Path, *, first: int | None, prefix: int) -> list[Part]:
    """Return what is replayed; ``first`` keeps so many jobs of every trace.

    Over a thousand jobs wait in trace4, more than exact groups are found for: those are solved for its first ``prefix``
    jobs.
    """

    def text(*names: str, **options: str | int | None) -> str:
        given = [f"{key}={value}" for key, value in options.items() if value is not None]
        return str(directory.joinpath(*names)) + "?" * bool(given) + "&".join(given)

    policies = (*LISTS, *MURI, "philly")
    third, fourth = text("muri", "trace3.csv", first=first), text("muri", "trace4.csv", first=first)
    start = text("muri", "trace4.csv", first=prefix)
    found = [
        Part(title="trace3, 8 x 8", cluster="8x8", policies={third: policies}, solved=(*MURI, "philly")),
        Part(title="trace4, 8 x 8", cluster="8x8", policies={fourth: policies}, solved=("philly",)),
        Part(
            title=f"the first {prefix} jobs of trace4, 8 x 8",
            cluster="8x8",
            policies={start: ("fifo", *MURI)},
            solved=MURI,
        ),
    ]
    curves = text("afs", "iteration_seconds.csv")
    for tenant in ("2869ce", "e13805"):
        plain, *planned = (
            text("philly", "philly_jobs.csv", tenant=tenant, first=first, restart=RESTART, scaling=curves, plans=plans)
            for plans in (None, "rubick@16x4", "aiturbo@16x4")
        )
        mixed = {plain: ("fifo", "srtf", *ELASTIC, "philly"), planned[0]: RUBICK, planned[1]: AITURBO}
        solved = ("optimus", "afs-l", "afs-p", "philly", "rubick", "sia", "aiturbo", "optimus-ps")
        title = f"Philly {tenant}, 16 x 4, {RESTART} s a restart"
        found.append(Part(title=title, cluster="16x4", policies=mixed, solved=solved))
    base = text("rubick", "workload-base.csv", first=first, restart=LAUNCH)
    found.append(
        Part(
            title=f"Rubick's workload-base, 8 x 8, rounds of 60 s, {LAUNCH} s a launch or change",
            cluster=large_nodes(folder),
            policies={base: ("fifo", "rubick", "sia", "synergy", "antman")},
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
    done = [rows[run] for run in runs if run in rows]
    for row in done:
        found, first = row.figures, done[0].figures
        cells = [row.run.policy, row.run.method, f"{found['jobs']:,}"]
        for name in ("mean", "p99", "makespan"):
            cells += [f"{found[name] / SECONDS_PER_HOUR:,.2f}", f"{found[name] / first[name]:.3f}"]
        each = 1000 * found["decision_seconds"] / max(found["rounds"], 1)
        cells += [f"{found['restarts']:,}", f"{found['rounds']:,}", f"{each:,.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def main(arguments: list[str] | None = None) -> int:
    """Run what is not done yet and print the tables, once after the heuristics and once with all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--folder", type=Path, default=Path("five-systems"), help="where the runs are kept")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--engine", default="processes", help="processes, here or ray")
    parser.add_argument("--round-seconds", type=float, default=0.3, help="for each round that is solved")
    parser.add_argument("--gap", type=float, default=1e-3, help="how near to the optimum of a round is near enough")
    parser.add_argument("--prefix", type=int, default=1000, help="jobs of trace4 whose groups are solved exactly")
    parser.add_argument(
        "--quick", action="store_true", help=f"only {QUICK_JOBS} jobs of each trace, and one exact program"
    )
    given = parser.parse_args(arguments)
    first, prefix = (QUICK_JOBS, QUICK_JOBS // 2) if given.quick else (None, given.prefix)
    every = parts(given.directory, given.folder, first=first, prefix=prefix)
    if given.quick:
        every = [replace(part, solved=part.solved[:1]) for part in every]
    runs: list[list[StudyRun]] = [[] for _ in every]
    failed = 0
    for method in ("heuristic", "auto"):
        for mine, part in zip(runs, every, strict=True):
            mine += part.runs(method=method, seconds=given.round_seconds, gap=given.gap)
        rows, failed = done(
            [run for mine in runs for run in mine], folder=given.folder, engine=given.engine, jobs=given.jobs
        )
        print(f"After the runs by method {method}; times in hours, ratios to the first line\n")
        print("\n".join(line for mine, part in zip(runs, every, strict=True) for line in table(part, mine, rows)))
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
