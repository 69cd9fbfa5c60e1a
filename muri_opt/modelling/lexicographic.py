"""Lexicographic objectives: stages optimised one after another, combined into one whole number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from muri_opt.modelling.model import Ints, Model, Rows

STAGE_DIGITS: Final = 16
"""Choices decided in one stage where each outweighs all after it: their binary weights stay small and exact."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stage:
    """One objective of several: a unit of it is worth ``weight``, more than all later stages together.

    ``best`` is a value no solution exceeds (for a maximisation), so that later stages have a bound before they are
    solved. ``digits`` are columns, each with a unit, from the largest to 1: added up they are at most the value of the
    objective, and can be as much, all but the first below the unit before. They are held in place of an objective whose
    coefficients are too large for a row.
    """

    objective: Ints
    weight: int
    best: int
    digits: tuple[tuple[int, int], ...] = ()


def stage_model(model: Model, stages: Sequence[Stage], reached: Sequence[int]) -> Model:
    """Return the model of the next stage: its objective, with every earlier stage held at what it reached."""
    held = list(zip(stages, reached, strict=False))
    rows = tuple(_held_row(position, stage, value) for position, (stage, value) in enumerate(held))
    return replace(model, objective=stages[len(held)].objective, rows=(*model.rows, *rows))


def combined_value(stages: Sequence[Stage], reached: Sequence[int]) -> int:
    """Return the value of a solution from the values it reaches in each stage."""
    return sum(stage.weight * value for stage, value in zip(stages, reached, strict=True))


def combined_bound(stages: Sequence[Stage], proved: Sequence[int], bound: int | None) -> int:
    """Return the bound when the first stages are ``proved``, the next has ``bound`` and the rest are open."""
    known = [*proved, *([] if bound is None else [bound])]
    rest = [stage.best for stage in stages[len(known) :]]
    return combined_value(stages, [*known, *rest])


def _held_row(position: int, stage: Stage, value: int) -> Rows:
    if stage.digits:
        return _held_digits(position, stage, value)
    columns = np.flatnonzero(stage.objective)
    return Rows(
        label="stage",
        index=np.array([[position]], dtype=np.int64),
        sense="=",
        rhs=np.array([value], dtype=np.int64),
        starts=np.array([0, len(columns)], dtype=np.int64),
        columns=columns.astype(np.int64),
        coefficients=stage.objective[columns],
    )


def _held_digits(position: int, stage: Stage, value: int) -> Rows:
    """Return a row for each digit of the value."""
    digits = []
    for _, unit in stage.digits:
        digits.append(value // unit)
        value %= unit
    count = len(digits)
    return Rows(
        label="stage",
        index=np.array([[position, digit] for digit in range(count)], dtype=np.int64),
        sense="=",
        rhs=np.array(digits, dtype=np.int64),
        starts=np.arange(count + 1, dtype=np.int64),
        columns=np.array([column for column, _ in stage.digits], dtype=np.int64),
        coefficients=np.ones(count, dtype=np.int64),
    )
