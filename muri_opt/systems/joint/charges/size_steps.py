"""What jobs pay for more GPUs, step by step: the upper hull of what each of them is worth by its number of GPUs.

At a price of a GPU a job asks for the steps that are worth more for each of their GPUs. A job's steps are worth less
and less, so that the prices of many jobs, or of many parts of them, are told by sorting the steps once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.jobs.job_model import Floats

Bools = NDArray[np.bool_]
_SHORT = 1 << 16
"""Numbers below it are sorted in two bytes each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeSteps:
    """Step i of row ``row[i]`` is worth ``worth[i]`` for each of its ``gpus[i]`` GPUs; those worth most come first."""

    row: Ints
    worth: Floats
    gpus: Ints

    @classmethod
    def of(cls, value: Floats, counts: Ints) -> SizeSteps:
        """Return the steps of rows that add ``value[u, k]`` with ``counts[k]`` GPUs, nothing with ``counts[0]`` of 0.

        >>> steps = SizeSteps.of(np.array([[0.0, 5.0, 12.0], [0.0, 4.0, 5.0]]), np.array([0, 1, 2]))
        >>> steps.row.tolist(), steps.worth.tolist(), steps.gpus.tolist()
        ([0, 0, 1, 1], [6.0, 6.0, 4.0, 1.0], [1, 1, 1, 1])
        """
        at, gpus = np.ascontiguousarray(value.T), np.diff(counts)
        hull = np.full((len(gpus), len(value)), np.inf)
        for first in range(len(gpus)):
            slope = (at[first + 1 :] - at[first]) / (counts[first + 1 :] - counts[first])[:, None]
            steepest = np.maximum.accumulate(slope[::-1])[::-1]  # to this size or one behind it
            np.minimum(hull[first:], steepest, out=hull[first:])
        step, row = (hull > 0).nonzero()
        worth = hull[step, row]
        line = np.argsort(-worth, kind="stable")
        return cls(row=row[line], worth=worth[line], gpus=gpus[step[line]])

    def price(self, gpus: int, among: Bools | None = None) -> float:
        """Return the least price at which rows ``among`` some, all if ``None``, ask for no more than ``gpus``."""
        asked = self.gpus if among is None else np.where(among[self.row], self.gpus, 0)
        beyond = int(np.searchsorted(np.cumsum(asked), gpus, side="right"))
        return float(self.worth[beyond]) if beyond < len(self.worth) else 0.0

    def asked(self, price: float, rows: int) -> Ints:
        """Return for how many GPUs each of so many rows asks at a price."""
        few = int(np.searchsorted(-self.worth, -price))
        return np.bincount(self.row[:few], weights=self.gpus[:few], minlength=rows).astype(np.int64)

    def prices_of_each(self, row: Ints, of: Ints, limits: Ints) -> tuple[Floats, Ints]:
        """Return the least price at which the rows of each limit ask for no more, and what each asks for at it.

        Row ``row[e]`` counts for limit ``of[e]``; it may count for several, and asks at the price of each.

        >>> steps = SizeSteps.of(np.array([[0.0, 5.0, 9.0], [0.0, 4.0, 5.0]]), np.array([0, 1, 2]))
        >>> price, asked = steps.prices_of_each(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([2, 9]))
        >>> price.tolist(), asked.tolist()
        ([4.0, 0.0], [1, 1, 2])
        """
        by_row = _in_order(row)
        start = np.searchsorted(row[by_row], np.arange(int(self.row.max(initial=-1)) + 2))
        count = np.diff(start)[self.row]
        at = np.repeat(np.arange(len(count)), count)
        entry = by_row[np.repeat(start[self.row] + count - np.cumsum(count), count) + np.arange(len(at))]
        line = _in_order(of[entry])  # the steps of each limit, those worth most first
        at, entry, whose = at[line], entry[line], of[entry[line]]
        gpus = self.gpus[at]
        total = np.bincount(whose, weights=gpus, minlength=len(limits)).astype(np.int64)
        fits = np.cumsum(gpus) - (np.cumsum(total) - total)[whose] <= limits[whose]
        price = np.zeros(len(limits))
        np.maximum.at(price, whose[~fits], self.worth[at[~fits]])
        return price, np.bincount(entry[fits], weights=gpus[fits], minlength=len(row)).astype(np.int64)


def _in_order(codes: Ints) -> Ints:
    """Return places in the order of their codes; short ones are sorted several times as fast."""
    return np.argsort(codes.astype(np.uint16) if codes.max(initial=0) < _SHORT else codes, kind="stable")
