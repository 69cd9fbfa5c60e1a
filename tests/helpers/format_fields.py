"""All fields of a round or result file with their types and defaults, as the pages on the formats list them."""

from msgspec import NODEFAULT, UNSET, Struct, inspect

from muri_opt.rounds import Round
from muri_opt.rounds.allowed_text import without_null

_WORDS = {
    inspect.BoolType: lambda _: "true or false",
    inspect.IntType: lambda _: "whole number",
    inspect.FloatType: lambda _: "number",
    inspect.StrType: lambda _: "text",
    inspect.EnumType: lambda kind: "one of " + ", ".join(f"`{one.value}`" for one in kind.cls),
    inspect.LiteralType: lambda kind: "one of " + ", ".join(f"`{value}`" for value in kind.values),
    inspect.VarTupleType: lambda kind: "list of " + _many(kind.item_type),
    inspect.DictType: lambda kind: f"object: {word(kind.key_type)} to {word(kind.value_type)}",
    inspect.StructType: lambda _: "object",
    inspect.DataclassType: lambda _: "object",
}
_WITH_FIELDS = (inspect.StructType, inspect.DataclassType)


def word(kind):
    """Return a type in words."""
    return _WORDS[type(without_null(kind))](without_null(kind))


def _many(kind):
    return word(kind) + "s" * (word(kind) != "text")


def _default(value):
    if isinstance(value, Struct) or value in (NODEFAULT, UNSET, None, (), ""):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def rows(kind=None, path=""):
    """Yield (path, type, default) of every field, those of an object after it; of a list of several kinds no more."""
    kind = inspect.type_info(Round) if kind is None else kind
    for field in kind.fields:
        place, plain = path + field.encode_name, without_null(field.type)
        said = "required" if field.required or place == "format" else _default(field.default)
        yield place, word(field.type), said
        if isinstance(plain, _WITH_FIELDS):
            yield from rows(plain, place + ".")
        elif isinstance(plain, inspect.VarTupleType) and isinstance(plain.item_type, inspect.StructType):
            yield from rows(plain.item_type, place + "[].")
