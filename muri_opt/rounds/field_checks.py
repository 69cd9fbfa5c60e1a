"""Checks of everything in a round that is not a number: names, texts, lists and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown


def text(field: str, value: Any, *, empty: bool = True) -> str:
    """Return ``value`` as a plain ``str`` that a file can hold, or refuse it."""
    if type(value) is str and value.isascii() and (value or empty):
        return value
    if not isinstance(value, str) or not (value or empty):
        raise InputError(field, shown(value), "a string" if empty else "a non-empty string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(field, shown(value), "text that UTF-8 can hold, without half surrogate pairs") from None
    # A subclass, such as numpy's string, cannot be written to a file.
    return value if type(value) is str else str.__str__(value)


def check_name(owner: Any, field: str) -> None:
    """Refuse a name that is not a non-empty string."""
    value = getattr(owner, field)
    plain = text(field, value, empty=False)
    if plain is not value:
        msgspec.structs.force_setattr(owner, field, plain)


def check_texts(owner: Any, *fields: str) -> None:
    """Refuse optional fields that are neither absent nor a string."""
    for field in fields:
        value = getattr(owner, field)
        if value is not None and (plain := text(field, value)) is not value:
            msgspec.structs.force_setattr(owner, field, plain)


def check_names(owner: Any, field: str) -> None:
    """Refuse a field that is not a list of names; store each once, in order: it is a set."""
    value = getattr(owner, field)
    if value == ():
        return
    names = [
        name if type(name) is str and name.isascii() and name else text(f"{field}[{position}]", name, empty=False)
        for position, name in enumerate(items(field, value))
    ]
    msgspec.structs.force_setattr(owner, field, tuple(sorted(set(names))))


def check_word(owner: Any, field: str, words: tuple[str, ...]) -> None:
    """Refuse a field that is none of some words.

    A default is left out of a file by identity, so what is stored is the very word: another of the same letters would
    not be left out.
    """
    value = getattr(owner, field)
    if value is not None:
        value = text(field, value)
    if value not in words:
        raise InputError(field, shown(value), "one of " + ", ".join(map(repr, words)))
    msgspec.structs.force_setattr(owner, field, words[words.index(value)])


def check_kind(field: str, value: Any, kind: type) -> None:
    """Refuse a ``value`` that is not of class ``kind``."""
    if not isinstance(value, kind):
        raise InputError(field, shown(value), f"a {kind.__name__}")


def items(field: str, value: Any) -> tuple[Any, ...]:
    """Return what a list, or any other collection in order, holds."""
    if type(value) is tuple:
        return value
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
        raise InputError(field, shown(value), "a list")
    return tuple(value)


def check_items(owner: Any, field: str, kind: type) -> None:
    """Refuse a field that is not a list of ``kind``; store it as a tuple."""
    held = items(field, getattr(owner, field))
    for position, item in enumerate(held):
        if not isinstance(item, kind):
            check_kind(f"{field}[{position}]", item, kind)
    msgspec.structs.force_setattr(owner, field, held)


def pairs(field: str, value: Any) -> list[tuple[Any, Any]]:
    """Return the keys and values of a mapping."""
    if not isinstance(value, Mapping):
        raise InputError(field, shown(value), "a mapping")
    return list(value.items())


def check_unique(field: str, names: list[str], part: str = ".id") -> None:
    """Refuse a list of ids, or of names, in which one occurs twice, naming both places."""
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        first = seen.setdefault(name, position)
        if first != position:
            used = f"{shown(name)}, used by {field}[{first}] already"
            raise InputError(f"{field}[{position}]{part}", used, "an id used once" if part else "a name used once")
