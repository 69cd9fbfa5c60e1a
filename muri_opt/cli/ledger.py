"""What a snapshot could not say: of how many jobs and nodes, and of which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from muri_opt.report.format import count
from muri_opt.report.tables import indented

MOST_NAMED: Final = 8


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Words for what was dropped or is told otherwise, each with the jobs and nodes it is about."""

    jobs_read: int = 0
    nodes_read: int = 0
    over: int = 0
    """Records of jobs that have ended."""
    jobs: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[str, list[str]] = field(default_factory=dict)

    def job(self, name: str, words: str) -> None:
        """Note something about a job."""
        self.jobs.setdefault(words, []).append(name)

    def node(self, name: str, words: str) -> None:
        """Note something about a node."""
        self.nodes.setdefault(words, []).append(name)

    def text(self) -> str:
        """Return the ledger for people."""
        lines = [
            f"read {count(self.jobs_read, 'job')} and {count(self.nodes_read, 'node')}; "
            f"{self.over:,} further jobs have ended"
        ]
        for kind, notes in (("job", self.jobs), ("node", self.nodes)):
            lines += indented(
                [f"{count(len(names), kind)}: {words} ({_named(names)})" for words, names in notes.items()]
            )
        if not self.jobs and not self.nodes:
            lines += indented(["nothing was dropped"])
        return "\n".join(lines) + "\n"

    def content(self) -> dict[str, Any]:
        """Return the ledger for programs."""
        return {
            "jobs_read": self.jobs_read,
            "nodes_read": self.nodes_read,
            "jobs_over": self.over,
            "jobs": self.jobs,
            "nodes": self.nodes,
        }


def _named(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join([*names[:MOST_NAMED], *([f"{more:,} more"] if more > 0 else [])])
