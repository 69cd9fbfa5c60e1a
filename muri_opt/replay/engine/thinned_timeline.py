"""Notes of a long replay: evenly thinned out, so that they take no more room however long it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from muri_opt.replay.outcome import Timeline
from muri_opt.replay.timeline_recorder import Recorder

MOST_NOTES: Final = 2000

Full = tuple[list[float], list[int]]
"""GPUs' worth of each resource at work, and GPUs in use of each node."""


@dataclass(frozen=True, slots=True)
class _Note:
    seconds: float
    busy: int
    queue: int
    running: int
    full: Full


@dataclass(slots=True, kw_only=True)
class ThinNotes:
    """Every event is noted at first; whenever there are too many notes, every other one goes, then and from then on.

    The moment of the longest queue stays. What a timeline like that says of a moment is true; sums over time are exact
    in the accounts of the jobs only.
    """

    resources: int
    nodes: int
    most: int = MOST_NOTES
    every: int = 1
    seen: int = 0
    kept: list[_Note] = field(default_factory=list)
    longest: _Note | None = None

    def note(
        self, seconds: float, *, busy: int, queue: int, running: int, last: bool, full: Callable[[], Full]
    ) -> None:
        """Note what holds from this moment on, if it is its turn, or the last; only then is ``full`` asked."""
        longer = self.longest is None or queue > self.longest.queue
        turn = self.seen % self.every == 0 or last
        self.seen += 1
        if not longer and not turn:
            return
        made = _Note(seconds, busy, queue, running, full())
        self.longest = made if longer else self.longest
        if turn:
            self.kept.append(made)
        if len(self.kept) > self.most and not last:
            self.kept = self.kept[::2]
            self.every *= 2

    def timeline(self) -> Timeline:
        """Return the notes that are kept."""
        found = Recorder(resources=self.resources, nodes=self.nodes)
        notes = [*self.kept, *(() if self.longest is None else (self.longest,))]
        for note in sorted(notes, key=lambda note: note.seconds):
            stages, nodes = note.full
            found.note(note.seconds, busy=note.busy, queue=note.queue, running=note.running, stages=stages, nodes=nodes)
        return found.timeline()
