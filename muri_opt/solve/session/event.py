"""What every event of a session is: checked against what is known, and then applied to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import msgspec

from muri_opt.rounds import Job
from muri_opt.solve.session.state import State


class Told(NamedTuple):
    """A job of which an event tells something: how an error names it, as it was if it was there, and as it will be."""

    where: str
    before: Job | None
    after: Job


class Event(Protocol):
    """Something that happened."""

    def check(self, state: State) -> None:
        """Refuse what cannot have happened."""

    def jobs_told(self, state: State) -> Iterable[Told]:
        """Return the jobs that a policy may refuse for what the event tells of them; ``check`` has passed."""

    def apply(self, state: State) -> None:
        """Change the state; ``check`` has passed."""


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="event"):
    """An event as a line of the journal, which says by its tag what happened."""

    def jobs_told(self, state: State) -> Iterable[Told]:
        """Return none: most events tell nothing of jobs that a policy goes by."""
        return ()
