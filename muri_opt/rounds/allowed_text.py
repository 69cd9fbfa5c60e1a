"""What a type allows, in words: the same words for a file as the checks use for an object."""

from __future__ import annotations

from typing import Any

from msgspec import inspect

from muri_opt.rounds.error_text import number_range, whole_range


def allowed(kind: inspect.Type) -> str:
    """Return what may stand where ``kind`` belongs."""
    if isinstance(kind, inspect.UnionType):
        several = dict.fromkeys(map(allowed, kind.types))
        if _NUMBER in several:  # whole numbers are among them
            several.pop(_WHOLE, None)
        return ", or ".join(several)
    return _WORDS[type(kind)](kind)


def without_null(kind: inspect.Type) -> inspect.Type:
    """Return the type of an optional field where it is not absent."""
    return kind.types[0] if isinstance(kind, inspect.UnionType) else kind


def struct_fields(kind: inspect.Type) -> tuple[inspect.Field, ...]:
    """Return the fields of an object, none where ``kind`` is something else."""
    plain = without_null(kind)
    return plain.fields if isinstance(plain, (inspect.StructType, inspect.DataclassType)) else ()


def _struct(kind: Any) -> str:
    return "an object with the fields " + ", ".join(field.encode_name for field in kind.fields)


_NUMBER, _WHOLE = "a number", "a whole number"
_WORDS = {
    inspect.AnyType: lambda _: "another value",
    inspect.NoneType: lambda _: "null",
    inspect.BoolType: lambda _: "true or false",
    inspect.RawType: lambda _: "an object",
    inspect.IntType: lambda kind: _WHOLE if kind.le is None else whole_range(kind.ge, kind.le),
    inspect.FloatType: lambda kind: _NUMBER if kind.le is None else number_range(kind.le, positive=kind.gt is not None),
    inspect.StrType: lambda kind: "a non-empty string" if kind.min_length else "a string",
    inspect.LiteralType: lambda kind: ("one of " if len(kind.values) > 1 else "") + ", ".join(map(repr, kind.values)),
    inspect.EnumType: lambda kind: "one of " + ", ".join(repr(one.value) for one in kind.cls),
    inspect.VarTupleType: lambda kind: f"a list, each item {allowed(kind.item_type)}",
    inspect.DictType: lambda kind: (
        f"an object{' that is not empty' if kind.min_length else ''}, each key {allowed(kind.key_type)} in quotes, "
        f"each value {allowed(kind.value_type)}"
    ),
    inspect.StructType: _struct,
    inspect.DataclassType: _struct,
}
