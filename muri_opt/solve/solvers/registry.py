"""The backends by name, in the order they are preferred.

Another package adds backends by entry points of the group ``muri_opt.backends``, each named as ``exact@NAME`` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from muri_opt.errors import unknown_name
from muri_opt.rounds.lazy import OnDemand
from muri_opt.rounds.plugins import added, added_names

if TYPE_CHECKING:
    from muri_opt.solve.solvers.base import Backend

ENTRY_POINTS: Final = "muri_opt.backends"
OWN: Final[Mapping[str, type[Backend]]] = OnDemand(
    {
        "highs": "muri_opt.solve.solvers.highs:Highs",
        "cp-sat": "muri_opt.solve.solvers.cp_sat:CpSat",
        "cbc": "muri_opt.solve.solvers.cbc:Cbc",
        "scip": "muri_opt.solve.solvers.scip:Scip",
        "exhaustive": "muri_opt.solve.solvers.exhaustive:Exhaustive",
    }
)
"""The package's own."""


class _Backends(Mapping[str, "type[Backend]"]):
    """The package's own backends, then those of other packages, which are looked for when they are needed."""

    def __getitem__(self, name: str) -> type[Backend]:
        if name in OWN:
            return OWN[name]
        for kind in added(ENTRY_POINTS, name):
            found: type[Backend] = kind
            return found
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in OWN or name in added_names(ENTRY_POINTS)

    def __iter__(self) -> Iterator[str]:
        yield from OWN
        yield from sorted(added_names(ENTRY_POINTS) - set(OWN))

    def __len__(self) -> int:
        return len(list(iter(self)))


BACKENDS: Final[Mapping[str, type[Backend]]] = _Backends()

FIRST_BACKEND: Final = "highs"
"""Tried first: it loads in a tenth of the time of the others and also solves linear relaxations."""
SECOND_BACKEND: Final = "cp-sat"
"""Confirms what the first backend claims: another algorithm, another code base, integers instead of floats."""


def backend_named(name: str) -> Backend:
    """Return the backend called ``name``; an unknown name is an error that suggests the nearest one."""
    try:
        return BACKENDS[name]()
    except KeyError:
        raise unknown_name("backend", name, BACKENDS) from None
