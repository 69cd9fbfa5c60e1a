"""Enumeration of joint rounds: the first job waits, or is in one of its groups, and then the others are decided.

What is left after some groups is a state; a subclass says what that is and how a group changes it. Values of states
that were met before are remembered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import combinations
from typing import Generic, TypeVar

from muri_opt.rounds import Round
from muri_opt.verify.enumeration import Steps
from muri_opt.verify.joint.value import Workers
from muri_opt.verify.tenant_lines import most_gpus, tenant_lines

State = TypeVar("State")


class GroupSearch(ABC, Generic[State]):
    """One enumeration, within some steps; ``quotas`` are the GPUs that tenants with a quota may have."""

    start: State
    """What there is before anybody has anything."""

    def __init__(self, round_: Round, workers: Workers, steps: Steps) -> None:
        self._workers, self._steps = workers, steps
        limits, lines = most_gpus(round_), tenant_lines(round_)
        self.quotas = tuple(limits.values())
        self._quotas_of = [
            [place for place, tenant in enumerate(limits) if tenant in lines.get(job.tenant or "", ())]
            for job in round_.jobs
        ]
        self._known: dict[tuple[frozenset[int], State], int] = {}

    def best_value(self) -> int:
        """Return the value of the best joint round."""
        return self._best(frozenset(range(len(self._quotas_of))), self.start)

    @abstractmethod
    def after(self, group: tuple[int, ...], state: State) -> Iterator[tuple[int, State]]:
        """Yield the value of each way to run a group with what is left, and what is left then."""

    @abstractmethod
    def is_empty(self, state: State) -> bool:
        """Return whether nothing is left that a group could have."""

    def quotas_after(self, group: tuple[int, ...], gpus: int, quotas: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return what is left of quotas when all jobs of a group have so many GPUs; ``None`` where one is exceeded."""
        left = list(quotas)
        for job in group:
            for quota in self._quotas_of[job]:
                left[quota] -= gpus
        return tuple(left) if min(left, default=0) >= 0 else None

    def _best(self, jobs: frozenset[int], state: State) -> int:
        """Return the most that jobs can add with what is left."""
        if not jobs or self.is_empty(state):
            return 0
        key = jobs, state
        if key not in self._known:
            self._steps.count()
            first = min(jobs)
            rest = jobs - {first}
            found = self._best(rest, state)
            for size in range(self._workers.most_jobs):
                for others in combinations(sorted(rest), size):
                    for value, then in self.after((first, *others), state):
                        found = max(found, value + self._best(rest - set(others), then))
            self._known[key] = found
        return self._known[key]
