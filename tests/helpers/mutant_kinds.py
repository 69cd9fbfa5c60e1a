"""Ways to break a right answer: each mutant names the rule that must be found broken.

A mutant is a function from a round and its right result to a wrong result, or to ``None`` where it has nothing to
break. All else is kept right as far as possible, so that the named rule is what gives the mutant away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alterations import decided

from muri_opt import Result, Round

Break = Callable[[Round, Result], Result | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One way to break an answer, and the rule that must give it away."""

    name: str
    rule: str
    broken: Break


MUTANTS: list[Mutant] = []


def breaks(rule: str, *, running: int = 0, waiting: int = 0) -> Callable[[Break], Break]:
    """Register a function as a mutant that breaks ``rule`` in answers with at least so many running and waiting."""

    def register(function: Break) -> Break:
        def broken(round_: Round, result: Result) -> Result | None:
            decision = decided(result)
            enough = len(decision.assignments) >= running and len(decision.waiting) >= waiting
            return function(round_, result) if enough else None

        MUTANTS.append(Mutant(name=function.__name__, rule=rule, broken=broken))
        return function

    return register
