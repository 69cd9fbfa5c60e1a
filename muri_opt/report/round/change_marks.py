"""What a decision changes, in the picture: a mark on every job that does not stay as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from muri_opt.report.svg import INK, SOFT, element, text, tooltip
from muri_opt.report.text.result import changes_text
from muri_opt.rounds import Decision, Round, changes
from muri_opt.rounds.sharing_now import sharing_now

MARKS: Final = {
    "start": ("+", "starts"),
    "stop": ("\u00d7", "stops"),
    "move": ("\u2192", "moves"),
    "resize": ("\u00b1", "changes size"),
    "regroup": ("\u21c4", "changes partners"),
}
"""The mark of each kind of change, and what it means. A job without one stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMarks:
    """The kind of change of each job that has one, and all of them in words; nothing where no job ran before.

    ``together`` are the jobs on the GPUs of each running job now.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    together: Mapping[str, set[str]] = field(default_factory=dict)
    words: str = ""

    @classmethod
    def of(cls, round_: Round, decision: Decision | None) -> ChangeMarks:
        """Return the marks of a decision; without one, nothing changes."""
        if decision is None:
            return cls()
        found = changes(round_, decision)
        if not found.before:
            return cls()
        kinds = {change.job: kind for kind in MARKS for change in getattr(found, kind)}
        return cls(kinds=kinds, together=sharing_now(round_, decision), words=changes_text(found))

    def of_job(self, job: str, x: float, y: float, size: float) -> list[str]:
        """Return the mark of a job, its right end at ``x``; none where it stays as it is."""
        kind = self.kinds.get(job)
        if kind is None:
            return []
        mark, words = MARKS[kind]
        sign = text(x, y, mark, size, fill=INK, font_weight="bold", text_anchor="end")
        return [element("g", tooltip(f"{job} {words}"), sign, kind="change")]

    def legend(self, y: float, left: float) -> tuple[float, list[str]]:
        """Return what the marks mean that there are, and where the picture ends."""
        there = set(self.kinds.values())
        if not there:
            return y, []
        meaning = [f"{mark} {words}" for kind, (mark, words) in MARKS.items() if kind in there]
        line = ", ".join(meaning) + "; a job without a mark stays as it is"
        return y + 20, [text(left, y + 20, line, 11.5, fill=SOFT)]
