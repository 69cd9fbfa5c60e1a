"""All systems and their policies: the package's own, those of other packages, and those that a program registers.

Another package says its systems by entry points of the group ``muri_opt.systems``, each a :class:`System`. They are
looked for when a name is not one of the package's own, or when all names are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds.plugins import added
from muri_opt.systems.afs.system import SYSTEM as AFS
from muri_opt.systems.aiturbo.system import SYSTEM as AITURBO
from muri_opt.systems.deadline.system import SYSTEM as DEADLINE
from muri_opt.systems.gangs.system import SYSTEM as GANGS
from muri_opt.systems.joint.system import SYSTEM as JOINT
from muri_opt.systems.muri.system import SYSTEM as MURI
from muri_opt.systems.philly.system import SYSTEM as PHILLY
from muri_opt.systems.policy import Policy, Rules
from muri_opt.systems.rubick.system import SYSTEM as RUBICK
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.program import Formulation

ENTRY_POINTS: Final = "muri_opt.systems"
DEFAULT_POLICY: Final = "fifo"
_systems: Final[list[System]] = [GANGS, MURI, AFS, RUBICK, AITURBO, PHILLY, DEADLINE, JOINT]
_looked_for: Final[set[str]] = set()


def systems() -> tuple[System, ...]:
    """Return all systems, those of other packages included."""
    if ENTRY_POINTS not in _looked_for:
        for system in added(ENTRY_POINTS):
            register_system(system)
        _looked_for.add(ENTRY_POINTS)
    return tuple(_systems)


def register_system(system: System) -> None:
    """Add a system for this process; registering the same one again changes nothing.

    Processes that a study starts do not know it: there, name its policies as ``module:attribute``, or say the system
    by an entry point of the package it is in.

    >>> from muri_opt.systems.gangs import SYSTEM
    >>> register_system(SYSTEM)  # it is known already
    """
    if not isinstance(system, System):
        raise InputError("system", type(system).__name__, "a System")
    if system in _systems:
        return
    for known in _systems:
        taken = sorted({*known.policies} & {*system.policies})
        if taken or known.name == system.name:
            found = f"policy {taken[0]!r}" if taken else f"name {system.name!r}"
            raise InputError(f"system {system.name!r}", found, f"what the system {known.name!r} does not have already")
    _systems.append(system)


def has_program(rules: Rules) -> bool:
    """Return whether rounds under these rules have an exact program."""
    return any(system.program is not None for system in _of_chapter(rules))


def program_of(rules: Rules) -> Formulation:
    """Return the exact program of rounds under these rules; its module is imported only now."""
    for system in _of_chapter(rules):
        if system.program is not None:
            return system.program(rules)
    chapters = [system.chapter for system in _systems if system.program is not None]
    found = f"{rules.get('chapter')!r}, which has no exact program"
    raise RefusalError("chapter", found, "the method heuristic, or one of " + ", ".join(chapters))


def unit_of(rules: Rules) -> str:
    """Return what one unit of the value is under these rules, nothing where no system says it."""
    unit = next((system.unit for system in _of_chapter(rules) if system.unit is not None), None)
    return "" if unit is None else unit(rules)


def _of_chapter(rules: Rules) -> list[System]:
    """Return the systems whose policies are checked by a chapter; one of another package may not be loaded yet."""
    chapter = rules.get("chapter")
    found = [system for system in _systems if system.chapter == chapter]
    return found or [system for system in systems() if system.chapter == chapter]


class _Policies(Mapping[str, type[Policy]]):
    """The policies of all systems by name; other packages are looked at where the package's own do not do."""

    def __getitem__(self, name: str) -> type[Policy]:
        for system in self._having(name):
            return system.policies[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return bool(self._having(name))

    @staticmethod
    def _having(name: object) -> list[System]:
        known = [system for system in _systems if name in system.policies]
        return known or [system for system in systems() if name in system.policies]

    def __iter__(self) -> Iterator[str]:
        return (name for system in systems() for name in system.policies)

    def __len__(self) -> int:
        return sum(len(system.policies) for system in systems())


POLICIES: Final[Mapping[str, type[Policy]]] = _Policies()
