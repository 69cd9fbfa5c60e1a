"""What room costs on every node: the slopes and the loss at which the jobs there give it."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.rubick.node_occupants import Occupants

Floats = NDArray[np.float64]

RESOURCES: Final = (0, 1, 2)
"""GPUs, CPUs, memory: the order in which they are taken."""


class Prices:
    """Per number of GPUs free and node: the highest slope of the steps to get there, and what is lost by them.

    Also per resource and node the slope of the first step to more of it.
    """

    def __init__(self, gpus: Ints) -> None:
        most = int(gpus.max(initial=0))
        self._highest = np.full((most + 1, len(gpus)), np.inf)
        self._loss = np.full((most + 1, len(gpus)), np.inf)
        self._first = np.full((len(RESOURCES), len(gpus)), np.inf)

    @property
    def lowest(self) -> float:
        """The lowest slope of a job that can give a GPU."""
        return float(self._first[0].min(initial=np.inf))

    def update(self, occupants: Occupants) -> None:
        """Work out the prices of a node from those who are on it now."""
        node = occupants.node
        for resource in RESOURCES:
            step = occupants.after(resource)
            self._first[resource, node] = np.inf if step is None else step[0]
        self._highest[:, node] = self._loss[:, node] = np.inf
        highest = -np.inf
        for gpus in range(len(self._loss)):
            while occupants.free[0] < gpus:
                step = occupants.after(0)
                if step is None:
                    return
                highest, occupants = max(highest, step[0]), step[1]
            self._highest[gpus, node], self._loss[gpus, node] = highest, occupants.loss

    def of(self, gpus: Ints, slopes: Floats, short: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return per part of so many GPUs and node: the slope of the first step to room, and the least loss.

        ``short`` says per part and node which resources are. Both are infinite where the receiver's slopes are too low;
        the slope is minus infinite where there is room.
        """
        first = np.full((len(gpus), short.shape[2]), -np.inf)
        for resource in reversed(RESOURCES):
            highest = self._highest[gpus] if resource == 0 else self._first[resource]
            steep = np.where(highest < slopes[:, resource, None], self._first[resource], np.inf)
            first = np.where(short[:, resource], steep, first)
        return first, np.where(first < np.inf, self._loss[gpus], np.inf)
