"""Text files that people hand in, read whole or refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from muri_opt.errors import InputError

MOST_BYTES: Final = 1 << 26


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """Return the text of a file, or refuse one that cannot be read; ``what`` says what it should hold."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError("file", found, f"a readable file of {what}") from None
    if len(data) > MOST_BYTES:
        raise InputError("file", f"more than {MOST_BYTES:,} bytes", f"at most {MOST_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("file", "text that is not UTF-8", "text in UTF-8") from None
