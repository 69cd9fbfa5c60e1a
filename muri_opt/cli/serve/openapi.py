"""The description of the HTTP interface (OpenAPI 3.1), made from the types of the messages."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, Final

import msgspec

from muri_opt import __version__
from muri_opt.cli.serve.messages import MOST_DEADLINE, Message
from muri_opt.cli.serve.problems import Problem
from muri_opt.cli.serve.service import MESSAGES
from muri_opt.rounds import Cluster, Job, Node, Result, Round

_KNOWN: Final = {"round": Round, "result": Result, "cluster": Cluster, "node": Node, "jobs": Job}
"""What parts of messages are that are kept as text until they are needed."""
_PROBLEMS: Final = ("400", "401", "404", "405", "408", "413", "422", "429", "500", "502", "503", "507")
_PLAIN: Final = (
    ("/healthz", "text/plain", "The process is there"),
    ("/readyz", "text/plain", "Every solver is warm"),
    ("/metrics", "text/plain", "Counts as Prometheus reads them"),
    ("/openapi.json", "application/json", "This description"),
)
"""What is asked by GET: the path, the kind of text that comes, and what it says."""
_TEMPLATE: Final = "#/components/schemas/{name}"


def openapi() -> dict[str, Any]:
    """Return the description."""
    kinds = [*MESSAGES.values(), Problem, *_KNOWN.values()]
    (*_, found), schemas = msgspec.json.schema_components(kinds, ref_template=_TEMPLATE)
    del found
    for schema in schemas.values():
        schema.get("properties", {}).pop("do", None)  # the path says it
        schema["required"] = [name for name in schema.get("required", ()) if name != "do"]
        if "description" in schema:
            schema["description"] = cleandoc(schema["description"]).partition("\n\n>>>")[0]
    for kind in MESSAGES.values():
        _say_parts(schemas[kind.__name__]["properties"])
    paths = {f"/v1/{do}": {"post": _operation(do, kind)} for do, kind in MESSAGES.items()}
    for path, kind_of_text, words in _PLAIN:
        paths[path] = {"get": _plain(kind_of_text, words)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "muri-opt", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _say_parts(properties: dict[str, Any]) -> None:
    """Say of parts that are kept as text what they are."""
    for name, kind in _KNOWN.items():
        part, reference = properties.get(name), {"$ref": _TEMPLATE.format(name=kind.__name__)}
        if part == {}:
            properties[name] = reference
        elif part is not None and part.get("items") == {}:
            part["items"] = reference


def _operation(do: str, kind: type[Message]) -> dict[str, Any]:
    described = cleandoc(kind.__doc__ or do)
    schema = {"$ref": _TEMPLATE.format(name=kind.__name__)}
    return {
        "operationId": do,
        "summary": described.partition("\n")[0],
        "parameters": [_DEADLINE] if "deadline_seconds" in kind.__struct_fields__ else [],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {"description": "The answer", "content": {"application/json": {"schema": {"type": "object"}}}},
            **dict.fromkeys(_PROBLEMS, _A_PROBLEM),
        },
    }


def _plain(kind_of_text: str, words: str) -> dict[str, Any]:
    answer = {"description": words, "content": {kind_of_text: {}}}
    return {"summary": words, "responses": {"200": answer, "405": _A_PROBLEM, "503": _A_PROBLEM}}


_DEADLINE: Final = {
    "name": "X-Deadline-Seconds",
    "in": "header",
    "description": "seconds from receipt until the answer is needed",
    "schema": {"type": "number", "minimum": 0, "maximum": MOST_DEADLINE},
}
_A_PROBLEM: Final = {
    "description": "A problem (RFC 9457)",
    "content": {"application/problem+json": {"schema": {"$ref": _TEMPLATE.format(name=Problem.__name__)}}},
}
