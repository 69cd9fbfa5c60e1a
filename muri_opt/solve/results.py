"""Results in files: those of format 1, which name no rules, are read with the rules of their policy."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Result, decode_result
from muri_opt.rounds.repeated_keys import check_keys
from muri_opt.rounds.result import RESULT_FORMAT
from muri_opt.systems import POLICIES, policy_from


def parse_result(text: bytes | str) -> Result:
    """Return the result that the JSON ``text`` holds; every fault is one :class:`~muri_opt.InputError`.

    >>> result = solve_round(shipped_round("toy/two-gangs"), "fifo", "heuristic")
    >>> parse_result(result_json(result)) == result
    True
    """
    result = decode_result(text)
    check_keys(text.encode() if isinstance(text, str) else text, "result")
    if result.format == RESULT_FORMAT:
        return result
    name = result.policy.partition(":")[0]
    if name not in POLICIES:  # a file must not say what is imported, as module:attribute would
        raise unknown_name("policy", name, POLICIES)
    rules = dict(policy_from(result.policy).rules)
    return msgspec.structs.replace(result, format=RESULT_FORMAT, rules=rules)


def read_result(path: str | os.PathLike[str]) -> Result:
    """Return the result in the file at ``path``.

    >>> from pathlib import Path
    >>> text = result_json(solve_round(shipped_round("toy/two-gangs"), "fifo", "heuristic"))
    >>> size = Path("result.json").write_text(text)
    >>> read_result("result.json").method
    'heuristic'
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), "a readable result file") from None
    return parse_result(text)
