"""Is it true? Rules and arithmetic of its own; it shares no code with what it verifies."""

from muri_opt.verification.enumeration import enumerated_optimum
from muri_opt.verification.loading import load_rules
from muri_opt.verification.rulebook import Rules, rules_of
from muri_opt.verification.verify import decision_value, enumerable_optimum, proved_bound, verify

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
