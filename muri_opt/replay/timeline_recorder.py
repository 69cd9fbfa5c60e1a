"""Notes of a replay: how full the cluster is after each event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from muri_opt.replay.outcome import Timeline


@dataclass(slots=True)
class Recorder:
    """Notes one line per moment; a later note of the same moment replaces the earlier one."""

    resources: int = 0
    nodes: int = 0
    _seconds: list[float] = field(default_factory=list)
    _counts: list[tuple[int, int, int]] = field(default_factory=list)
    _stages: list[Sequence[float]] = field(default_factory=list)
    _nodes: list[Sequence[int]] = field(default_factory=list)

    def note(
        self,
        seconds: float,
        *,
        busy: int,
        queue: int,
        running: int,
        stages: Sequence[float] = (),
        nodes: Sequence[int] = (),
    ) -> None:
        """Note what holds from this moment on."""
        if self._seconds and self._seconds[-1] == seconds:
            for column in (self._seconds, self._counts, self._stages, self._nodes):
                column.pop()
        self._seconds.append(seconds)
        self._counts.append((busy, queue, running))
        self._stages.append(stages)
        self._nodes.append(nodes)

    def timeline(self) -> Timeline:
        """Return all notes as arrays."""
        count = len(self._seconds)
        busy, queue, running = np.array(self._counts, dtype=np.int64).reshape(count, 3).T
        return Timeline(
            seconds=np.array(self._seconds, dtype=np.float64),
            busy=busy,
            queue=queue,
            running=running,
            stages=np.array(self._stages, dtype=np.float64).reshape(count, self.resources),
            nodes=np.array(self._nodes, dtype=np.int32).reshape(count, self.nodes),
        )
