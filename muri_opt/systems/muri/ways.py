"""The ways in which a group may run: in lock step, with slots and one period for all, or freely, each at its rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from muri_opt.rounds import Job, Round, Together
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import Placed
from muri_opt.systems.muri.mean_value import MILLION, free_rates

RUNS: Final = ("lock-step", "free", "best")
"""Every group in lock step, every group free, or each in the way in which it is worth more."""
_MAY_BE_OWN: Final = ("cpu", "network", "storage")
OWN: Final = (
    "cpu",
    "none",
    *("+".join(some) for size in (1, 2, 3) for some in combinations(_MAY_BE_OWN, size) if some != ("cpu",)),
)
"""Resources of which every job may have its own part; all others are shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Rates, in parts per million, that were measured of models together, by their numbers in ascending order."""

    models: tuple[int, ...]
    rates: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How groups of a round may run: ``run`` is one of :data:`RUNS`.

    ``own`` says of which resources each job has its own part. ``models`` are the names of those that were measured
    together, which have the numbers from 0 on.

    >>> Ways.of(shipped_round("toy/eight-stages"), "free", "cpu").own
    (False, True, False, False)
    """

    run: str = "lock-step"
    own: tuple[bool, ...] = ()
    models: tuple[str, ...] = ()
    measured: tuple[Measured, ...] = ()

    @classmethod
    def of(cls, round_: Round, run: str, own: str) -> Ways:
        """Return the ways in which groups of a round may run."""
        if run == "lock-step":
            return LOCK_STEP
        names = own.split("+")
        models = tuple(sorted({model for item in round_.together for model in item.models}))
        number = {model: place for place, model in enumerate(models)}
        return cls(
            run=run,
            own=tuple(resource in names for resource in round_.resources),
            models=models,
            measured=tuple(_measured(item, number) for item in round_.together),
        )

    def numbers(self, jobs: Sequence[Job]) -> Ints:
        """Return the number of the model of each job, -1 for one that was not measured."""
        if not self.models:
            return np.full(len(jobs), -1, dtype=np.int64)
        number = {model: place for place, model in enumerate(self.models)}
        return np.array([number.get(job.model or "", -1) for job in jobs], dtype=np.int64)

    def with_models(self, stages: Ints, models: Ints) -> Ints:
        """Return rows of stage times, each with the number of the model at its end where any was measured."""
        return np.column_stack([stages, models]) if self.models else stages

    def efficiencies(self, rows: Ints, slots: int, parts: int) -> Ints:
        """Return the efficiency of groups that run freely, so many parts being one; ``rows[g, j]`` is one of those."""
        stages, models = (rows[..., :-1], rows[..., -1]) if self.models else (rows, np.full(rows.shape[:2], -1))
        busy = np.where(stages.any(axis=2), self.rates(stages, models), 0)
        return np.asarray(busy.sum(axis=1) * (parts // MILLION) // max(1, slots))

    def rates(self, stages: Ints, models: Ints) -> Ints:
        """Return the rates of the jobs of groups that run freely, in parts per million: measured, or by the model.

        ``models[g, j]`` is the number of the model of the j-th job of group g.
        """
        rates = free_rates(stages, self.own)
        ordered = np.sort(models, axis=1)
        for item in self.measured:
            if len(item.models) == models.shape[1]:
                groups = np.flatnonzero((ordered == item.models).all(axis=1))
                for model, rate in zip(item.models, item.rates, strict=True):
                    rates[groups] = np.where(models[groups] == model, rate, rates[groups])
        return rates


LOCK_STEP: Final = Ways()
"""Muri's way: a group has slots, and one period for all."""


def _measured(item: Together, number: dict[str, int]) -> Measured:
    """Return a measurement with the models in order; one that was measured several times in it has the mean rate.

    Nobody is faster with others than alone: a rate above 1 counts as 1, so that what bounds a group bounds it still.
    """
    times, total = Counter(item.models), Counter[str]()
    for model, rate in zip(item.models, item.rates, strict=True):
        total[model] += max(1, round(min(1.0, rate) * MILLION))
    models = sorted(item.models)
    return Measured(
        models=tuple(number[model] for model in models), rates=tuple(total[model] // times[model] for model in models)
    )


def freely(jobs: tuple[int, ...], share: Ints, rates: tuple[float, ...]) -> Placed:
    """Return a group that runs freely at these rates; without slots its order is that of its jobs."""
    return Placed(jobs=jobs, share=share, order=tuple(range(len(jobs))), rates=rates)
