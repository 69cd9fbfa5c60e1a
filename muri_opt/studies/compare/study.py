"""``compare()``: rounds under policies by methods, on many cores; a kill can only interrupt it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from muri_opt.rounds import Limits
from muri_opt.studies.compare.check_stored import check_stored
from muri_opt.studies.compare.choose import STORED, chosen_methods, chosen_policies
from muri_opt.studies.compare.rows import CompareRow
from muri_opt.studies.compare.runs import Found, Task, fingerprint_of, run_task
from muri_opt.studies.compare.sources import rounds_from
from muri_opt.studies.compare.summary import summary_of
from muri_opt.studies.runner.atomic_write import replace_file
from muri_opt.studies.runner.executors import Engine, executor_of
from muri_opt.studies.runner.result_tables import CSV, MARKDOWN, PARQUET, columns_from, parquet_writer, write_csv
from muri_opt.studies.runner.results_log import StudyLine, opened_lines
from muri_opt.studies.runner.run_pool import Progress, do_runs

COMPARISON_FORMAT: Final = "muri-opt/comparison/1"
DEFAULT_METHODS: Final = ("heuristic", "exact@cp-sat", "exact@highs")
_REALS: Final = ("gap", "solve_seconds")


class CompareLine(StudyLine, frozen=True, kw_only=True):
    """A run that is done; what was run is for readers, the fingerprint is what counts."""

    instance: str
    policy: str
    method: str
    found: Found


def compare(
    sources: Iterable[str],
    *,
    folder: str | os.PathLike[str],
    policies: Iterable[str] = (STORED,),
    methods: Iterable[str] = DEFAULT_METHODS,
    seconds: float | None = None,
    work: float | None = None,
    gap: float = 0.0,
    engine: Engine = "processes",
    jobs: int | None = None,
    parquet: bool = False,
    library: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> list[CompareRow]:
    """Return a row for every round, policy and method in this order; what ``folder`` has already is not done again.

    Sources are texts as :func:`rounds_from` takes them, policies as :func:`chosen_policies`; ``seconds``, ``work`` and
    ``gap`` limit each solve as in :class:`Limits`. Bad input is raised before anything runs, and so is a stored optimum
    of the library that does not verify (:class:`StoredOptimumError`). A run is written to the folder when it is done,
    so whatever ends a study costs at most the runs under way. Runs that failed have a row that says so, and are tried
    again next time. The folder then holds all rows of this study as ``results.csv``, as ``results.parquet`` if asked
    for, and ``comparison.md``.
    """
    write_parquet = parquet_writer(_REALS) if parquet else None
    place = Path(folder)
    limits = Limits(work=work, gap=gap)
    if seconds is not None:
        limits = limits.with_seconds(seconds)
    tasks = _tasks(sources, policies, methods, limits, library)
    with closing(executor_of(engine, jobs)) as executor, opened_lines(place, COMPARISON_FORMAT, CompareLine) as lines:

        def keep(task: Task, found: Found) -> None:
            what = {"instance": task.instance, "policy": task.policy, "method": task.method}
            lines.add(CompareLine(fingerprint=task.fingerprint, found=found, **what))

        left = [task for task in tasks if lines.get(task.fingerprint) is None]
        failures = do_runs(left, run_task, keep, executor, before=len(tasks) - len(left), progress=progress)
        failed = {task.fingerprint: task.failed(why) for task, why in failures}
        rows = []
        for task in tasks:
            line = lines.get(task.fingerprint)
            rows.append(failed[task.fingerprint] if line is None else task.row(line.found))
        columns = columns_from([row.as_dict() for row in rows])
        write_csv(columns, place / CSV)
        replace_file(place / MARKDOWN, summary_of(rows).markdown().encode())
        if write_parquet is not None:
            write_parquet(columns, place / PARQUET)
    return rows


def _tasks(
    sources: Iterable[str],
    policies: Iterable[str],
    methods: Iterable[str],
    limits: Limits,
    library: str | os.PathLike[str] | None,
) -> list[Task]:
    """Return a task for every round, policy and method, after the stored optima among them are verified."""
    chosen = chosen_policies(policies, rounds_from(sources, library))
    ways = chosen_methods(methods)
    check_stored(chosen)
    return [
        Task(
            instance=named.name,
            round=named.round,
            policy=policy,
            method=method,
            limits=limits,
            fingerprint=fingerprint_of(named.round, policy, method, limits),
            known=next((one for one in named.optima if one.policy == policy), None),
        )
        for named, specs in chosen
        for policy in specs
        for method in ways
    ]
