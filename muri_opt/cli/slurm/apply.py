"""Carry a plan out in batches: what has changed since it was made is left alone, and every step is a line of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TextIO

from muri_opt.cli.output import drop_output
from muri_opt.cli.slurm.cluster import Source
from muri_opt.cli.slurm.plan import SlurmPlan, Start, may_start, release
from muri_opt.errors import InputError

BATCH: Final = 50
Run = Callable[[Sequence[str]], str | None]


class LogLost(InputError):  # noqa: N818 - what is raised is a refusal
    """The output takes no more lines."""


class Applying:
    """Gives commands to Slurm by ``run`` and writes a line to ``log`` for each.

    Where the log takes no more lines, jobs that were given nodes are released all the same before :meth:`apply` ends.
    """

    def __init__(self, source: Source, partitions: Collection[str], run: Run, log: TextIO) -> None:
        self._source, self._partitions, self._run, self._log = source, partitions, run, log
        self._lost: OSError | None = None

    def apply(self, plan: SlurmPlan) -> tuple[str, ...]:
        """Start the jobs of a plan, and return which of them were released."""
        done = list[str]()
        for begins in range(0, len(plan.starts), BATCH):
            done += self._batch(plan.starts[begins : begins + BATCH])
            self.check_log()
        return tuple(done)

    def check_log(self) -> None:
        """Refuse to go on where nobody can be told of it."""
        if self._lost is not None:
            drop_output()
            found = self._lost.strerror or str(self._lost)
            raise LogLost("standard output", found, "an output that takes a line for each step")

    def note(self, what: str, **fields: Any) -> None:
        """Write one line."""
        line = {"time": round(time.time(), 3), "do": what, **fields}
        try:
            self._log.write(json.dumps(line) + "\n")
            self._log.flush()
        except OSError as error:
            self._lost = error

    def _batch(self, starts: Sequence[Start]) -> list[str]:
        """Start some jobs, those that are still held as when the plan was made."""
        records = self._source.read().records
        placed = list[Start]()
        for start in starts:
            if not may_start(records.get(start.job), self._partitions):
                self.note("leave", job=start.job, why="it is no longer held by its user, or is gone")
                continue
            complaint = self._run(start.place)
            self.note("place", job=start.job, nodes=list(start.nodes), complaint=complaint)
            if complaint is None:
                placed.append(start)
        if not placed:
            return []
        complaint = self._run(release(placed))
        self.note("release", jobs=[start.job for start in placed], complaint=complaint)
        return [] if complaint is not None else [start.job for start in placed]
