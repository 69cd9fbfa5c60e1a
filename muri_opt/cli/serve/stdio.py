"""Messages as JSON lines: one in, one out, in their order, until the input ends."""

from __future__ import annotations

from typing import BinaryIO

from muri_opt.cli.serve.problems import TITLES, TOO_LARGE, Problem
from muri_opt.cli.serve.service import Service, problem_line


def serve_lines(service: Service, source: BinaryIO, target: BinaryIO) -> None:
    """Answer every line of ``source``; empty ones are passed over, and one that is too long is refused unread."""
    while line := source.readline(service.most_bytes + 1):
        if len(line) > service.most_bytes and not line.endswith(b"\n"):
            _skip(source)
            _write(target, problem_line(_too_long(service)))
        elif line.strip():
            _write(target, service.reply(line))


def _skip(source: BinaryIO) -> None:
    """Read to the end of a line and forget it."""
    while (part := source.readline(1 << 20)) and not part.endswith(b"\n"):
        pass


def _too_long(service: Service) -> Problem:
    detail = f"a line of more than {service.most_bytes:,} bytes"
    return Problem(title=TITLES[TOO_LARGE], status=TOO_LARGE, detail=detail)


def _write(target: BinaryIO, line: bytes) -> None:
    target.write(line + b"\n")
    target.flush()
