"""Is it true? Rules and arithmetic of its own; of this package it imports the types of rounds and results only.

>>> round_ = shipped_round("toy/two-gangs")
>>> certificate = verify(round_, solve_round(round_, "fifo", "heuristic"))
>>> certificate.feasible, certificate.violations
(True, ())
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from muri_opt.verify.audit import (
    Audit,
    broken_rules,
    completed,
    decision_value,
    enumerable_optimum,
    proved_bound,
    verify,
)
from muri_opt.verify.chapter import Chapter
from muri_opt.verify.chapters import chapter_kind, chapter_of, register_chapter
from muri_opt.verify.settings import Rules, Setting, one_of

if TYPE_CHECKING:
    from muri_opt.rounds import Certificate

__all__ = [
    "Audit",
    "Chapter",
    "Rules",
    "Setting",
    "broken_rules",
    "chapter_kind",
    "chapter_of",
    "completed",
    "decision_value",
    "enumerable_optimum",
    "one_of",
    "proved_bound",
    "register_chapter",
    "verify",
]


class _CallablePackage(ModuleType):
    """The package is also its main function, because both have the name ``muri_opt.verify``."""

    def __call__(self, *args: Any, **settings: Any) -> Certificate:
        """Return what is true of a result; the same as :func:`~muri_opt.verify.audit.verify`."""
        from muri_opt.verify.audit import verify as check

        return check(*args, **settings)


sys.modules[__name__].__class__ = _CallablePackage
