"""What a command answers: text for the standard output, and the exit code."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from muri_opt.rounds import Result


class ExitCode(IntEnum):
    """How a command ended."""

    ANSWER = 0
    VIOLATION = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    NOTHING_FOUND = 4
    SOLVER_FAILED = 5
    INTERRUPTED = 130


class Reply(NamedTuple):
    """The text to print and the code to exit with: a closed pipe can lose the first and keep the second."""

    text: str = ""
    code: ExitCode = ExitCode.ANSWER


_CODES = {
    "OPTIMAL": ExitCode.ANSWER,
    "FEASIBLE": ExitCode.ANSWER,
    "INFEASIBLE": ExitCode.INFEASIBLE,
    "NO_SOLUTION": ExitCode.NOTHING_FOUND,
    "FAILED": ExitCode.SOLVER_FAILED,
}


def exit_code(result: Result) -> ExitCode:
    """Return the code for a result; an answer whose own check found a violation is none."""
    return ExitCode.VIOLATION if result.certificate.violations else _CODES[result.termination.reason]


def drop_output() -> None:
    """Send what is left in the buffer nowhere: Python writes it once more when it ends, and would fail again."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
