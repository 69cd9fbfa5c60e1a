"""What it means to solve a model, for those who pass the work on without knowing any solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling.evaluation import Number, Values
from muri_opt.modelling.lexicographic import Stage
from muri_opt.modelling.model import Model
from muri_opt.rounds import Budget, Limits, Termination


class Solved(Protocol):
    """What a solver says of a model; the outcome of a backend does."""

    @property
    def termination(self) -> Termination:
        """Why it stopped."""

    @property
    def values(self) -> Values | None:
        """Values of the columns, checked to satisfy every row."""

    @property
    def bound(self) -> Number | None:
        """What no solution is better than."""

    @property
    def work(self) -> float:
        """Units of work that it took."""


class Relaxed(Protocol):
    """A linear relaxation that was solved."""

    @property
    def values(self) -> NDArray[np.float64]:
        """A value per column."""

    @property
    def duals(self) -> NDArray[np.float64]:
        """A multiplier per row."""


class Relax(Protocol):
    """What solves linear relaxations."""

    def __call__(self, model: Model, budget: Budget, *, central: bool = False) -> Relaxed | None:
        """Return the relaxation solved within a budget that it counts against, or ``None``.

        A ``central`` solution is an interior one, found faster and less exactly.
        """


Solve = Callable[[Model, Limits, Values | None], Solved]
"""A model solved within limits, from a start if there is one."""
SolveStages = Callable[[Model, tuple[Stage, ...], Limits, Values | None], Solved]
"""The same for one objective after another."""
