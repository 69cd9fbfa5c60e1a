"""Text files that people hand in, read whole or refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from muri_opt.errors import InputError

MOST_BYTES: Final = 1 << 26


def read_text(path: str | os.PathLike[str], what: str, most_bytes: int | None = None) -> str:
    """Return the text of a file, or refuse one that cannot be read; ``what`` says what it should hold."""
    most = MOST_BYTES if most_bytes is None else most_bytes
    try:
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError("file", found, f"a readable file of {what}") from None
    if len(data) > most:
        raise InputError("file", f"more than {most:,} bytes", f"at most {most:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("file", f"text that is not UTF-8 in line {line}", "text in UTF-8") from None


@contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in every error."""
    try:
        yield
    except InputError as error:
        place = str(path) if error.field == "file" else f"{path}: {error.field}"
        raise InputError(place, error.found, error.allowed) from None
