"""Objects of Kubernetes in files: lists as ``kubectl -o json`` prints them, and the snapshots of KAI Scheduler."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from muri_opt.errors import InputError

Object = Mapping[str, Any]
MOST_BYTES: Final = 1 << 30
_SINGULAR: Final = {
    "pods": "Pod",
    "nodes": "Node",
    "queues": "Queue",
    "podGroups": "PodGroup",
    "topologies": "Topology",
    "priorityClasses": "PriorityClass",
}
"""What the lists of a KAI snapshot hold; the objects in them need not say their kind."""


def documents(name: str) -> list[Any]:
    """Return every JSON document in a file, one after another, or in the ``snapshot.json`` of a ZIP."""
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise InputError(name, error.strerror or str(error), "a readable file") from None
    if zipfile.is_zipfile(io.BytesIO(data)):
        data = _unzipped(name, data)
    decoder, place, found = json.JSONDecoder(), 0, list[Any]()
    try:
        text = data.decode()
        while place < len(text):
            if text[place].isspace():
                place += 1
                continue
            one, place = decoder.raw_decode(text, place)
            found.append(one)
    except (ValueError, RecursionError) as error:
        raise InputError(name, str(error)[:200], "JSON documents, or a ZIP with snapshot.json") from None
    if not found:
        raise InputError(name, "an empty file", "JSON documents, or a ZIP with snapshot.json")
    return found


def objects(document: Any) -> Iterator[Object]:
    """Yield the objects of a document: itself, the items of a list, or the raw objects of a snapshot."""
    if not isinstance(document, dict):
        return
    if isinstance(document.get("items"), list):
        for one in document["items"]:
            yield from objects(one)
    elif isinstance(document.get("rawObjects"), dict):
        for name, some in document["rawObjects"].items():
            kind = _SINGULAR.get(name, name)
            listed = some if isinstance(some, list) else []
            yield from ({"kind": kind, **one} for one in listed if isinstance(one, dict))
    elif "kind" in document:
        yield document


def of_kind(every: Sequence[Object], kind: str) -> list[Object]:
    """Return the objects of a kind."""
    return [one for one in every if one.get("kind") == kind]


def name_of(one: Object) -> str:
    """Return the name of an object, with its namespace where it has one."""
    meta = one.get("metadata") or {}
    space, name = meta.get("namespace"), str(meta.get("name") or "")
    return f"{space}/{name}" if space else name


def meta(one: Object, field: str) -> Mapping[str, Any]:
    """Return labels or annotations."""
    return (one.get("metadata") or {}).get(field) or {}


def spec(one: Object) -> Mapping[str, Any]:
    """Return what an object asks for."""
    return one.get("spec") or {}


def _unzipped(name: str, data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = archive.getinfo("snapshot.json")
            if info.file_size > MOST_BYTES:
                raise InputError(name, f"{info.file_size:,} bytes", f"at most {MOST_BYTES:,} bytes")
            return archive.read(info)
    except (KeyError, zipfile.BadZipFile) as error:
        raise InputError(name, str(error), "a ZIP with snapshot.json") from None
