"""All fields of a round file with their types and defaults, as the page on the format lists them."""

from msgspec import NODEFAULT, inspect

from muri_opt.rounds import Round
from muri_opt.rounds.allowed_text import without_null

_WORDS = {
    inspect.BoolType: lambda _: "true or false",
    inspect.IntType: lambda _: "whole number",
    inspect.FloatType: lambda _: "number",
    inspect.StrType: lambda _: "text",
    inspect.LiteralType: lambda kind: "one of " + ", ".join(f"`{value}`" for value in kind.values),
    inspect.VarTupleType: lambda kind: "list of " + _many(kind.item_type),
    inspect.DictType: lambda kind: f"object: {word(kind.key_type)} to {word(kind.value_type)}",
    inspect.StructType: lambda _: "object",
}


def word(kind):
    """Return a type in words."""
    return _WORDS[type(without_null(kind))](without_null(kind))


def _many(kind):
    return word(kind) + "s" * (word(kind) != "text")


def rows(kind=None, path=""):
    """Yield (path, type, default) of every field, those of an object after it."""
    kind = inspect.type_info(Round) if kind is None else kind
    for field in kind.fields:
        place, plain = path + field.encode_name, without_null(field.type)
        default = field.default
        said = (
            "required"
            if default is NODEFAULT or place == "format"
            else "-"
            if default in (None, (), "")
            else f"{default}"
        )
        if isinstance(default, bool):
            said = said.lower()
        if field.encode_name == "resources":
            said = ", ".join(default)
        yield place, word(field.type), said
        if isinstance(plain, inspect.StructType):
            yield from rows(plain, place + ".")
        elif isinstance(plain, inspect.VarTupleType) and isinstance(plain.item_type, inspect.StructType):
            yield from rows(plain.item_type, place + "[].")
