"""The answer to one round, as an object and as JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from muri_opt.errors import InputError
from muri_opt.solution.certificate import Certificate
from muri_opt.solution.decision import Decision
from muri_opt.solution.termination import Termination

RESULT_FORMAT: Literal["muri-opt/result/1"] = "muri-opt/result/1"


class Stats(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the time went, which backend ran, and how large its model was.

    ``startup_seconds`` went by until modules were imported and a solver process was ready; no limit counts them.
    """

    startup_seconds: float = 0.0
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    verify_seconds: float = 0.0
    backend: str | None = None
    columns: int = 0
    rows: int = 0


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision with its recomputed value, its bound, why the solve stopped, and who proved what."""

    format: Literal["muri-opt/result/1"] = RESULT_FORMAT
    fingerprint: str
    policy: str
    method: str
    value: int | None = None
    bound: int | None = None
    gap: float | None = None
    value_unit: str = ""
    termination: Termination
    decision: Decision | None = None
    certificate: Certificate
    stats: Stats = Stats()


def result_json(result: Result) -> str:
    """Return the result as indented JSON text."""
    return msgspec.json.format(msgspec.json.encode(result), indent=1).decode()


def parse_result(text: bytes | str) -> Result:
    """Return the result that the JSON ``text`` holds; every fault is one :class:`InputError`."""
    try:
        return msgspec.json.decode(text, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError("result", str(error) or type(error).__name__, "a result of muri-opt solve --json") from None


def read_result(path: str | os.PathLike[str]) -> Result:
    """Return the result in the file at ``path``."""
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), "a readable result file") from None
    return parse_result(text)
