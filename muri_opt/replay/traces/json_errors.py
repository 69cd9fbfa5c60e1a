"""What a decoder refused in a log of jobs, said again for people: line, job, field, what was found, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shortened, shown

ALLOWED_TEXT: Final = "a JSON list of jobs"
_GLANCE: Final = 200
_BEFORE, _AFTER = 25, 15
_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_PLACE: Final = re.compile(r" - at `\$([^`]*)`\Z")
_STEP: Final = re.compile(r"\.(\w+)|\[(\d{1,12})\]")
_EXPECTED: Final = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
_WORDS: Final[Mapping[str, str]] = {
    "str": "a string",
    "str | null": "a string or null",
    "array": "a list",
    "object": "an object",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
}


def wrong_json(error: Exception, text: str) -> InputError:
    """Return the error for a text that is not a JSON list of jobs."""
    if isinstance(error, RecursionError):
        return InputError("file", "JSON nested too deep", ALLOWED_TEXT)
    data = text.encode()
    if isinstance(error, msgspec.ValidationError):
        return _wrong_value(str(error), data)
    return _wrong_text(str(error), data)


def _wrong_text(message: str, data: bytes) -> InputError:
    if not data.strip():
        return InputError("line 1", "an empty file", ALLOWED_TEXT)
    byte = _BYTE.search(message)
    if byte is None:
        end = data.rstrip()
        line = end.count(b"\n") + 1
        what = "the end of the file inside the JSON" if "truncated" in message else f"text that is not JSON ({message})"
        return InputError(f"line {line}", f"{what}, after {_excerpt(end[-_BEFORE:])}", ALLOWED_TEXT)
    at = int(byte[1])
    start = data.rfind(b"\n", 0, at) + 1
    here = _excerpt(data[max(start, at - _BEFORE) : at + _AFTER])
    place = f"line {_line(data, at)}, column {at - start + 1}"
    return InputError(place, f"text that is not JSON in {here}", ALLOWED_TEXT)


def _wrong_value(message: str, data: bytes) -> InputError:
    """Return the error for JSON in which some value is of another type: the place is walked down to show it."""
    named = _PLACE.search(message)
    place, raw = "", Raw(data)
    for field, position in _STEP.findall(named[1]) if named else ():
        if field:
            place, raw = f"{place}.{field}" if place else field, _object(raw).get(field, Raw())
            continue
        found: list[Raw] = _decoded(raw, list[Raw], [])
        raw = found[int(position)] if int(position) < len(found) else Raw()
        place = f"{place}[{position}]" if place else _job_place(int(position), raw, data)
    missing = _MISSING.match(message)
    if missing:
        return InputError(f"{place}.{missing[1]}", "nothing", f"the field {missing[1]} in every such object")
    expected = _EXPECTED.match(message)
    wanted, got = (_WORDS.get(word, word) for word in expected.groups()) if expected else (ALLOWED_TEXT, message)
    seen = _excerpt(bytes(raw)[:_GLANCE]) if bytes(raw) else got  # nothing can be cut out of a text that is no JSON
    return InputError(place or "file", seen, wanted if place else ALLOWED_TEXT)


def _job_place(position: int, raw: Raw, data: bytes) -> str:
    """Return line, number and id of a job; its text occurs first where it is, or an equal one had been refused."""
    line = f"line {_line(data, data.find(bytes(raw)))}: " if bytes(raw) else ""
    name = _decoded(_object(raw).get("jobid", Raw()), str, "")
    return f"{line}job {position + 1}{f' ({shortened(name)})' if name else ''}"


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _excerpt(data: bytes) -> str:
    return shown(" ".join(data.decode(errors="replace").split()))


def _object(raw: Raw) -> dict[str, Raw]:
    found: dict[str, Raw] = _decoded(raw, dict[str, Raw], {})
    return found


def _decoded(text: Raw, kind: Any, otherwise: Any) -> Any:
    """Return the text decoded as ``kind``, or ``otherwise``: after its first fault a file may hold anything."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return otherwise
