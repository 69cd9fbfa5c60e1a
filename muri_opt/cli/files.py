"""Files named on the command line: ``-`` is the standard input, and what is written appears whole or not at all.

A round may also be named as the library names it (``toy/two-gangs``), wherever the command runs; a file goes first.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from muri_opt.errors import InputError

if TYPE_CHECKING:
    from muri_opt.rounds import Result, Round

STANDARD = "-"
_PNG = ".png"


def add_round(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a round, for :func:`round_from`."""
    parser.add_argument(
        "round",
        metavar="ROUND",
        help="the round: a JSON file, - for the standard input, or the name of a shipped one, as toy/two-gangs",
    )


def round_from(name: str) -> Round:
    """Return the round in a file, on the standard input or, where there is no such file, in the shipped library."""
    from muri_opt.rounds import parse_round, read_round

    try:
        if name == STANDARD:
            return parse_round(_standard_input())
        return read_round(name) if os.path.lexists(name) or "\0" in name else _shipped(name)
    except InputError as error:
        raise _in_file(name, error) from None


def _shipped(name: str) -> Round:
    from muri_opt.studies.library import shipped_round, shipped_rounds

    found = shipped_round(name)
    if found is not None:
        return found
    near = get_close_matches(name, shipped_rounds(), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InputError(
        name,
        f"{os.strerror(errno.ENOENT)}, and no shipped round of this name{hint}",
        "a readable round file, or a name that 'muri-opt library' lists, as toy/two-gangs",
    )


def result_from(name: str) -> Result:
    """Return the result in a file or on the standard input; an error names the file."""
    from muri_opt.solve.results import parse_result, read_result

    try:
        return parse_result(_standard_input()) if name == STANDARD else read_result(name)
    except InputError as error:
        raise _in_file(name, error) from None


def check_writable(name: str | None) -> None:
    """Refuse a file that cannot be written, before the work whose answer it is to hold."""
    if name is not None:
        _write(name, None)


def check_picture(name: str | None) -> None:
    """Refuse a picture that cannot be written, or whose name promises a format that nothing draws, before the work."""
    if name is None:
        return
    if Path(name).suffix.lower() not in ("", ".svg", _PNG):
        raise InputError("picture", repr(name), "the name of a picture, ending in .svg or .png")
    if _is_png(name):
        from muri_opt.report.png import check_png

        check_png()
    check_writable(name)


def write_picture(name: str, svg: str) -> None:
    """Write a picture as SVG or, where its name ends so, as PNG; nobody ever sees a part of it."""
    if not _is_png(name):
        write_text(name, svg)
        return
    from muri_opt.report.png import png_of

    _write(name, png_of(svg))


def _is_png(name: str) -> bool:
    return Path(name).suffix.lower() == _PNG


def write_text(name: str, text: str) -> None:
    """Write a file through a temporary one beside it, so that nobody ever sees a part of it."""
    _write(name, text.encode())


def _write(name: str, data: bytes | None) -> None:
    """Write the data, or with ``None`` only see whether it could be written."""
    if name == STANDARD:
        raise InputError("file to write", "'-'", "the name of a file")
    target = Path(os.path.realpath(name))
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "a directory")
        if target.exists() and not target.is_file():
            if data is not None:
                target.write_bytes(data)  # a device or a pipe is written to, never replaced
        else:
            _write_beside(target, data)
    except OSError as error:
        raise InputError(name, error.strerror or str(error), "a file that can be written") from None


def _write_beside(target: Path, data: bytes | None) -> None:
    beside = target.with_name(f".muri-opt.{os.getpid()}.part")
    try:
        with beside.open("xb") as file:
            file.write(data or b"")
        if data is not None:
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _standard_input() -> bytes:
    from muri_opt.rounds.files import MAX_FILE_BYTES

    text = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise InputError("size", f"more than {MAX_FILE_BYTES:,} bytes", f"at most {MAX_FILE_BYTES:,} bytes")
    return text


def _in_file(name: str, error: InputError) -> InputError:
    """Return the error with the file named in full, in front of what is wrong inside it."""
    from muri_opt.rounds.error_text import shortened

    where = "standard input" if name == STANDARD else name
    itself = error.field in (name, shortened(name))
    return InputError(where if itself else f"{where}: {error.field}", error.found, error.allowed)
