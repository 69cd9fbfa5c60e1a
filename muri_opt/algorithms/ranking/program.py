"""Kemeny's order as a program: which of two jobs comes first, and no three in a circle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.ranking.rankings import Rankings
from muri_opt.modelling import Ints, Model, ModelBuilder, Values

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairProgram:
    """A model over pairs, the directed triangle each of its rows forbids, and what to add to its objective."""

    model: Model
    triangles: Ints
    constant: int


def kemeny_program(rankings: Rankings) -> Model:
    """Return the program of chapter `ranking` with all rows; its objective is a constant below the disagreement.

    The constant, the weight of all lists that put a before b for a < b, is the disagreement of the jobs in descending
    order, where every column is 0.

    >>> kemeny_program(Rankings.of([[0, 1, 2], [1, 0, 2]])).columns
    (Columns(label='y', index=array([[0, 1],
           [0, 2],
           [1, 2]]), lower=array([0, 0, 0]), upper=array([1, 1, 1]), integer=True),)
    """
    return pair_program(rankings.before, all_triangles(rankings.jobs)).model


def pair_program(before: Ints, triangles: Ints, fixed: NDArray[np.bool_] | None = None) -> PairProgram:
    """Return the program with the rows of some directed triangles, and pairs in ``fixed`` held a before b.

    A triangle is (a, b, c) with a the least: a before b before c before a. The rows of those with b < c are the
    family `forward`, the others, written for the same three jobs in ascending order, are `backward`.
    """
    jobs = len(before)
    first, second = np.triu_indices(jobs, 1)
    column = np.zeros((jobs, jobs), dtype=np.int64)
    column[first, second] = np.arange(len(first))
    builder = ModelBuilder("kemeny")
    held = np.zeros((jobs, jobs), dtype=np.bool_) if fixed is None else fixed
    lower, upper = held[first, second].astype(np.int64), 1 - held[second, first].astype(np.int64)
    y = builder.add_columns("y", np.column_stack([first, second]), lower=lower, upper=upper)
    onward = triangles[:, 1] < triangles[:, 2]
    for label, rows in (("forward", triangles[onward]), ("backward", triangles[~onward][:, [0, 2, 1]])):
        a, b, c = rows.T
        builder.add_rows(
            label,
            rows,
            entries=(
                np.repeat(np.arange(len(rows)), 3),
                np.column_stack([column[a, b], column[a, c], column[b, c]]).ravel(),
                np.tile([1, -1, 1], len(rows)),
            ),
            sense="<=" if label == "forward" else ">=",
            rhs=1 if label == "forward" else 0,
        )
    return PairProgram(
        model=builder.finish(maximise=False, columns=y, coefficients=(before.T - before)[first, second]),
        triangles=np.concatenate([triangles[onward], triangles[~onward]]),
        constant=int(before[first, second].sum()),
    )


def all_triangles(jobs: int) -> Ints:
    """Return both directed triangles of every three jobs, those in ascending order first."""
    first, second = np.triu_indices(jobs, 1)
    count = jobs - 1 - second
    a, b = np.repeat(first, count), np.repeat(second, count)
    c = np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count) + b + 1
    return np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, b])]).astype(np.int64)


def pair_values(order: Ints) -> Ints:
    """Return the columns of an order: 1 where the job of the lower number comes first."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first, second = np.triu_indices(len(order), 1)
    values: Ints = (place[first] < place[second]).astype(np.int64)
    return values


def pair_table(jobs: int, values: Values) -> Floats:
    """Return columns as a table: how much a comes before b, at ``[a, b]``."""
    table = np.zeros((jobs, jobs))
    first, second = np.triu_indices(jobs, 1)
    table[first, second] = values
    table[second, first] = 1 - values
    return table


def decoded(table: Floats) -> Ints:
    """Return the order of a table without circles; from any other, jobs by how many others they come before."""
    return np.argsort(-table.sum(axis=1), kind="stable").astype(np.int64)
