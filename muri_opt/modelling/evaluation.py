"""Exact evaluation of an assignment: its objective value and every constraint it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.modelling.model import INFINITY, Model, Rows

Values = NDArray[np.int64] | NDArray[np.float64]
Number = int | Fraction
_SAFE = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One constraint an assignment breaks: ``by`` is how far it is from holding."""

    label: str
    index: tuple[int, ...]
    by: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The exact objective value of an assignment and all it breaks."""

    value: Number
    broken: tuple[Broken, ...]

    @property
    def feasible(self) -> bool:
        """Whether nothing is broken."""
        return not self.broken


def evaluate(model: Model, values: Values) -> Evaluation:
    """Return value and broken constraints of ``values``, without any rounding.

    Whole numbers are summed as integers, fractions as the exact rational numbers the floats stand for. A column outside
    its bounds is reported under the label of the column, and so is a fraction in an integer column.
    """
    if len(values) != model.column_count:
        raise InputError("values", f"{len(values)} numbers", f"{model.column_count}, one per column")
    if not np.isfinite(np.asarray(values, dtype=np.float64)).all():
        raise InputError("values", "NaN or infinity", "finite numbers")
    exact = _exact(model, values)
    broken = _broken_bounds(model, exact)
    for rows in model.rows:
        broken += _broken_rows(rows, exact)
    value = np.dot(exact, model.objective.astype(exact.dtype)) if len(exact) else 0
    return Evaluation(value=_plain(value), broken=tuple(broken))


def _exact(model: Model, values: Values) -> NDArray[Any]:
    """Return the values in int64 where no sum can overflow, in Python numbers elsewhere."""
    if values.dtype.kind in "biu":
        largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
        total = int(np.abs(model.objective).sum(dtype=object)) + sum(
            int(np.abs(family.coefficients).sum(dtype=object)) for family in model.rows
        )
        return values.astype(np.int64) if largest * (total + len(values)) < _SAFE else values.astype(object)
    exact = np.empty(len(values), dtype=object)
    exact[:] = [int(v) if v.is_integer() else Fraction(v) for v in values.tolist()]
    return exact


def _broken_rows(rows: Rows, exact: NDArray[Any]) -> list[Broken]:
    terms = exact[rows.columns] * rows.coefficients.astype(exact.dtype)
    running = np.concatenate([np.zeros(1, dtype=exact.dtype), np.cumsum(terms)])
    over = running[rows.starts[1:]] - running[rows.starts[:-1]] - rows.rhs.astype(exact.dtype)
    distance = {"<=": over, ">=": -over, "=": np.abs(over)}[rows.sense]
    return _report(rows.label, rows.index, distance, distance > 0)


def _broken_bounds(model: Model, exact: NDArray[Any]) -> list[Broken]:
    broken: list[Broken] = []
    offset = 0
    for family in model.columns:
        part = exact[offset : offset + len(family)]
        offset += len(family)
        low, high = family.lower.astype(exact.dtype), family.upper.astype(exact.dtype)
        outside = np.maximum(
            np.where(family.lower > -INFINITY, low - part, 0), np.where(family.upper < INFINITY, part - high, 0)
        )
        if family.integer and exact.dtype == object:
            outside = np.maximum(outside, [abs(v - round(v)) for v in part.tolist()])
        broken += _report(family.label, family.index, outside, outside > 0)
    return broken


def _report(label: str, index: NDArray[Any], distance: NDArray[Any], bad: NDArray[Any]) -> list[Broken]:
    return [
        Broken(label=label, index=tuple(index[at].tolist()), by=_plain(distance[at]))
        for at in np.flatnonzero(bad).tolist()
    ]


def _plain(number: Any) -> Number:
    return number if isinstance(number, Fraction) else int(number)
