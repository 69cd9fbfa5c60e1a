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

from muri_opt.verify.audit import decision_value, enumerable_optimum, proved_bound, verify
from muri_opt.verify.gangs.enumeration import enumerated_optimum
from muri_opt.verify.loading import load_rules
from muri_opt.verify.policy_rules import Rules, rules_of

if TYPE_CHECKING:
    from muri_opt.rounds import Certificate

__all__ = [
    "Rules",
    "decision_value",
    "enumerable_optimum",
    "enumerated_optimum",
    "load_rules",
    "proved_bound",
    "rules_of",
    "verify",
]


class _CallablePackage(ModuleType):
    """The package is also its main function, because both have the name ``muri_opt.verify``."""

    def __call__(self, *args: Any, **settings: Any) -> Certificate:
        """Return what is true of a result; the same as :func:`~muri_opt.verify.audit.verify`."""
        from muri_opt.verify.audit import verify as check

        return check(*args, **settings)


sys.modules[__name__].__class__ = _CallablePackage
