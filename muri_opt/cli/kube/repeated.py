"""Objects that are in the files more than once: alike they count once, and of two that differ nobody knows which is so.

Two snapshots of one cluster at two moments are no snapshot of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from muri_opt.cli.kube.objects import Object, name_of
from muri_opt.cli.kube.volcano import NODE, VOLCANO_JOB, entry_key
from muri_opt.cli.ledger import Ledger
from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown

_ALIKE: Final = "in the files more than once, alike: counted once"
_JOBS: Final = ("Pod", "Workload", VOLCANO_JOB)
_UNREAD: Final = frozenset({"apiVersion", "kind", "managedFields"})
"""Fields by which two prints of one object may differ: by what printed it."""


class Seen:
    """What was in the files so far, and in which of them it was first."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._first: dict[tuple[str, str], tuple[str, Any]] = {}

    def once(self, found: Iterable[tuple[str, Object]]) -> list[Object]:
        """Return objects, each with the file it is in, without those that are there again."""
        return [one for file, one in found if self._is_new(_key(one), file, one)]

    def dumps_once(self, found: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
        """Return the documents of dumps of Volcano without the nodes and jobs that are there again."""
        return [
            {name: one for name, one in document.items() if self._is_new(entry_key(name, one), file, one)}
            for file, document in found
        ]

    def _is_new(self, key: tuple[str, str] | None, file: str, one: Any) -> bool:
        if key is None:
            return True
        said = _read_part(one)
        first, before = self._first.setdefault(key, (file, said))
        if before is said:
            return True
        kind, name = key
        if before != said:
            where = first if first == file else f"{first} and {file}"
            allowed = "each object once, or alike: files of one moment and one source"
            raise InputError(f"{kind} {shown(name)}", f"twice, and not alike, in {where}", allowed)
        if kind == NODE:
            self._ledger.node(name, _ALIKE)
        elif kind in _JOBS:
            self._ledger.job(name, _ALIKE)
        return False


def _key(one: Object) -> tuple[str, str] | None:
    """Return the kind and the name of an object, or ``None`` where it has none: that is refused where it is read."""
    named = isinstance(one.get("metadata"), Mapping) and name_of(one)
    return (str(one.get("kind")), name_of(one)) if named else None


def _read_part(one: Any) -> Any:
    """Return an object without the fields that are not read and that depend on who printed it."""
    if not isinstance(one, Mapping):
        return one
    said = {field: value for field, value in one.items() if field not in _UNREAD}
    if isinstance(said.get("metadata"), Mapping):
        said["metadata"] = {field: value for field, value in said["metadata"].items() if field not in _UNREAD}
    return said
