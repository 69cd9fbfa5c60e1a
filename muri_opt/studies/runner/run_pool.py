"""Doing the runs of a study: as many at a time as there is room for, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Literal, TypeVar

from muri_opt.errors import InputError
from muri_opt.solve.solvers.process import WorkerError
from muri_opt.studies.runner.executors import Executor

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Told how many runs are over, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why a run found nothing: its ``policy`` decided badly, or there was another ``error``."""

    cause: Literal["policy", "error"]
    message: str


def do_runs(
    left: Sequence[T],
    run: Callable[[T], R | Failed],
    keep: Callable[[T, R], None],
    executor: Executor,
    *,
    before: int,
    progress: Progress | None,
) -> list[tuple[T, Failed]]:
    """Do what is left of a study, of which ``before`` runs are over; return the runs that failed.

    ``keep`` is called here with whatever ``run`` finds out there, before another run begins. Input that only a run can
    see to be bad is raised.
    """
    failures: list[tuple[T, Failed]] = []
    running: dict[Future[R | Failed], T] = {}
    tell = progress or _quiet
    over, total, queue = before, before + len(left), iter(left)
    tell(over, total)
    while True:
        while len(running) < executor.slots and (task := next(queue, None)) is not None:
            running[executor.submit(run, task)] = task
        if not running:
            return failures
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task = running.pop(future)
            found = _found(future)
            if isinstance(found, Failed):
                failures.append((task, found))
            else:
                keep(task, found)
            over += 1
            tell(over, total)


def _found(future: Future[R | Failed]) -> R | Failed:
    try:
        return future.result()
    except InputError:
        raise
    except WorkerError:
        return Failed(cause="error", message="its process died before it was done")
    except Exception as error:  # runs say themselves what went wrong, so this is of whoever did them
        return Failed(cause="error", message=f"{type(error).__name__}: {error}")


def _quiet(over: int, total: int) -> None:
    """Tell nobody."""
