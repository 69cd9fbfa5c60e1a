"""What a published system is: its policies, the chapter they are checked by, and the exact program of their rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muri_opt.systems.policy import Policy, Rules
    from muri_opt.systems.program import Formulation


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system: what ``systems/<paper>/system.py`` says of a paper, or another package of a system of its own.

    ``policies`` are by name. ``chapter`` says by which rules the verifier checks them, and ``family`` which drawn
    rounds have what they need (:data:`muri_opt.testing.FAMILIES`). ``program`` makes the exact program of a round from
    its rules, and ``unit`` says what one unit of the value is; a system without them has those of the chapter.
    ``not_promised`` names, by policy, the invariants of :mod:`muri_opt.testing` that its rules do not keep.

    >>> from muri_opt.systems.muri import SYSTEM
    >>> sorted(SYSTEM.policies), SYSTEM.chapter
    (['muri-l', 'muri-s'], 'grouping')
    """

    name: str
    chapter: str
    policies: Mapping[str, type[Policy]]
    family: str = "gangs"
    program: Callable[[Rules], Formulation] | None = None
    unit: Callable[[Rules], str] | None = None
    not_promised: Mapping[str, frozenset[str]] = field(default_factory=dict)
