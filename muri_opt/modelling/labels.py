"""Labels that every file format and every solver can read as a name."""

from __future__ import annotations

import re
from typing import Final

from muri_opt.errors import InputError

_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_LP_WORD = re.compile(
    r"bin|binar(y|ies)|bounds?|end|free|gen|generals?|int|integers?|max|maxim(ise|ize|um)|min|minim(ise|ize|um)|obj|sec"
    r"|semi|sos[12]?|st|subject|such"
)
_NUMBERS: Final = ("inf", "nan")


def check_label(label: str, *, alone: bool) -> None:
    """Refuse a label that cannot be a name in a file; ``alone``, without subscripts, it must be no word of a format."""
    word = label.lower()
    if not _LABEL.fullmatch(label) or (alone and _LP_WORD.fullmatch(word)):
        raise InputError(
            "label", repr(label), "up to 64 letters, digits and _, a letter first; no word of the LP format"
        )
    if word.startswith(_NUMBERS):
        raise InputError("label", repr(label), "a label that readers do not take for a number")
