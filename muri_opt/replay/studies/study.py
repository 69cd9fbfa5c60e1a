"""``run_study()``: many replays, on many cores, that a kill can only interrupt."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from muri_opt.replay.outcome import Outcome
from muri_opt.replay.studies.cluster_text import cluster_from
from muri_opt.replay.studies.files import BAD_ROUNDS, OUTCOMES, opened
from muri_opt.replay.studies.outcome_files import load_outcome
from muri_opt.replay.studies.runs import RunRow, StudyRun, Task, fingerprint_of, run_task, workload_digest
from muri_opt.replay.studies.tables import REALS, columns_of, write_markdown
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.files import read_workload
from muri_opt.rounds import Cluster
from muri_opt.studies.runner.executors import Engine, executor_of
from muri_opt.studies.runner.result_tables import CSV, MARKDOWN, PARQUET, parquet_writer, write_csv
from muri_opt.studies.runner.run_pool import Failed, Progress, do_runs


class StudyError(RuntimeError):
    """Runs of a study that came to nothing, with why; ``rows`` are all others, which are done and kept."""

    def __init__(self, failures: Sequence[tuple[StudyRun, Failed]], rows: Sequence[RunRow]) -> None:
        said = [f"{run.workload} under {run.policy} (seed {run.seed}): {found.message}" for run, found in failures]
        super().__init__("; ".join(said))
        self.failures = tuple(failures)
        self.rows = tuple(rows)


def run_study(
    runs: Iterable[StudyRun],
    *,
    folder: str | os.PathLike[str],
    engine: Engine = "processes",
    jobs: int | None = None,
    keep_outcomes: bool = False,
    parquet: bool = False,
    progress: Progress | None = None,
) -> list[RunRow]:
    """Return a row for every run, in the order of the runs; those that ``folder`` has already are not done again.

    A run is written to the folder when it is done, so whatever ends a study costs at most the runs under way. Runs of
    the same fingerprint are one. The folder then holds all rows of this study as ``results.csv``, as
    ``results.parquet`` if asked for, and ``comparison.md``; with ``keep_outcomes``, also what became of every job.
    Bad input is raised before or as soon as it is seen. A run that fails does not keep the others from being done:
    :class:`StudyError` follows at the end.
    """
    write_parquet = parquet_writer(REALS) if parquet else None
    place = Path(folder)
    tasks = _prepared(runs, place, keep_outcomes)
    with closing(executor_of(engine, jobs)) as executor, opened(place) as study:
        left = [task for task in tasks if study.row(task) is None]
        failed = do_runs(left, run_task, study.add, executor, before=len(tasks) - len(left), progress=progress)
        rows = [row for row in map(study.row, tasks) if row is not None]
        columns = columns_of(rows)
        write_csv(columns, place / CSV)
        write_markdown(rows, place / MARKDOWN)
        if write_parquet is not None:
            write_parquet(columns, place / PARQUET)
    if failed:
        failures = {task.fingerprint: found for task, found in failed}
        raise StudyError(
            [(task.run, failures[task.fingerprint]) for task in tasks if task.fingerprint in failures], rows
        )
    return rows


def outcomes_of(rows: Iterable[RunRow], folder: str | os.PathLike[str]) -> list[Outcome]:
    """Return the outcomes that a study with ``keep_outcomes`` has left in its folder."""
    return [load_outcome(Path(folder) / OUTCOMES / f"{row.fingerprint}.npz") for row in rows]


def _prepared(runs: Iterable[StudyRun], folder: Path, keep: bool) -> list[Task]:
    """Return a task for every different run; each workload and cluster is read once, here, for all runs."""
    workloads: dict[str, tuple[Workload, str]] = {}
    clusters: dict[str, Cluster] = {}
    tasks: dict[str, Task] = {}
    for run in runs:
        if run.cluster not in clusters:
            clusters[run.cluster] = cluster_from(run.cluster)
        if run.workload not in workloads:
            workload = read_workload(run.workload)
            workloads[run.workload] = workload, workload_digest(workload)
        (workload, digest), cluster = workloads[run.workload], clusters[run.cluster]
        workload.check_fits(cluster)
        key = fingerprint_of(run, digest, cluster)
        bad = str(folder.absolute() / BAD_ROUNDS / key)
        task = Task(run=run, fingerprint=key, workload=workload, cluster=cluster, bad_rounds=bad, keep=keep)
        tasks.setdefault(key, task)
    return list(tasks.values())
