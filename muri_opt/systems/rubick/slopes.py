"""How much a job gains by what it could have more: the slopes by which Rubick decides."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import inf
from typing import Final

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import by_worth
from muri_opt.systems.plans.options import PlanOptions

NOTHING: Final = -1
"""The option of a job that waits."""

_UNITS: Final = (1, 1000, 1024)
"""Slopes are per GPU, per CPU and per GiB."""


class Curves:
    """The options of all jobs as plain numbers: what they are worth on their own, what a part takes, what all take.

    The worth is normalised throughput over the horizon, less the time of a restart, in millionths; that a guaranteed
    job runs at all is left out, since slopes compare throughput. Jobs with equal options have the same ``number``: what
    one of them that waits is refused, the others are. Where parts are of two sizes, ``part`` is a larger one: others
    make room for as many of these, and what is really taken on a node is :meth:`on`. ``fewest`` are the GPUs of the
    smallest part of each job.
    """

    def __init__(self, options: PlanOptions) -> None:
        worth = options.e - options.served * options.guaranteed[options.job]
        self.worth: list[int] = worth.tolist()
        self.parts: Ints = np.stack([options.g, options.c, options.m], axis=1)
        self.least = _rows(self.parts)
        self._larger = {option: count for option, (count, _) in options.larger.items()}
        if self._larger:
            self.parts[list(self._larger)] = [part for _, part in options.larger.values()]
        self.part = _rows(self.parts) if self._larger else self.least
        self.anywhere: list[bool] = (np.all(options.hosts, axis=1)[options.kind] & (options.home < 0)).tolist()
        self.q: list[int] = options.q.tolist()
        self.total = _rows(np.stack(options.totals, axis=1))
        self.best_first = by_worth(options)
        self.fewest = [min((self.part[o][0] for o in mine), default=0) for mine in self.best_first]
        rows = np.column_stack([worth, self.parts, options.q, options.kind, options.home])
        if self._larger:
            rows = np.column_stack([rows, *options.totals])
        known: dict[bytes, int] = {}
        self.number = [known.setdefault(rows[a:b].tobytes(), len(known)) for a, b in pairwise(options.first.tolist())]

    def on(self, option: int, nodes: Ints, node: int) -> tuple[int, int, int]:
        """Return what an option on some nodes takes from one of them; its larger parts are on the first ones."""
        few = option in self._larger and node not in nodes[: self._larger[option]]
        return self.least[option] if few else self.part[option]

    def gain(self, now: int, then: int) -> int:
        """Return what an option is worth more than another, or than waiting."""
        return self.worth[then] - self._worth(now)

    def loss(self, now: int, then: int) -> int:
        """Return what an option is worth more than a smaller one, or than being evicted."""
        return self._worth(now) - self._worth(then)

    def slopes(self, now: int, then: int) -> tuple[float, float, float]:
        """Return the gain per GPU, per CPU and per GiB more; 0 for what the option takes no more of."""
        gain = self.gain(now, then)
        more = self.more(now, then)
        return (
            gain * _UNITS[0] / more[0] if more[0] > 0 else 0.0,
            gain * _UNITS[1] / more[1] if more[1] > 0 else 0.0,
            gain * _UNITS[2] / more[2] if more[2] > 0 else 0.0,
        )

    def more(self, now: int, then: int) -> tuple[int, int, int]:
        """Return how many GPUs, milli-CPUs and MiB more one option takes than another."""
        has, takes = self._total(now), self._total(then)
        return takes[0] - has[0], takes[1] - has[1], takes[2] - has[2]

    def slope(self, now: int, options: Iterable[int]) -> float:
        """Return the steepest way up from an option: the largest gain per extra GPU of any other option.

        Where the GPUs are no more it is per extra CPU, then per extra GiB; a gain that takes nothing more is infinitely
        steep. Looking past the next GPU matters: many curves are flat for some GPUs and then rise.
        """
        return max((self._steepness(now, then) for then in options if self.gain(now, then) > 0), default=0.0)

    def _steepness(self, now: int, then: int) -> float:
        return next((slope for slope in self.slopes(now, then) if slope > 0), inf)

    def _worth(self, option: int) -> int:
        return self.worth[option] if option >= 0 else 0

    def _total(self, option: int) -> tuple[int, int, int]:
        return self.total[option] if option >= 0 else (0, 0, 0)


def _rows(amounts: Ints) -> list[tuple[int, int, int]]:
    return list(zip(*amounts.T.tolist(), strict=True))


def per_unit(loss: float, freed: int, resource: int) -> float:
    """Return a loss per GPU, CPU or GiB freed."""
    return loss * _UNITS[resource] / freed
