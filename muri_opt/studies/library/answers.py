"""Answers that somebody hands in: results as ``solve`` writes them, or only who runs where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Decision, Evidence
from muri_opt.rounds.long_numbers import decoded
from muri_opt.rounds.text_files import in_file, read_text
from muri_opt.solve.results import parse_result
from muri_opt.studies.library.instance import Instance
from muri_opt.studies.library.stored_decision import StoredAssignment

ANSWER_FORMAT: Final[Literal["muri-opt/answer/1"]] = "muri-opt/answer/1"


class ShortAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of an answer that says no more than who runs where; everybody else waits."""

    format: Literal["muri-opt/answer/1"]
    instance: str
    policy: str
    assignments: tuple[StoredAssignment, ...]
    value: int | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: the file, the round by its name or fingerprint, the policy, the decision, and what it says of itself.

    ``decision`` is ``None`` where a solver found none.
    """

    file: str
    round_: str
    policy: str
    decision: Decision | None
    value: int | None = None
    evidence: tuple[Evidence, ...] = ()


class _Header(msgspec.Struct):
    format: str = ""


def read_answers(path: str) -> list[Answer]:
    """Return the answer in a file, or those in all files ``*.json`` of a folder."""
    found = Path(path)
    if not found.is_dir():
        return [read_answer(found)]
    files = sorted(found.rglob("*.json"))
    if not files:
        raise InputError(path, "a folder without answers", "files *.json, each a result or an answer")
    return [read_answer(file) for file in files]


def read_answer(path: Path) -> Answer:
    """Return the answer in a file; an error names the file."""
    with in_file(path):
        text = read_text(path, "an answer")
        return _short(path, text) if _format_of(text) == ANSWER_FORMAT else _of_result(path, text)


def by_round(instances: tuple[Instance, ...]) -> Mapping[str, Instance]:
    """Return the instances by name and by fingerprint."""
    names = {instance.name: instance for instance in instances}
    return names | {instance.best.fingerprint: instance for instance in instances}


def _format_of(text: str) -> str:
    try:
        return msgspec.json.decode(text, type=_Header).format
    except (msgspec.DecodeError, RecursionError):
        return ""  # reading it as a result says what is wrong with it


def _short(path: Path, text: str) -> Answer:
    try:
        said = decoded(text, ShortAnswer)
    except (ValueError, RecursionError) as error:
        cause: Any = error.__cause__
        if isinstance(cause, InputError):
            raise cause from None
        raise InputError("answer", str(error) or "JSON nested too deep", f"a file of {ANSWER_FORMAT}") from None
    assignments = tuple(assignment.assignment() for assignment in said.assignments)
    return Answer(
        file=str(path),
        round_=said.instance,
        policy=said.policy,
        decision=Decision(assignments=assignments),
        value=said.value,
    )


def _of_result(path: Path, text: str) -> Answer:
    result = parse_result(text)
    return Answer(
        file=str(path),
        round_=result.fingerprint,
        policy=result.policy,
        decision=result.decision,
        value=result.value,
        evidence=result.certificate.evidence,
    )
