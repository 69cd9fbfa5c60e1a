"""The program over some groups, as the search for more of them sees it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model, Values
from muri_opt.rounds import Decision, Round
from muri_opt.systems.muri.program_columns import GroupColumns

Floats = NDArray[np.float64]


class Program(Protocol):
    """The program over some groups."""

    def model_over(self, round_: Round, columns: GroupColumns) -> Model:
        """Return the program."""

    def prices_over(self, round_: Round, columns: GroupColumns, model: Model, row_duals: Floats) -> dict[str, Floats]:
        """Return the prices that duals of its relaxation stand for."""

    def decision_over(self, round_: Round, columns: GroupColumns, values: Values) -> Decision:
        """Return the decision that values stand for."""
