"""Classes of priorities: which jobs count first, and how often the value of each class counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.verify.muri.rules import UNITS, Sharing
from muri_opt.verify.priorities import level_of_each


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classes:
    """Job j is of class ``of_job[j]``, 0 being that of the largest priority; class c counts ``weights[c]`` times."""

    of_job: NDArray[np.int64]
    weights: tuple[int, ...]

    @classmethod
    def of(
        cls, round_: Round, sharing: Sharing, stages: Sequence[int], alone: Sequence[int], ranks: Sequence[int]
    ) -> Classes:
        """Return the classes of a round; jobs have so long stages in all, time alone, and weight of their work.

        The weight of a class is the product, over those below it, of the least power of ten above what a class can gain
        or lose between any two decisions: for each of its jobs its value at the shortest period there can be, and one
        more unit; and under *GPU time* all GPUs. No period is shorter than the stages of a job, but that of the
        authors' recurrence.
        """
        number = level_of_each(round_)
        if len(number) < 2:
            return cls(of_job=np.zeros(len(round_.jobs), dtype=np.int64), weights=(1,))
        total = [0] * (1 + max(number.values()))
        for job, length, time, rank in zip(round_.jobs, stages, alone, ranks, strict=True):
            shortest = 1 if sharing.pattern == "muri-4slot" else max(1, length)
            counted, longest = {
                "efficiency": (1, length),
                "gpu-time": (job.gpus, time),
                "progress": (job.gpus * rank, time),
                "completion": (rank, time),
            }[sharing.objective]
            total[number[job.priority]] += counted * (longest // shortest + 1)
        if sharing.objective == "gpu-time":
            total = [some + round_.cluster.total_gpus for some in total]
        unit = UNITS[sharing.objective]
        weights = [1]
        for some in total[:0:-1]:
            power = 1
            while power <= unit * some:
                power *= 10
            weights.append(weights[-1] * power)
        of_job = np.array([number[job.priority] for job in round_.jobs], dtype=np.int64)
        return cls(of_job=of_job, weights=tuple(reversed(weights)))
