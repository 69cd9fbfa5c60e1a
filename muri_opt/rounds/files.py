"""Rounds in files: reading with one clear error, writing without loss."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds.decode_errors import ALLOWED_TEXT, wrong_text, wrong_value
from muri_opt.rounds.error_text import shortened, shown
from muri_opt.rounds.repeated_keys import check_keys
from muri_opt.rounds.round import FORMATS_ALLOWED, ROUND_FORMATS, Format, Round, canonical_json, format_text

MAX_FILE_BYTES = 1 << 30
_PART_BYTES = 1 << 22


class _Header(msgspec.Struct):
    """The one field that says whether the rest is worth reading."""

    format: str


_HEADER = msgspec.json.Decoder(_Header)
_DECODER = msgspec.json.Decoder(Round)


def read_round(path: str | os.PathLike[str]) -> Round:
    """Return the round in the file at ``path``; every fault is one :class:`InputError`.

    >>> write_round(shipped_round("toy/two-gangs"), "round.json")
    >>> read_round("round.json").name
    'toy/two-gangs'
    """
    where = shortened(str(path))
    try:
        with Path(path).open("rb") as file:
            text = _read_all(file)
    except OSError as error:
        raise InputError(where, error.strerror or str(error), "a readable round file") from None
    except ValueError as error:  # a path no file can have
        raise InputError(where, str(error), "the path of a round file") from None
    if text is None:
        raise InputError(where, f"a file of more than {MAX_FILE_BYTES:,} bytes", f"at most {MAX_FILE_BYTES:,} bytes")
    return parse_round(text)


def parse_round(text: bytes | bytearray | str) -> Round:
    """Return the round that the JSON ``text`` holds.

    >>> text = '{"format": "muri-opt/round/1", "cluster": {"nodes": [{"id": "n0", "gpus": 2}]}, "jobs": []}'
    >>> parse_round(text).cluster.total_gpus
    2
    """
    try:
        data = text.encode() if isinstance(text, str) else text
        found = _HEADER.decode(data).format
        if found not in ROUND_FORMATS:
            raise InputError("format", shown(found), FORMATS_ALLOWED)
        round_ = _of_format(_DECODER.decode(data), found)
        check_keys(data, "round", {"jobs": msgspec.json.encode(round_.jobs)})
        return round_
    except msgspec.ValidationError as error:
        raise wrong_value(error, data) from None
    except msgspec.DecodeError as error:
        raise wrong_text(error, data) from None
    except UnicodeError as error:
        raise InputError("round", f"text that is not UTF-8 ({shortened(str(error))})", ALLOWED_TEXT) from None
    except RecursionError:
        raise InputError("round", "JSON nested too deep", "the nesting of the round format") from None


def _of_format(round_: Round, said: str) -> Round:
    """Return the round, or refuse one that says what its format does not have."""
    if round_.format != said == ROUND_FORMATS[0]:
        field, where = next(iter(round_.used_fields.items()))
        raise InputError("format", f"{said!r} with {field} in {where}", f"{round_.format!r} for this field")
    return round_


def write_round(round_: Round, path: str | os.PathLike[str]) -> None:
    """Write ``round_`` so that reading the file gives an equal round; the same round always gives the same bytes.

    >>> write_round(shipped_round("toy/two-gangs"), "round.json")
    >>> read_round("round.json") == shipped_round("toy/two-gangs")
    True
    """
    Path(path).write_bytes(indented(canonical_json(round_)))


def indented(text: bytes) -> bytes:
    """Return compact text as files have it."""
    return msgspec.json.format(text, indent=1) + b"\n"


def in_format(round_: Round, format_: Format) -> bytes:
    """Return the text of a file of the round in one of the formats, or refuse one that cannot say what it says."""
    if format_ == ROUND_FORMATS[0] and round_.used_fields:
        field, where = next(iter(round_.used_fields.items()))
        raise InputError("format", f"{format_!r} for {field} in {where}", f"{ROUND_FORMATS[1]!r} for this field")
    return indented(format_text(round_, format_))


def _read_all(file: BinaryIO) -> bytearray | None:
    """Return all of ``file``, or ``None`` where it is too large, which a pipe or a device does not say beforehand."""
    text = bytearray()
    size = os.fstat(file.fileno()).st_size
    while size <= MAX_FILE_BYTES and (part := file.read(_PART_BYTES)):
        text += part
        size = len(text)
    return text if size <= MAX_FILE_BYTES else None
