"""The options that limit a solve: by the clock, or by a count that does not depend on how fast the machine is."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muri_opt.rounds import Limits


def add_limits(parser: argparse.ArgumentParser, *, what: str, seconds: float) -> None:
    """Add ``--seconds``, with its default, and ``--work``; ``what`` says what they are for."""
    parser.add_argument("--seconds", metavar="S", type=float, help=f"time {what} (default: {seconds:g}, or --work)")
    parser.add_argument(
        "--work",
        metavar="W",
        type=float,
        help="units of work instead, each about a second of one core: the same answer on slow and fast machines",
    )


def limits_from(arguments: argparse.Namespace, *, seconds: float, **others: Any) -> Limits:
    """Return the limits that are asked for; ``seconds`` is the default of :func:`add_limits`."""
    from muri_opt.rounds import Limits

    asked = arguments.seconds
    if asked is None and arguments.work is None:
        asked = seconds
    return Limits(seconds=asked, work=arguments.work, **others)
