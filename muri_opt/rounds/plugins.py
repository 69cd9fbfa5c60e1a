"""What other packages add by entry points: systems, chapters of the verifier, backends."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from muri_opt.errors import InputError


def added_names(group: str) -> set[str]:
    """Return the names of the entry points of a group, nothing of them imported."""
    return entry_points(group=group).names


def added(group: str, name: str | None = None) -> Iterator[Any]:
    """Yield what the entry points of a group stand for, of one name or of all in their order."""
    points = entry_points(group=group) if name is None else entry_points(group=group, name=name)
    for point in sorted(points, key=lambda point: point.name):
        yield _loaded(point)


def _loaded(point: EntryPoint) -> Any:
    """Return what an entry point stands for; another package that is broken is said by its name, whatever it raises."""
    try:
        return point.load()
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        where = f"entry point {point.name!r} of {point.group!r}"
        raise InputError(where, found, f"{point.value}, if it can be imported; or uninstall the package") from error
