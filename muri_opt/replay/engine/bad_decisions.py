"""Replays that cannot go on: a policy that breaks rules or raises, and the file that shows it again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from muri_opt.rounds import Round, Violation, write_round

SHOWN: Final = 5
"""Violations that a message lists."""


class ReplayError(RuntimeError):
    """A replay that cannot go on; says when and why. ``round_file`` holds the round that shows it, if one was saved."""

    def __init__(self, message: str, round_file: Path | None = None) -> None:
        super().__init__(message)
        self.round_file = round_file


class BadDecisionError(Exception):
    """A decision that cannot be carried out."""

    @classmethod
    def of(cls, broken: Iterable[Violation]) -> BadDecisionError:
        """Return the error that names the rules broken."""
        found = [f"{breach.rule} ({breach.where}): {breach.detail}" for breach in broken]
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        return cls("; ".join([*found[:SHOWN], *more]))


def fault_of(error: Exception) -> str:
    """Return what went wrong in words: the rules broken, or the exception of the policy."""
    if isinstance(error, BadDecisionError):
        return f"breaks rules: {error}"
    return f"raised {type(error).__name__}: {error}"


def save_bad_round(round_: Round, folder: Path, number: int) -> Path:
    """Write the round to a file of the folder, which is made if need be, and return the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"round-{number}.json"
    write_round(round_, path)
    return path
