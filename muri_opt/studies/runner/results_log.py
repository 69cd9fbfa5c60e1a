"""The results of a study as a file: a line of JSON for every run that is done, safe against a kill at any moment."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Generic, TypeVar

import msgspec

from muri_opt import __version__
from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown

LINES: Final = "results.jsonl"


class StudyLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is done, known by its fingerprint; a kind of study adds what it found."""

    fingerprint: str


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str
    version: str


Line = TypeVar("Line", bound=StudyLine)

_HEADER: Final = msgspec.json.Decoder(_Header)


@dataclass(slots=True, kw_only=True)
class StudyLines(Generic[Line]):
    """The lines of a study by their fingerprints, and how more are added. Only one study at a time has them open."""

    folder: Path
    _file: BinaryIO
    _lines: dict[str, Line] = field(default_factory=dict)

    def get(self, fingerprint: str) -> Line | None:
        """Return the line of a run that is done."""
        return self._lines.get(fingerprint)

    def add(self, line: Line) -> None:
        """Write down that a run is done; when this returns, no kill can undo it."""
        _append(self._file, line)
        self._lines[line.fingerprint] = line


@contextmanager
def opened_lines(folder: str | os.PathLike[str], format_: str, kind: type[Line]) -> Iterator[StudyLines[Line]]:
    """Open the results in a folder, made if need be, for this process alone.

    The end of a line that a kill has torn off is dropped, and its run is done again. Results of another format or
    version are refused: they would be mixed up with those of this one.
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
        yield StudyLines(folder=path, _file=file, _lines=_read(file, lines, format_, kind))


def _read(file: BinaryIO, path: Path, format_: str, kind: type[Line]) -> dict[str, Line]:
    """Return the lines by their fingerprints; a run that was repeated has its last one."""
    file.seek(0)
    data = file.read()
    whole = data.rfind(b"\n") + 1
    first, *lines = data[:whole].split(b"\n")[:-1] or [b""]
    if not first:
        file.truncate(0)
        _append(file, _Header(format=format_, version=__version__))
        return {}
    _check_header(first, path, format_)
    decoder = msgspec.json.Decoder(kind)
    found = [_line(decoder, text, path, number) for number, text in enumerate(lines, start=2)]
    file.truncate(whole)
    return {line.fingerprint: line for line in found}


def _check_header(text: bytes, path: Path, format_: str) -> None:
    try:
        header = _HEADER.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        raise InputError(f"{path}: line 1", shown(text[:60]), f"the results of a study, {format_!r}") from None
    if header.format != format_:
        raise InputError(f"{path}: format", shown(header.format), repr(format_))
    if header.version != __version__:
        remedy = f"those of version {__version__}; give another folder, or remove this file to run all again"
        raise InputError(str(path), f"results of version {shown(header.version)}", remedy)


def _line(decoder: msgspec.json.Decoder[Line], text: bytes, path: Path, number: int) -> Line:
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        remedy = "a result as a line of JSON; remove the line and its run is done again"
        raise InputError(f"{path}: line {number}", shown(text[:60]), remedy) from None


def _append(file: BinaryIO, line: msgspec.Struct) -> None:
    file.write(msgspec.json.encode(line) + b"\n")
    file.flush()
    os.fsync(file.fileno())
