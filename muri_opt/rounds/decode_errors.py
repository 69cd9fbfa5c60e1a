"""What a decoder refused, said again for people: the field, the value found there and what is allowed.

The decoder's message names a place, such as ``$.jobs[3].gpus``. Along that place this module walks the text, to see the
value, and the types, to see what is allowed. It runs for a bad file only, and looks at no more of it than the way down.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import Raw, inspect

from muri_opt.errors import InputError
from muri_opt.rounds.allowed_text import allowed, struct_fields, without_null
from muri_opt.rounds.error_text import shortened, shown
from muri_opt.rounds.round import Round

ALLOWED_TEXT: Final = "one JSON object in UTF-8"
_GLANCE = 200
_BEFORE, _AFTER = 25, 15
_PLACE = re.compile(r" - at (`key` in )?`\$([^`]*)`\Z")
_STEP = re.compile(r"\.(\w+)|\[(\d{1,12}|\.\.\.)\]")
_BYTE = re.compile(r"\(byte (\d+)\)")
_MISSING = re.compile(r"Object missing required field `(\w+)`")


@dataclass(frozen=True, slots=True)
class _Place:
    """One place in the text: its path, the text found there and the type that belongs there.

    ``hint`` is the type as its owner declares it, ``Any`` where it is not looked for.
    """

    path: str
    raw: Raw
    kind: inspect.Type
    hint: Any = Any

    def inside(self, field: str) -> str:
        own = self.path.rpartition(".")[2]
        if own and field.startswith(f"{own}."):  # an object that names itself in its fields
            field = field[len(own) + 1 :]
        return f"{self.path}.{field}" if self.path else field


def wrong_text(error: msgspec.DecodeError, data: bytes | bytearray, *, name: str = "round") -> InputError:
    """Return the error for text that is not JSON, with the place where it stops being so."""
    if not data.strip():
        return InputError(name, "an empty text", ALLOWED_TEXT)
    byte = _BYTE.search(str(error))
    if byte is None:
        return InputError(name, f"text that is not JSON ({error})", ALLOWED_TEXT)
    at = int(byte[1])
    start = data.rfind(b"\n", 0, at) + 1
    line, column = data.count(b"\n", 0, at) + 1, at - start + 1
    here = shown(bytes(data[max(start, at - _BEFORE) : at + _AFTER]).decode(errors="replace"))
    return InputError(name, f"text that is not JSON at line {line}, column {column}, in {here}", ALLOWED_TEXT)


def wrong_value(
    error: msgspec.ValidationError,
    data: bytes | bytearray | Raw,
    kind: Any = Round,
    *,
    name: str = "round",
    at: str = "",
) -> InputError:
    """Return the error for JSON that is not a round, or not of another ``kind`` that is called by a ``name``.

    Its place in a larger text is ``at``, if it is a part of one.
    """
    message = str(error)
    named = _PLACE.search(message)
    place = _Place(at, Raw(data), inspect.type_info(kind))
    for field, position in _STEP.findall(named[2]) if named else ():
        if field:
            place = _field(place, field)
        else:
            place = _pair(place, key=False) if position == "..." else _item(place, int(position))
    if isinstance(error.__cause__, InputError):
        cause = error.__cause__
        return InputError(place.inside(cause.field), cause.found, cause.allowed)
    if message.startswith("Object contains unknown field"):
        return _unknown_field(place, name)
    missing = _MISSING.match(message)
    if missing:
        wanted = allowed(_field(place, missing[1]).kind)
        return InputError(place.inside(missing[1]), "nothing", f"{wanted}; this field is required")
    if named and named[1]:
        place = _pair(place, key=True)
    return InputError(place.path or name, _found(place.raw), allowed(place.kind))


def _field(place: _Place, name: str) -> _Place:
    fields = {field.encode_name: field for field in struct_fields(place.kind)}
    raw, field = _object(place.raw).get(name, Raw()), fields.get(name)
    if field is None:
        tags = _tags(place.kind, name)
        return _Place(place.inside(name), raw, inspect.LiteralType(tags) if tags else inspect.AnyType())
    owner = getattr(without_null(place.kind), "cls", None)
    hint = get_type_hints(owner, include_extras=True).get(field.name, Any)
    return _Place(place.inside(name), raw, field.type, hint)


def _tags(kind: inspect.Type, name: str) -> tuple[str | int, ...]:
    """Return the values of a field that tells objects of several types apart, none where it is another field."""
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    structs = [one for one in kinds if isinstance(one, inspect.StructType) and one.tag_field == name]
    return tuple(one.tag for one in structs if one.tag is not None)


def _item(place: _Place, position: int) -> _Place:
    found: list[Raw] = _decoded(place.raw, list[Raw], [])
    raw = found[position] if position < len(found) else Raw()
    name = _decoded(_object(raw).get("id", Raw()), str, "")
    label = f" ({shown(name)})" if name else ""
    return _Place(
        f"{place.path}[{position}]{label}", raw, getattr(without_null(place.kind), "item_type", inspect.AnyType())
    )


def _pair(place: _Place, *, key: bool) -> _Place:
    """Return the first key, or value, of a mapping that its type refuses."""
    mapping = without_null(place.kind)
    for name, raw in _object(place.raw).items():
        text = msgspec.json.encode(name)
        if _decoded(b"{%b: %b}" % (text, bytes(raw)), place.hint, None) is None:
            if key:
                return _Place(f"{place.path} key", Raw(text), getattr(mapping, "key_type", inspect.AnyType()))
            kind = getattr(mapping, "value_type", inspect.AnyType())
            return _Place(f"{place.path}[{shortened(name)}]", raw, kind)
    return place


def _unknown_field(place: _Place, name: str) -> InputError:
    tag = getattr(without_null(place.kind), "tag_field", None)
    fields = [field.encode_name for field in struct_fields(place.kind)]
    unknown = next((field for field in _object(place.raw) if field not in fields and field != tag), "")
    near = get_close_matches(unknown[:_GLANCE], fields, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return InputError(place.path or name, f"unknown field {shown(unknown)}{hint}", allowed(place.kind))


def _found(raw: Raw) -> str:
    """Return the text at a place as an error shows it: a string as Python writes it, all else as the file does."""
    text = bytes(raw)
    name = _decoded(text, str, None)
    if name is not None:
        return shown(name)
    return shortened(" ".join(text[:_GLANCE].decode(errors="replace").split())) or "a value that cannot be shown"


def _object(raw: Raw) -> dict[str, Raw]:
    found: dict[str, Raw] = _decoded(raw, dict[str, Raw], {})
    return found


def _decoded(text: Raw | bytes, kind: Any, otherwise: Any) -> Any:
    """Return the text decoded as ``kind``, or ``otherwise``: after its first fault a file may hold anything."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return otherwise
