"""What is imported when it is first asked for: names of a package (PEP 562), and things by name in a table.

A package that offers much and is imported by everyone would otherwise load all of it in every process. Its
``__init__`` imports the names for type checkers only and says here where each of them lives::

    if TYPE_CHECKING:
        from muri_opt.systems.afs.decision import share_decision as share_decision

    __all__, __getattr__, __dir__ = names_on_demand(__name__, {"muri_opt.systems.afs.decision": ("share_decision",)})

A name must not be that of a module of the package: whichever is imported later would win.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

_Value = TypeVar("_Value")


def names_on_demand(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package whose names live in the given modules."""
    home_of = {name: home for home, names in homes.items() for name in names}
    namespace = vars(sys.modules[package])

    def __getattr__(name: str) -> Any:  # noqa: N807 - it becomes the package's
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(home_of[name]), name)
        return value

    def __dir__() -> list[str]:  # noqa: N807 - likewise
        return sorted({*namespace, *home_of})

    return sorted(home_of), __getattr__, __dir__


class OnDemand(Mapping[str, _Value]):
    """Things by name, each told by where it is (``package.module:name``) and imported when it is looked up."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> _Value:
        module, _, attribute = self._places[name].partition(":")
        value: _Value = getattr(import_module(module), attribute)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
