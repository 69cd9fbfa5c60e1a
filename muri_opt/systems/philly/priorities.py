"""Priorities: how much counts what for the jobs of each, and the weights that put one before another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.tenant_rules import WHOLE

Whole = NDArray[Any]
"""Whole numbers: machine words, or of any size at a cost."""


def priority_ranks(round_: Round) -> Ints:
    """Return the place of each job's priority among all, from the smallest on; all are 0 where there is one."""
    if "job.priority" not in round_.used_fields:
        return np.zeros(len(round_.jobs), dtype=np.int64)
    priorities = np.array([job.priority for job in round_.jobs], dtype=np.int64)
    return np.unique(priorities, return_inverse=True)[1].reshape(-1).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """K, P and the weight of all work for each priority, from the smallest on.

    The ``bases`` of each are one more than what it counts can differ by: GPUs within quotas, preempted GPUs, and work.
    """

    premium: tuple[int, ...]
    penalty: tuple[int, ...]
    work: tuple[int, ...]
    bases: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

    @classmethod
    def weighted(cls, count: int) -> Weights:
        """Return weights by which the n-th priority counts n times."""
        times = tuple(range(1, count + 1))
        thousands = tuple(WHOLE * each for each in times)
        return cls(premium=thousands, penalty=thousands, work=times, bases=((), (), ()))

    @classmethod
    def lexicographic(
        cls, gpus: Sequence[int], most: Sequence[int], costs: Sequence[int], preemptible: Sequence[int]
    ) -> Weights:
        """Return weights by which quotas come before preemptions before work, in each the larger priority first.

        For each priority: the GPUs of its jobs, the most that their work is worth, what all restarts cost, and the GPUs
        that may be preempted.
        """
        bases = (
            tuple(1 + each for each in gpus),
            tuple(1 + each for each in preemptible),
            tuple(1 + each + cost for each, cost in zip(most, costs, strict=True)),
        )
        unit, found = 1, list[tuple[int, ...]]()
        for part in reversed(bases):
            weights = []
            for base in part:
                weights.append(unit)
                unit *= base
            found.append(tuple(weights))
        work, penalty, premium = found
        return cls(premium=premium, penalty=penalty, work=work, bases=bases)
