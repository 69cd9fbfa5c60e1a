"""The backends by name, in the order they are preferred."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from muri_opt.errors import unknown_name
from muri_opt.rounds.lazy import OnDemand

if TYPE_CHECKING:
    from muri_opt.solve.solvers.base import Backend

BACKENDS: Final[Mapping[str, type[Backend]]] = OnDemand(
    {
        "highs": "muri_opt.solve.solvers.highs:Highs",
        "cp-sat": "muri_opt.solve.solvers.cp_sat:CpSat",
        "cbc": "muri_opt.solve.solvers.cbc:Cbc",
        "scip": "muri_opt.solve.solvers.scip:Scip",
        "exhaustive": "muri_opt.solve.solvers.exhaustive:Exhaustive",
    }
)

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
