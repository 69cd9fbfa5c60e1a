"""The journal of a session: a line for every event, safe against a kill at any byte.

A line is the CRC-32 of its JSON text in eight hexadecimal digits, a space, and the text. The first is the header. The
end of a line that a kill has torn off is dropped when the journal is opened again: its event had not been answered.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.limits import Limits
from muri_opt.solve.session.events import AnyEvent, Event, Snapshot

FORMAT: Final = "muri-opt/journal/1"


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: how the session decides."""

    format: str
    policy: str
    method: str
    limits: Limits


_HEADER: Final = msgspec.json.Decoder(Header)
_EVENT: Final = msgspec.json.Decoder(AnyEvent)


class Journal:
    """A journal that is open for this process alone; what :meth:`append` returns from, no kill can undo."""

    def __init__(self, path: Path, file: BinaryIO, header: Header, events: Sequence[Event] = ()) -> None:
        self.path, self.header, self.events = path, header, events
        self.size, self.start = 0, 0
        """Bytes in the file, and those up to the first event that is no snapshot."""
        self._file = file

    @classmethod
    def create(cls, path: str | os.PathLike[str], header: Header, start: Snapshot) -> Journal:
        """Begin a journal; a file that is there already is refused."""
        where = Path(path)
        try:
            file = where.open("x+b")
        except FileExistsError:
            allowed = "a new file; Session.resume() goes on with a journal that is there"
            raise InputError("journal", f"{where}, which exists", allowed) from None
        except OSError as error:
            raise InputError("journal", error.strerror or str(error), "a file that can be written") from None
        _lock(file, where)
        journal = cls(where, file, header)
        journal._begin(start)
        _sync_folder(where)
        return journal

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Journal:
        """Open a journal that is there, with all its ``events``."""
        where = Path(path)
        try:
            file = where.open("r+b")
        except OSError as error:
            raise InputError("journal", error.strerror or str(error), "the journal of a session") from None
        _lock(file, where)
        try:
            return cls._read(where, file)
        except BaseException:
            file.close()
            raise

    @classmethod
    def _read(cls, where: Path, file: BinaryIO) -> Journal:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        lines = _texts(data[:whole], where)
        header = _header(next(lines, b""), where)
        events = [_event(text, where, number) for number, text in enumerate(lines, start=2)]
        if not events:
            raise InputError(f"{where}: line 2", "nothing", "a whole journal: this one was cut off as it was begun")
        file.truncate(whole)
        file.seek(whole)
        journal = cls(where, file, header, events)
        journal.size, journal.start = whole, data.index(b"\n", data.index(b"\n") + 1) + 1
        return journal

    def append(self, event: Event) -> None:
        """Write an event down; where that fails, the journal is as it was."""
        self._write(_line(event))

    def compact(self, now: Snapshot) -> None:
        """Put what is known in place of all events, in a file that takes the journal's place at once."""
        beside = self.path.with_name(f".{self.path.name}.part")
        file = beside.open("w+b")
        try:
            _lock(file, self.path)
            fresh = Journal(beside, file, self.header)
            fresh._begin(now)
            beside.replace(self.path)
        except BaseException:
            file.close()
            beside.unlink(missing_ok=True)
            raise
        _sync_folder(self.path)
        self._file.close()
        self._file, self.size, self.start = file, fresh.size, fresh.start

    def close(self) -> None:
        """Let another process have the journal."""
        self._file.close()

    def _begin(self, start: Snapshot) -> None:
        self._write(_line(self.header) + _line(start))
        self.start = self.size

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            self._file.seek(self.size)
            self._file.truncate(self.size)
            raise
        self.size += len(data)


def _line(content: Header | Event) -> bytes:
    text = msgspec.json.encode(content)
    return b"%08x %s\n" % (crc32(text), text)


def _texts(data: bytes, where: Path) -> Iterator[bytes]:
    """Yield the JSON text of each whole line, refusing one that is not as it was written."""
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        check, _, text = line.partition(b" ")
        if check != b"%08x" % crc32(text):
            raise InputError(f"{where}: line {number}", shown(line[:60]), "a line as a session wrote it")
        yield text


def _header(text: bytes, where: Path) -> Header:
    try:
        header = _HEADER.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        raise InputError(f"{where}: line 1", shown(text[:60]), f"the journal of a session, {FORMAT!r}") from None
    if header.format != FORMAT:
        raise InputError(f"{where}: format", shown(header.format), repr(FORMAT))
    return header


def _event(text: bytes, where: Path, number: int) -> Event:
    try:
        event: Event = _EVENT.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"{where}: line {number}", str(error), f"an event of {FORMAT!r}") from None
    return event


def _lock(file: BinaryIO, where: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError("journal", f"{where}, which another process has open", "a journal for each session") from None


def _sync_folder(path: Path) -> None:
    """Make sure that the name of a file outlives a loss of power, too."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
