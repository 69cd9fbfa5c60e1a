"""The fewest jobs that give way so that a gang finds room, looked for once for all gangs of equal demands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from muri_opt.systems.philly.cluster_state import ClusterState

Way = TypeVar("Way")


class AskedOnce(ABC, Generic[Way]):
    """What is asked who gives way in a ``state``; made once, it answers for many gangs, till the state changes.

    How jobs may give way, and how the fewest are looked for, is said by what is derived from it.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._known: dict[tuple[int, int, int, int, int], Way | None] = {}

    def smallest(self, job: int, level: int) -> Way | None:
        """Return the jobs that give way, and where the gang is then; ``None`` if none are found.

        The gang may spread as far as ``level``; gangs of equal demands get equal answers.
        """
        amounts = self._state.amounts
        key = (int(amounts.g[job]), int(amounts.c[job]), int(amounts.m[job]), level, self._state.status.kind(job))
        if key not in self._known:
            self._known[key] = self._smallest(job, level)
        return self._known[key]

    @abstractmethod
    def _smallest(self, job: int, level: int) -> Way | None:
        """Return the same, not remembered."""
