"""Making a model from arrays: whole families at a time, checked as they come in."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.errors import InputError
from muri_opt.modelling.labels import check_label
from muri_opt.modelling.model import INFINITY, Columns, Ints, Model, Rows, RowSense
from muri_opt.modelling.sparse_arrays import added_up, compress, spread, subscripts, triplets, whole_numbers


class ModelBuilder:
    """Collects families; each call adds one and refuses it whole if anything in it is wrong."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._columns: list[Columns] = []
        self._count = 0
        self._rows: list[Rows] = []

    def add_columns(
        self, label: str, index: ArrayLike, *, lower: ArrayLike = 0, upper: ArrayLike = 1, integer: bool = True
    ) -> Ints:
        """Add one column per row of ``index`` (subscripts) and return their positions in the model."""
        members = subscripts(f"{label}.index", index)
        check_label(label, alone=members.shape[1] == 0)
        size = len(members)
        low = spread(f"{label}.lower", whole_numbers(f"{label}.lower", lower, most=INFINITY), size)
        high = spread(f"{label}.upper", whole_numbers(f"{label}.upper", upper, most=INFINITY), size)
        wrong = (low > high) | (low == INFINITY) | (high == -INFINITY)
        if np.any(wrong):
            at = int(np.argmax(wrong))
            raise InputError(f"{label}[{at}]", f"bounds {low[at]} to {high[at]}", "a lower bound not above the upper")
        self._columns.append(Columns(label=label, index=members, lower=low, upper=high, integer=integer))
        positions = np.arange(self._count, self._count + size, dtype=np.int64)
        self._count += size
        return positions

    def add_rows(
        self,
        label: str,
        index: ArrayLike,
        *,
        entries: tuple[ArrayLike, ArrayLike, ArrayLike],
        sense: RowSense,
        rhs: ArrayLike,
    ) -> None:
        """Add one row per row of ``index``; ``entries`` are (row in this family, column, coefficient) triplets."""
        if sense not in get_args(RowSense):
            raise InputError(f"{label}.sense", repr(sense), "one of " + ", ".join(map(repr, get_args(RowSense))))
        members = subscripts(f"{label}.index", index)
        check_label(label, alone=members.shape[1] == 0)
        size = len(members)
        parts = triplets(
            label,
            whole_numbers(f"{label}.row", entries[0]),
            self._positions(label, entries[1]),
            whole_numbers(f"{label}.coefficient", entries[2]),
        )
        rows = parts[0]
        if rows.size and (rows.min() < 0 or rows.max() >= size):
            raise InputError(f"{label}.row", f"{rows.min()} to {rows.max()}", f"0 to {size - 1}")
        starts, columns, coefficients = compress(label, parts, size, self._count)
        right = spread(f"{label}.rhs", whole_numbers(f"{label}.rhs", rhs), size)
        self._rows.append(
            Rows(
                label=label,
                index=members,
                sense=sense,
                rhs=right,
                starts=starts,
                columns=columns,
                coefficients=coefficients,
            )
        )

    def finish(self, *, maximise: bool, columns: ArrayLike, coefficients: ArrayLike) -> Model:
        """Return the model with the given objective; columns not named cost nothing."""
        _, places, amounts = triplets(
            "objective",
            np.zeros((), dtype=np.int64),
            self._positions("objective", columns),
            whole_numbers("objective.coefficient", coefficients),
        )
        objective = added_up("objective", self._count, places, amounts)
        return Model(
            name=self._name,
            maximise=maximise,
            columns=tuple(self._columns),
            objective=objective,
            rows=tuple(self._rows),
        )

    def _positions(self, label: str, columns: ArrayLike) -> Ints:
        positions = whole_numbers(f"{label}.column", columns)
        if positions.size and (positions.min() < 0 or positions.max() >= self._count):
            raise InputError(f"{label}.column", f"{positions.min()} to {positions.max()}", f"0 to {self._count - 1}")
        return positions
