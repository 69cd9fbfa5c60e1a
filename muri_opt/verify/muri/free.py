"""The verifier's own arithmetic of jobs that share GPUs freely: a rate for each, measured or by mean value analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.verify.amounts import word_for
from muri_opt.verify.muri.periods import Ints

MILLION: Final = 1_000_000
OWN: Final = (
    "cpu",
    "none",
    "network",
    "storage",
    "cpu+network",
    "cpu+storage",
    "network+storage",
    "cpu+network+storage",
)
"""Resources of which every job may have its own part; the first is usual."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FreeRates:
    """Which resources are each job's ``own``, the ``model`` of each job by position, and what was ``measured``.

    ``model`` is -1 for a job of which nothing was measured; ``measured`` has, by the models of a group in ascending
    order, the rate of each of them in parts per million.
    """

    own: tuple[bool, ...]
    model: Ints
    measured: Mapping[tuple[int, ...], Mapping[int, int]]

    @classmethod
    def of(cls, round_: Round, own: str) -> FreeRates:
        """Return what a round says, resources being a job's own by their names."""
        known: dict[str, int] = {}
        measured = {}
        for item in round_.together:
            models = [known.setdefault(model, len(known)) for model in item.models]
            rates: dict[int, list[int]] = {}
            for model, rate in zip(models, item.rates, strict=True):
                rates.setdefault(model, []).append(min(MILLION, max(1, round(MILLION * min(rate, 1.0)))))
            measured[tuple(sorted(models))] = {model: sum(some) // len(some) for model, some in rates.items()}
        of_jobs = [-1 if job.model is None else known.get(job.model, -1) for job in round_.jobs]
        mine = own.split("+")
        return cls(
            own=tuple(resource in mine for resource in round_.resources),
            model=np.array(of_jobs, dtype=np.int64),
            measured=measured,
        )

    def rates(self, groups: Ints, stages: Ints) -> Ints:
        """Return the rates of the jobs of each group against running alone, in parts per million.

        ``groups[g]`` are the positions of its jobs and ``stages[g, j]`` the times of their stages.
        """
        found = predicted(stages, self.own)
        if self.measured:
            for place, models in enumerate(self.model[groups].tolist()):
                said = self.measured.get(tuple(sorted(models)))
                if said is not None:
                    found[place] = np.array([said[model] for model in models])
        return found


def predicted(stages: Ints, own: tuple[bool, ...]) -> Ints:
    """Return the rates of jobs that share freely by mean value analysis, in parts per million.

    A job is at a resource, of the time of its iteration, the part that its stage takes, stretched by the mean number of
    others that are there while it is away; of what is its own nothing is stretched. All is rounded down to millionths.
    """
    count, jobs, kinds = stages.shape
    whole = stages.sum(axis=2)
    word = word_for(MILLION * int(stages.max(initial=0)))
    part = [
        [MILLION * stages[:, job, r].astype(word) // np.maximum(whole[:, job], 1).astype(word) for r in range(kinds)]
        for job in range(jobs)
    ]
    part = [[one.astype(np.int64) for one in some] for some in part]
    there: dict[tuple[int, ...], list[Ints]] = {(): [np.zeros(count, dtype=np.int64) for _ in range(kinds)]}

    def spent(job: int, others: tuple[int, ...]) -> list[Ints]:
        queue = lengths(others)
        return [one * (MILLION + (0 if own[r] else queue[r])) for r, one in enumerate(part[job])]

    def lengths(some: tuple[int, ...]) -> list[Ints]:
        if some not in there:
            there[some] = [np.zeros(count, dtype=np.int64) for _ in range(kinds)]
            for job in some:
                mine = spent(job, tuple(other for other in some if other != job))
                total = np.maximum(1, sum(mine))
                there[some] = [so_far + MILLION * one // total for so_far, one in zip(there[some], mine, strict=True)]
        return there[some]

    rates = np.full((count, jobs), MILLION, dtype=np.int64)
    for job in range(jobs):
        total = sum(spent(job, tuple(other for other in range(jobs) if other != job)))
        alone = sum(part[job])
        rates[:, job] = np.where(alone > 0, alone * MILLION * MILLION // np.maximum(1, total), MILLION)
    return rates
