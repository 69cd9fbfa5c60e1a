"""The journal of a session: a line for every event, safe against a kill at any byte.

A line is a check of eight hexadecimal digits, a space, and its JSON text. The check is the CRC-32 of all texts up to
its own, so that a line that was changed, lost, moved or doubled is found. The first line is the header. A last line
that a kill has torn off is dropped when the journal is opened again: its event had not been answered.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.limits import Limits
from muri_opt.solve.session.event import Event
from muri_opt.solve.session.events import AnyEvent, Snapshot

FORMAT: Final = "muri-opt/journal/1"
_CHECK_BYTES: Final = 9
"""Of a line before its text."""
_CHECK: Final = re.compile(rb"[0-9a-f]{0,8}|[0-9a-f]{8} ")
_BEGINS: Final = b'{"format":"muri-opt/journal/'


class _Format(msgspec.Struct, frozen=True):
    """What the first line says in every format."""

    format: str


class Header(_Format, frozen=True, kw_only=True):
    """The first line: how the session decides."""

    policy: str
    method: str
    limits: Limits


_FORMAT: Final = msgspec.json.Decoder(_Format)
_HEADER: Final = msgspec.json.Decoder(Header)
_EVENT: Final = msgspec.json.Decoder(AnyEvent)


class Journal:
    """A journal that is open for this process alone; what :meth:`append` returns from, no kill can undo."""

    def __init__(self, path: Path, file: FileIO, header: Header, events: Sequence[Event] = ()) -> None:
        self.path, self.header, self.events = path, header, events
        self.size, self.start = 0, 0
        """Bytes in the file, and those up to the first event that is no snapshot."""
        self._file, self._check = file, 0

    @classmethod
    def create(cls, path: str | os.PathLike[str], header: Header, start: Snapshot) -> Journal:
        """Begin a journal; a file that is there already is refused, unless a kill cut it off as it was begun."""
        where = Path(path)
        try:
            file = FileIO(where, "r+" if where.exists() and is_cut_off(where) else "x+")
        except FileExistsError:
            allowed = "a new file; Session.resume() goes on with a journal that is there"
            raise InputError("journal", f"{where}, which exists", allowed) from None
        except OSError as error:
            raise InputError("journal", error.strerror or str(error), "a file that can be written") from None
        _lock(file, where)
        file.truncate(0)
        journal = cls(where.resolve(), file, header)
        try:
            journal._begin(start)
        except BaseException:
            file.close()
            where.unlink()
            raise
        _sync_folder(journal.path)
        return journal

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Journal:
        """Open a journal that is there, with all its ``events``."""
        where = Path(path)
        try:
            file = FileIO(where, "r+")
        except OSError as error:
            raise InputError("journal", error.strerror or str(error), "the journal of a session") from None
        _lock(file, where)
        try:
            return cls._read(where, file)
        except BaseException:
            file.close()
            raise

    @classmethod
    def _read(cls, where: Path, file: FileIO) -> Journal:
        data = file.readall()
        if _is_cut_off(data):
            raise InputError(f"{where}: line 2", "nothing", "a whole journal: this one was cut off as it was begun")
        whole = data.rfind(b"\n") + 1
        texts = _texts(data[:whole], where)
        header = _header(next(texts, (0, b""))[1], where)  # another format may have other lines
        lines = list(texts)
        events = [_event(text, where, number) for number, (_, text) in enumerate(lines, start=2)]
        file.truncate(whole)
        file.seek(whole)
        journal = cls(where.resolve(), file, header, events)
        journal.size, journal.start = whole, data.index(b"\n", data.index(b"\n") + 1) + 1
        journal._check = lines[-1][0]
        return journal

    def append(self, event: Event) -> None:
        """Write an event down; where that fails, the journal is as it was."""
        text = _text(event)
        try:
            told = _EVENT.decode(text)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InputError("event", str(error), "what can be read again from a journal") from None
        if told != event:
            raise InputError("event", shown(event), "what can be read again from a journal as it is")
        self._write(text)

    def compact(self, now: Snapshot) -> None:
        """Put what is known in place of all events, in a file that takes the journal's place at once."""
        beside = self.path.with_name(f".{self.path.name}.part")
        file = FileIO(beside, "w+")
        try:
            _lock(file, self.path)
            fresh = Journal(beside, file, self.header)
            fresh._begin(now)
            os.fchmod(file.fileno(), os.fstat(self._file.fileno()).st_mode & 0o777)
            beside.replace(self.path)
        except BaseException:
            file.close()
            beside.unlink(missing_ok=True)
            raise
        before = self._file
        self._file, self.size, self.start, self._check = file, fresh.size, fresh.start, fresh._check
        before.close()
        _sync_folder(self.path)  # last: where that fails, the journal is the new file all the same

    def close(self) -> None:
        """Let another process have the journal."""
        self._file.close()

    def _begin(self, start: Snapshot) -> None:
        self._write(_text(self.header), _text(start))
        self.start = self.size

    def _write(self, *texts: bytes) -> None:
        data, check = bytearray(), self._check
        for text in texts:
            check = crc32(text, check)
            data += b"%08x %s\n" % (check, text)
        try:
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except BaseException:  # also an interrupt: half a line must not stand before the next
            self._file.truncate(self.size)
            self._file.seek(self.size)
            raise
        self.size, self._check = self.size + len(data), check


def is_cut_off(path: Path) -> bool:
    """Return whether a file is a journal that was cut off as it was begun: nobody was told that there is a session."""
    try:
        with path.open("rb") as file:
            return _is_cut_off(file.read())
    except OSError:
        return False


def _is_cut_off(data: bytes) -> bool:
    """Return whether a text is less than the header and the first event of a journal."""
    begins = data[_CHECK_BYTES : _CHECK_BYTES + len(_BEGINS)]
    return data.count(b"\n") < 2 and bool(_CHECK.fullmatch(data[:_CHECK_BYTES])) and _BEGINS.startswith(begins)


def _text(content: Header | Event) -> bytes:
    return msgspec.json.encode(content, enc_hook=_plain)


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python; anything else is none of what events hold."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError("event", shown(value), "numbers, texts and objects of this package")


def _texts(data: bytes, where: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the check and the JSON text of each whole line, refusing one that is not as it was written there."""
    check = 0
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        said, _, text = line.partition(b" ")
        check = crc32(text, check)
        if said != b"%08x" % check:
            allowed = "a line as a session wrote it, after those before it"
            raise InputError(f"{where}: line {number}", shown(line[:60]), allowed)
        yield check, text


def _header(text: bytes, where: Path) -> Header:
    try:
        said = _FORMAT.decode(text).format
        if said != FORMAT:
            raise InputError(f"{where}: format", shown(said), repr(FORMAT))
        return _HEADER.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        raise InputError(f"{where}: line 1", shown(text[:60]), f"the journal of a session, {FORMAT!r}") from None


def _event(text: bytes, where: Path, number: int) -> Event:
    try:
        event: Event = _EVENT.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"{where}: line {number}", str(error), f"an event of {FORMAT!r}") from None
    return event


def _lock(file: FileIO, where: Path) -> None:
    """Take a file for this process, or refuse it: one that is taken, or that another has just written anew."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink:
            return
    except BlockingIOError:
        pass
    except OSError as error:
        file.close()
        raise InputError("journal", error.strerror or str(error), "a file system that can lock files") from None
    file.close()
    raise InputError("journal", f"{where}, which another process has open", "a journal for each session") from None


def _sync_folder(path: Path) -> None:
    """Make sure that the name of a file outlives a loss of power, too."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
