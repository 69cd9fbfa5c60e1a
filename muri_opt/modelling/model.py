"""The language between formulations and backends: an integer program held in numpy arrays.

A model has families of columns and families of rows. A family has one label, the letter or word its chapter uses, and
an index per member, so that ``x_3_1`` or ``gpus[2]`` means the same in the book, in the code and in an ``.lp`` file.
All coefficients are whole numbers (int64); a solver that works in floating point is given them unchanged or refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
RowSense = Literal["<=", ">=", "="]

INFINITY: Final = 1 << 62
"""A bound of this size or larger is no bound."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """A family of variables of one kind; ``index[i]`` are the subscripts of its i-th member."""

    label: str
    index: Ints
    lower: Ints
    upper: Ints
    integer: bool

    def __len__(self) -> int:
        return len(self.lower)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """A family of linear rows of one sense, in compressed sparse rows (``starts`` has one entry more than rows)."""

    label: str
    index: Ints
    sense: RowSense
    rhs: Ints
    starts: Ints
    columns: Ints
    coefficients: Ints

    def __len__(self) -> int:
        return len(self.rhs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matrix:
    """All rows of a model as one sparse matrix with two-sided bounds."""

    starts: Ints
    columns: Ints
    coefficients: Ints
    lower: Ints
    upper: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """One objective over families of columns and rows."""

    name: str
    maximise: bool
    columns: tuple[Columns, ...]
    objective: Ints
    rows: tuple[Rows, ...]

    @cached_property
    def lower(self) -> Ints:
        """Lower bounds of all columns."""
        return _concatenate([family.lower for family in self.columns])

    @cached_property
    def upper(self) -> Ints:
        """Upper bounds of all columns."""
        return _concatenate([family.upper for family in self.columns])

    @cached_property
    def integer(self) -> NDArray[np.bool_]:
        """For each column, whether it must be whole."""
        parts = [np.full(len(family), family.integer) for family in self.columns]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)

    @property
    def column_count(self) -> int:
        """Number of variables."""
        return len(self.objective)

    @cached_property
    def row_count(self) -> int:
        """Number of rows."""
        return sum(len(family) for family in self.rows)

    @cached_property
    def matrix(self) -> Matrix:
        """The rows as one sparse matrix, families in order."""
        sizes = np.cumsum([0] + [len(family.columns) for family in self.rows])
        starts = [family.starts[:-1] + size for family, size in zip(self.rows, sizes[:-1], strict=True)]
        return Matrix(
            starts=np.append(_concatenate(starts), sizes[-1]).astype(np.int64),
            columns=_concatenate([family.columns for family in self.rows]),
            coefficients=_concatenate([family.coefficients for family in self.rows]),
            lower=_concatenate([np.full_like(f.rhs, -INFINITY) if f.sense == "<=" else f.rhs for f in self.rows]),
            upper=_concatenate([np.full_like(f.rhs, INFINITY) if f.sense == ">=" else f.rhs for f in self.rows]),
        )

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names such as ``x_3_1``, safe in every file format."""
        return tuple(_name(family.label, subscripts) for family in self.columns for subscripts in family.index.tolist())

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows such as ``gpus_2``."""
        return tuple(_name(family.label, subscripts) for family in self.rows for subscripts in family.index.tolist())

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all constraint families, as the chapter of the model lists them."""
        return tuple(family.label for family in self.rows)


def _concatenate(parts: list[Ints]) -> Ints:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


def _name(label: str, subscripts: list[int]) -> str:
    return "_".join([label, *map(str, subscripts)])
