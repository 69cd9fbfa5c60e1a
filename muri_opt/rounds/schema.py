"""The JSON Schema of the round format, made from the types so that the two cannot drift."""

from __future__ import annotations

import json
from inspect import cleandoc
from typing import Any

import msgspec

from muri_opt.rounds.quantities import MAX_GPUS
from muri_opt.rounds.round import Round


def round_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a round file."""
    schema = msgspec.json.schema(Round)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "muri-opt round, formats muri-opt/round/1 and muri-opt/round/2"
    types = schema["$defs"]
    for definition in types.values():
        text = cleandoc(definition["description"])  # Python 3.13 does it, 3.11 does not
        definition["description"] = text.partition("\n\n>>>")[0]  # examples are for Python
    types["Round"]["required"] = ["format", *types["Round"]["required"]]
    # A key in JSON is text, so what the type says of its number is lost on the way and said again as a pattern.
    table, _absent = types["Job"]["properties"]["scaling"]["anyOf"]
    table["propertyNames"] = {"pattern": _whole_number_pattern(MAX_GPUS)}
    return schema


def round_schema_text() -> str:
    """Return the text of ``instances/schema.json``."""
    return json.dumps(round_schema(), indent=1, sort_keys=True) + "\n"


def _whole_number_pattern(most: int) -> str:
    """Return the pattern of the whole numbers from 1 to ``most``, a power of ten."""
    return f"^([1-9][0-9]{{0,{len(str(most)) - 2}}}|{most})$"
