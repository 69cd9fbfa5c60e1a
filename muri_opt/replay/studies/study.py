"""``run_study()``: many replays, on many cores, that a kill can only interrupt."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from pathlib import Path
from typing import Final

from muri_opt.backends.worker import WorkerError
from muri_opt.instance import Cluster
from muri_opt.replay.outcome import Outcome
from muri_opt.replay.studies.cluster_text import cluster_from
from muri_opt.replay.studies.executors import Executor, executor_of
from muri_opt.replay.studies.files import BAD_ROUNDS, OUTCOMES, StudyFolder, opened
from muri_opt.replay.studies.outcome_files import load_outcome
from muri_opt.replay.studies.runs import (
    Failed,
    Finished,
    RunRow,
    StudyRun,
    Task,
    fingerprint_of,
    run_task,
    workload_digest,
)
from muri_opt.replay.studies.tables import parquet_writer, write_csv, write_markdown
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.files import read_workload

CSV: Final = "results.csv"
PARQUET: Final = "results.parquet"
MARKDOWN: Final = "comparison.md"

Progress = Callable[[int, int], None]
"""Told how many runs are over, and of how many."""


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
    engine: str = "processes",
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
    write_parquet = parquet_writer() if parquet else None
    place = Path(folder)
    tasks = _prepared(runs, place, keep_outcomes)
    with closing(executor_of(engine, jobs)) as executor, opened(place) as study:
        failures = _done(tasks, study, executor, progress or _quiet)
        rows = [row for row in map(study.row, tasks) if row is not None]
        write_csv(rows, place / CSV)
        write_markdown(rows, place / MARKDOWN)
        if write_parquet is not None:
            write_parquet(rows, place / PARQUET)
    if failures:
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


def _done(tasks: Sequence[Task], study: StudyFolder, executor: Executor, progress: Progress) -> dict[str, Failed]:
    """Do what is left to do, as many runs at a time as there is room for; return the failures by fingerprint."""
    left = [task for task in tasks if study.row(task) is None]
    failures: dict[str, Failed] = {}
    running: dict[Future[Finished | Failed], Task] = {}
    over, queue = len(tasks) - len(left), iter(left)
    progress(over, len(tasks))
    while True:
        while len(running) < executor.slots and (task := next(queue, None)) is not None:
            running[executor.submit(run_task, task)] = task
        if not running:
            return failures
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task = running.pop(future)
            found = _found(future)
            if isinstance(found, Failed):
                failures[task.fingerprint] = found
            else:
                study.add(task, found)
            over += 1
            progress(over, len(tasks))


def _found(future: Future[Finished | Failed]) -> Finished | Failed:
    try:
        return future.result()
    except WorkerError:
        return Failed(cause="error", message="its process died before it was done")


def _quiet(over: int, total: int) -> None:
    """Tell nobody."""
