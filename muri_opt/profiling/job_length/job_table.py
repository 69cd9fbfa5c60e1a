"""The public job table of AITurbo: one row per training job, with whether its time could be predicted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.csv_rows import Row, csv_rows, number, read_rows
from muri_opt.rounds.quantities import MAX_COUNT, MAX_RATE, MAX_SECONDS, finite, whole


class _Column(NamedTuple):
    field: str
    is_whole: bool = True
    most: float = MAX_COUNT
    needed: bool = True


_COLUMNS: Final = {
    "job type": _Column("kind"),
    "running time": _Column("seconds", is_whole=False, most=MAX_SECONDS),
    "ps": _Column("ps", needed=False),
    "worker": _Column("workers"),
    "epoch": _Column("epochs", needed=False),
    "accuracy": _Column("accuracy", is_whole=False, most=1.0, needed=False),
    "loss": _Column("loss", is_whole=False, most=MAX_RATE, needed=False),
    "gpu": _Column("gpus"),
    "memory": _Column("memory_gb", is_whole=False, most=MAX_RATE, needed=False),
    "cpu": _Column("cpus"),
    "batch size": _Column("batch", needed=False),
    "learning rate": _Column("learning_rate", is_whole=False, most=MAX_RATE, needed=False),
    "step": _Column("steps", needed=False),
    "throughput": _Column("throughput", is_whole=False, most=MAX_RATE, needed=False),
    "resubmit": _Column("repeated"),
    "predictability": _Column("predictable"),
}
_CODES: Final = {"repeated": "0 (repeated) or 1 (first submission)", "predictable": "0 (predictable) or 1 (not)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job of the table; ``None`` where its cell is empty."""

    kind: int
    seconds: float
    workers: int
    gpus: int
    cpus: int
    repeated: bool
    predictable: bool
    ps: int | None
    epochs: int | None
    accuracy: float | None
    loss: float | None
    memory_gb: float | None
    batch: int | None
    learning_rate: float | None
    steps: int | None
    throughput: float | None

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the fields whose cells are empty."""
        return tuple(
            column.field for column in _COLUMNS.values() if not column.needed and getattr(self, column.field) is None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTable:
    """The jobs of a table, and the lines left out because a cell that every job needs is empty."""

    records: tuple[JobRecord, ...]
    left_out: tuple[int, ...]


def read_job_table(path: str | os.PathLike[str]) -> JobTable:
    """Return the jobs in a file; every fault is one :class:`InputError` that names file, line and column."""
    return read_rows(path, "jobs", parse_job_table)


def parse_job_table(text: str) -> JobTable:
    """Return the jobs in the text of a CSV file with the columns of the public table.

    The two codes of the table are inverted: resubmit 0 is a repeated submission, predictability 0 a predictable job.
    An empty cell leaves the row incomplete or, where every job needs it, out; anything else that is no number of its
    column is an error.
    """
    records: list[JobRecord] = []
    left_out: list[int] = []
    for row in csv_rows(text, _COLUMNS):
        if all(name in row.cells for name, column in _COLUMNS.items() if column.needed):
            records.append(JobRecord(**{column.field: _value(row, name) for name, column in _COLUMNS.items()}))
        else:
            left_out.append(row.line)
    return JobTable(records=tuple(records), left_out=tuple(left_out))


def _value(row: Row, name: str) -> Any:
    column = _COLUMNS[name]
    if name not in row.cells:
        return None

    def made(place: str, value: Any) -> Any:
        if column.field in _CODES:
            if value not in (0, 1):
                raise InputError(place, str(value), _CODES[column.field])
            return value == 0
        if column.is_whole:
            return whole(place, value, int(column.most), 1 if column.field in ("kind", "workers") else 0)
        return finite(place, value, column.most)

    return number(row, name, made, is_whole=column.is_whole)
