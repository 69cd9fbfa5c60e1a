"""Keys that an object of JSON has more than once: a decoder takes the last value and says nothing of the others.

A text of which it is quickly known that no key is repeated is not looked at further: written anew from what was read
of it, it has as many colons as before. Only where that is not so is every object looked at, key by key.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.long_numbers import long_numbers

_ESCAPED: Final = b"\\u003"
"""Begins a colon that is written as an escape, and would be counted after reading only."""
_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Repeating(dict[str, Any]):
    """An object with a repeated key, and the pairs as they are in the text."""

    pairs: list[tuple[str, Any]]


def check_keys(data: bytes | bytearray, name: str, parts: Mapping[str, bytes] | None = None) -> None:
    """Refuse a text in which an object has a key more than once; ``name`` is what the whole text is called.

    ``parts`` are values of the whole text that need no look of their own, each as text: what was read of it and written
    anew with nothing that was not read, or what somebody else looks at. What is no JSON raises as ``msgspec`` does.

    >>> check_keys(b'{"jobs": [{"id": "a", "gpus": 2, "gpus": 8}]}', "round")
    Traceback (most recent call last):
    ...
    muri_opt.errors.InputError: jobs[0] ('a'): found the key 'gpus' twice (2, 8); allowed: each key once
    """
    if (parts and _once_beside(data, parts)) or _once(data):
        return
    found = _first_repeating(data)
    if found is None:
        return
    path, pairs = found
    key, count = next((key, count) for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    times = "twice" if count == 2 else f"{count} times"
    values = ", ".join(shown(value) for one, value in pairs if one == key)
    raise InputError(path or name, f"the key {shown(key)} {times} ({values})", "each key once")


def _once_beside(data: bytes | bytearray, parts: Mapping[str, bytes]) -> bool:
    """Return whether it is quickly known that no key is repeated, where ``parts`` are known."""
    rest = _PARTS.decode(data)
    known = 0
    for name, text in parts.items():
        known += text.count(b":") + (rest.pop(name, None) is not None)
    left = _colons_again(msgspec.json.encode(rest))
    return left is not None and left + known == data.count(b":") and _ESCAPED not in data


def _once(data: bytes | bytearray) -> bool:
    """Return whether it is quickly known that no key is repeated."""
    return _colons_again(data) == data.count(b":") and _ESCAPED not in data


def _colons_again(data: bytes | bytearray) -> int | None:
    """Return the colons of a text that is written anew, or ``None`` where it is not read without declared types."""
    try:
        return msgspec.json.encode(msgspec.json.decode(data)).count(b":")
    except msgspec.ValidationError:  # very long numbers
        return None


def _first_repeating(data: bytes | bytearray) -> tuple[str, list[tuple[str, Any]]] | None:
    """Return the place and the pairs of the first object with a repeated key."""
    try:
        with long_numbers():
            whole = json.loads(data, object_pairs_hook=_object)
    except ValueError:  # another reader will say what is wrong
        return None
    open_: list[tuple[str, Any]] = [("", whole)]
    while open_:
        path, one = open_.pop()
        if isinstance(one, _Repeating):
            return path, one.pairs
        open_ += reversed(_parts(path, one))
    return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating = _Repeating(found)
    repeating.pairs = pairs
    return repeating


def _parts(path: str, one: Any) -> list[tuple[str, Any]]:
    """Return the parts of an object or a list that may hold objects, each with its path."""
    if isinstance(one, dict):
        parts = [(f"{path}.{key}" if path else key, part) for key, part in one.items()]
    elif isinstance(one, list):
        parts = [(f"{path}[{place}]{_label(part)}", part) for place, part in enumerate(one)]
    else:
        parts = []
    return [(where, part) for where, part in parts if isinstance(part, (dict, list))]


def _label(part: Any) -> str:
    name = part.get("id") if isinstance(part, dict) else None
    return f" ({shown(name)})" if isinstance(name, str) and name else ""
