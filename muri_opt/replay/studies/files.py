"""The folder of a study: a line of JSON for every run that is done, safe against a kill at any moment."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from muri_opt import __version__
from muri_opt.errors import InputError
from muri_opt.instance.wording import shown
from muri_opt.replay.studies.outcome_files import replace_file
from muri_opt.replay.studies.runs import Finished, RunRow, Task

STUDY_FORMAT: Final = "muri-opt/study/1"
LINES: Final = "results.jsonl"
OUTCOMES: Final = "outcomes"
BAD_ROUNDS: Final = "bad-rounds"


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str
    version: str


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is done; ``run`` is for readers, the fingerprint is what counts."""

    fingerprint: str
    run: dict[str, Any]
    figures: dict[str, int | float]
    run_seconds: float


_HEADER: Final = msgspec.json.Decoder(_Header)
_LINE: Final = msgspec.json.Decoder(_Line)


@dataclass(slots=True, kw_only=True)
class StudyFolder:
    """What is done already, and how more is added. Only one study at a time has it open."""

    path: Path
    _file: BinaryIO
    _lines: dict[str, _Line] = field(default_factory=dict)

    def row(self, task: Task) -> RunRow | None:
        """Return the row of a run that is done, and whose outcome is there where it is to be kept."""
        line = self._lines.get(task.fingerprint)
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
        line = _Line(
            fingerprint=task.fingerprint,
            run=asdict(task.run),
            figures=dict(found.figures),
            run_seconds=found.run_seconds,
        )
        _append(self._file, line)
        self._lines[task.fingerprint] = line

    def outcome_path(self, fingerprint: str) -> Path:
        """Return where the outcome of a run is kept."""
        return self.path / OUTCOMES / f"{fingerprint}.npz"


@contextmanager
def opened(folder: str | os.PathLike[str]) -> Iterator[StudyFolder]:
    """Open the folder of a study, made if need be, for this process alone.

    The end of a line that a kill has torn off is dropped, and its run is done again. Results of another version are
    refused: they would be mixed up with those of this one.
    """
    path = Path(folder)
    lines = path / LINES
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = lines.open("a+b")
    except OSError as error:
        raise InputError(str(folder), error.strerror or str(error), "a folder that can be written") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(str(folder), "a study that runs now", "a folder of its own for every study") from None
        yield StudyFolder(path=path, _file=file, _lines=_read(file, lines))


def _read(file: BinaryIO, path: Path) -> dict[str, _Line]:
    """Return the lines by their fingerprints; a run that was repeated has its last one."""
    file.seek(0)
    data = file.read()
    whole = data.rfind(b"\n") + 1
    first, *lines = data[:whole].split(b"\n")[:-1] or [b""]
    if not first:
        file.truncate(0)
        _append(file, _Header(format=STUDY_FORMAT, version=__version__))
        return {}
    _check_header(first, path)
    found = [_line(text, path, number) for number, text in enumerate(lines, start=2)]
    file.truncate(whole)
    return {line.fingerprint: line for line in found}


def _check_header(text: bytes, path: Path) -> None:
    try:
        header = _HEADER.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        raise InputError(f"{path}: line 1", shown(text[:60]), f"the results of a study, {STUDY_FORMAT!r}") from None
    if header.format != STUDY_FORMAT:
        raise InputError(f"{path}: format", shown(header.format), repr(STUDY_FORMAT))
    if header.version != __version__:
        remedy = f"those of version {__version__}; give another folder, or remove this file to run all again"
        raise InputError(str(path), f"results of version {shown(header.version)}", remedy)


def _line(text: bytes, path: Path, number: int) -> _Line:
    try:
        return _LINE.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        remedy = "a result as a line of JSON; remove the line and its run is done again"
        raise InputError(f"{path}: line {number}", shown(text[:60]), remedy) from None


def _append(file: BinaryIO, line: _Header | _Line) -> None:
    file.write(msgspec.json.encode(line) + b"\n")
    file.flush()
    os.fsync(file.fileno())
