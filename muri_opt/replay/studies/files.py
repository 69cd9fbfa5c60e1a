"""The folder of a study of replays: a line for every run that is done, and what became of every job if it is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from muri_opt.replay.studies.runs import Finished, RunRow, Task
from muri_opt.studies.runner.atomic_write import replace_file
from muri_opt.studies.runner.results_log import StudyLine, StudyLines, opened_lines

STUDY_FORMAT: Final = "muri-opt/study/1"
OUTCOMES: Final = "outcomes"
BAD_ROUNDS: Final = "bad-rounds"


class ReplayLine(StudyLine, frozen=True, kw_only=True):
    """A replay that is done; ``run`` is for readers, the fingerprint is what counts."""

    run: dict[str, Any]
    figures: dict[str, int | float]
    run_seconds: float


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """What is done already, and how more is added. Only one study at a time has it open."""

    lines: StudyLines[ReplayLine]

    def row(self, task: Task) -> RunRow | None:
        """Return the row of a run that is done, and whose outcome is there where it is to be kept."""
        line = self.lines.get(task.fingerprint)
        if line is None or (task.keep and not self.outcome_path(task.fingerprint).is_file()):
            return None
        return RunRow(
            run=task.run,
            fingerprint=task.fingerprint,
            figures=line.figures,
            run_seconds=line.run_seconds,
            notes=task.workload.notes,
        )

    def add(self, task: Task, found: Finished) -> None:
        """Write down that a run is done; when this returns, no kill can undo it."""
        if found.outcome is not None:
            path = self.outcome_path(task.fingerprint)
            path.parent.mkdir(exist_ok=True)
            replace_file(path, found.outcome)
        line = ReplayLine(
            fingerprint=task.fingerprint,
            run=asdict(task.run),
            figures=dict(found.figures),
            run_seconds=found.run_seconds,
        )
        self.lines.add(line)

    def outcome_path(self, fingerprint: str) -> Path:
        """Return where the outcome of a run is kept."""
        return self.lines.folder / OUTCOMES / f"{fingerprint}.npz"


@contextmanager
def opened(folder: str | os.PathLike[str]) -> Iterator[StudyFolder]:
    """Open the folder of a study of replays, made if need be, for this process alone."""
    with opened_lines(folder, STUDY_FORMAT, ReplayLine) as lines:
        yield StudyFolder(lines)
