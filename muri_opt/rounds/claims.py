"""What solvers say of the optimum: the word of one is a claim, that of two independent ones an agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muri_opt.rounds.certificate import Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The least bound that each solver claims, by the solver's name; nothing of it is checked."""

    bounds: Mapping[str, int] = field(default_factory=dict)

    def with_claim(self, solver: str, bound: int) -> Claims:
        """Return the claims with one more; a solver's better bound replaces its earlier one."""
        least = min(bound, self.bounds.get(solver, bound))
        return Claims(bounds={**self.bounds, solver: least})

    @property
    def solvers(self) -> tuple[str, ...]:
        """Those who claim a bound, in the order in which they were asked."""
        return tuple(self.bounds)

    @property
    def least(self) -> int | None:
        """The best bound that somebody claims."""
        return min(self.bounds.values(), default=None)

    @property
    def agreement(self) -> Agreement | None:
        """The best bound that follows from the word of two solvers: the weaker of their bounds."""
        if len(self.bounds) < 2:
            return None
        agreed = sorted(self.bounds.values())[1]
        backends = tuple(solver for solver, bound in self.bounds.items() if bound <= agreed)
        return Agreement(backends=backends, bound=agreed)

    def contradicted_by(self, value: int) -> bool:
        """Return whether a decision of this value exists only if one of the solvers is wrong."""
        return self.least is not None and value > self.least
