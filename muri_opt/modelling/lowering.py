"""Groups and implications written as plain rows, for solvers that know rows only.

Why the lowered model has the same solutions. A group of binaries with exactly (at most) one 1 *is* the row "their sum
is (at most) 1". An implication "where b = 1, a.x <= r" becomes a.x + M b <= r + M with M = max(0, U - r) and U the
largest value of a.x over the bounds of x: for b = 1 it reads a.x <= r, and for b = 0 it reads a.x <= max(r, U), which
every x within its bounds satisfies. The case >= is the mirror image. M is computed from the bounds in exact integers.
Where b is itself part of a.x its two coefficients are added up, and for M = 0 the row holds whatever b is.
"""

from __future__ import annotations

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.modelling.model import INFINITY, Groups, Implications, Ints, Model, Rows
from muri_opt.modelling.sparse_arrays import compress


def lower(model: Model) -> Model:
    """Return an equal model of plain rows; labels and indices are kept."""
    if not model.groups and not model.implications:
        return model
    extra = [group_rows(family) for family in model.groups]
    extra += [_implication_rows(model, family) for family in model.implications]
    return Model(
        name=model.name,
        maximise=model.maximise,
        columns=model.columns,
        objective=model.objective,
        rows=(*model.rows, *extra),
    )


def group_rows(family: Groups) -> Rows:
    """Return the rows that say the same as the groups."""
    return Rows(
        label=family.label,
        index=family.index,
        sense="=" if family.kind == "exactly-one" else "<=",
        rhs=np.ones(len(family), dtype=np.int64),
        starts=family.starts,
        columns=family.columns,
        coefficients=np.ones(len(family.columns), dtype=np.int64),
    )


def _implication_rows(model: Model, family: Implications) -> Rows:
    rows = family.rows
    sign = 1 if rows.sense == "<=" else -1
    reach = _largest_activity(model, rows, sign)
    slack = [max(0, most - sign * int(right)) for most, right in zip(reach, rows.rhs.tolist(), strict=True)]
    if any(m > 0 and max(m, abs(most)) >= INFINITY for m, most in zip(slack, reach, strict=True)):
        raise RefusalError(rows.label, "an implication over columns that reach 2**62", "closer bounds on its columns")
    big = sign * np.array(slack, dtype=np.int64)
    row = np.arange(len(rows))
    entries = (
        np.concatenate([np.repeat(row, np.diff(rows.starts)), row]),
        np.concatenate([rows.columns, family.when]),
        np.concatenate([rows.coefficients, big]),
    )
    starts, columns, coefficients = compress(rows.label, entries, len(rows), model.column_count)
    return Rows(
        label=rows.label,
        index=rows.index,
        sense=rows.sense,
        rhs=rows.rhs + big,
        starts=starts,
        columns=columns,
        coefficients=coefficients,
    )


def _largest_activity(model: Model, rows: Rows, sign: int) -> list[int]:
    """Return for each row the largest value of sign * (its left side) over the column bounds, in exact integers."""
    coefficients: Ints = sign * rows.coefficients
    bound = np.where(coefficients > 0, model.upper[rows.columns], model.lower[rows.columns])
    if np.any(np.abs(bound) >= INFINITY):
        raise RefusalError(rows.label, "an implication over unbounded columns", "finite bounds on its columns")
    terms = coefficients.astype(object) * bound.astype(object)
    return [sum(terms[start:stop]) for start, stop in zip(rows.starts[:-1], rows.starts[1:], strict=True)]
