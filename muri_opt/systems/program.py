"""What every formulation is: the way from a round to a model, and the way back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, Relax, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Decision, LinearDuals, Prices, Round


class Searched(NamedTuple):
    """What a search found: a decision, the multipliers that bound the round if it has some, and in words how."""

    decision: Decision
    duals: LinearDuals | None
    detail: str


class Settled(NamedTuple):
    """A decision of the same value with cheaper changes, and what no decision of that value costs less than.

    ``least`` is in GPU-microseconds; ``None`` where not all such decisions were looked at. Above 0 it is a solver's
    word.
    """

    decision: Decision
    least: int | None


class Formulation(ABC):
    """The exact program of a round: one chapter of the book."""

    chapter: ClassVar[str]
    late_imports: ClassVar[tuple[str, ...]] = ()
    """Modules that building or solving imports when it comes to it; a solver process loads them before a clock runs."""
    has_direct: ClassVar[bool] = False
    """Whether :meth:`direct` finds values without a solver."""
    has_search: ClassVar[bool] = False
    """Whether :meth:`search` finds decisions and multipliers."""

    @abstractmethod
    def build(self, round_: Round) -> Model:
        """Return the program of the round."""

    @abstractmethod
    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision that feasible values stand for."""

    @abstractmethod
    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the values of a decision: a warm start, and the test that the model is not too tight."""

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return the objectives to optimise one after another; by default the model's own is the only one."""
        return (Stage(objective=model.objective, weight=1, best=0),)

    def direct(self, round_: Round) -> Ints | None:
        """Return values found without a solver that are optimal if their decision keeps them, or ``None``.

        Their value bounds the program's in any case.
        """
        return None

    def search(
        self, round_: Round, start: Decision | None, budget: Budget, relax: Relax, solve: SolveStages
    ) -> Searched | None:
        """Return a decision and multipliers from a search of the chapter's own, or ``None`` where it has none.

        ``relax`` and ``solve`` solve the small programs on its way; all of it counts against the budget.
        """
        return None

    def work(self, round_: Round) -> float:
        """Return the units of work below which a solver is not known to find more than the algorithm has.

        Where less is left, ``auto`` does not begin the program: neither its relaxation nor its search could end.
        It is told from counts alone, before anything is built; 0: it may always pay.
        """
        return 0.0

    def is_searched(self, round_: Round) -> bool:
        """Return whether the program is too large to write down, so that what :meth:`search` finds is all there is."""
        return False

    def may_settle(self, round_: Round, decision: Decision) -> bool:
        """Return whether :meth:`settle` may find something; told from counts, before anything is built."""
        return False

    def settle(self, round_: Round, decision: Decision, budget: Budget, solve: SolveStages) -> Settled | None:
        """Return of the decisions of the same value the one whose changes cost least, and of those on fewest nodes.

        ``None`` where there is nothing to look for. All of it counts against the budget.
        """
        return None

    @property
    def has_duals(self) -> bool:
        """Whether :meth:`duals` makes evidence of a linear relaxation."""
        return False

    def prepare(self, round_: Round) -> object:
        """Return what is worked out of a round first and kept for all that follows."""
        return round_.amounts

    def quick_duals(self, round_: Round) -> Prices | None:
        """Return multipliers that need no solver, or ``None``."""
        return None

    @property
    def has_hurried_duals(self) -> bool:
        """Whether there is something faster than :meth:`quick_duals`."""
        return False

    def hurried_duals(self, round_: Round) -> Prices | None:
        """Return multipliers that are found faster than those of :meth:`quick_duals` and prove less."""
        return None

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> Prices | None:
        """Return the multipliers that a solver's row duals of the linear relaxation stand for, or ``None``."""
        return None
