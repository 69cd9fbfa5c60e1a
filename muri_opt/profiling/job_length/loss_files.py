"""Losses of a run in a CSV file with the columns ``step`` and ``loss``."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.csv_rows import csv_rows, number, read_rows
from muri_opt.profiling.job_length.losses import MOST_LOSS
from muri_opt.rounds.quantities import MAX_ITERATIONS, finite, whole

COLUMNS: Final = ("step", "loss")


class LossSeries(NamedTuple):
    """Steps that grow, and the loss seen after each of them."""

    steps: tuple[int, ...]
    losses: tuple[float, ...]


def read_losses(path: str | os.PathLike[str]) -> LossSeries:
    """Return the losses in a file; every fault is one :class:`InputError` that names file, line and column."""
    return read_rows(path, "losses", parse_losses)


def parse_losses(text: str) -> LossSeries:
    """Return the losses in the text of a CSV file."""
    steps: list[int] = []
    losses: list[float] = []
    for row in csv_rows(text, COLUMNS):
        steps.append(number(row, "step", lambda place, value: whole(place, value, MAX_ITERATIONS), is_whole=True))
        losses.append(number(row, "loss", lambda place, value: finite(place, value, MOST_LOSS), is_whole=False))
        if len(steps) > 1 and steps[-1] <= steps[-2]:
            found = f"{steps[-1]} after {steps[-2]}"
            raise InputError(f"line {row.line}.step", found, "steps that grow from one to the next")
    return LossSeries(tuple(steps), tuple(losses))


def example_losses() -> str:
    """Return a file of losses to start from: 60 epochs of 1 / (0.02 k + 0.25) + 0.4, each off by up to 1 %."""
    lines = [",".join(COLUMNS)]
    for k in range(1, 61):
        off = (k * 7 % 11 - 5) / 500
        lines.append(f"{k},{(1 / (0.02 * k + 0.25) + 0.4) * (1 + off):.4f}")
    return "\n".join(lines) + "\n"
