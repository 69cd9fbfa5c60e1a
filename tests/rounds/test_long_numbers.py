"""Values of thousands of digits: written, read back and told to clients; the limit of Python is as it was then."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from threading import Barrier, Thread

import msgspec
import pytest
from handmade import gang, round_of

from muri_opt import InputError, Result, Round, parse_result, read_result, result_json, solve_round, write_round
from muri_opt.cli.main import entry_point
from muri_opt.cli.serve.service import Service
from muri_opt.rounds.long_numbers import MOST_DIGITS, long_numbers
from muri_opt.rounds.round import canonical_json

LIMIT = 4_300
"""Of the digits that Python writes or reads."""


@pytest.fixture(autouse=True)
def usual_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(LIMIT)
    yield
    assert sys.get_int_max_str_digits() == LIMIT
    sys.set_int_max_str_digits(before)


def result_with(value: int) -> Result:
    result = solve_round(round_of([4], [gang(0, 2)]), "fifo", "heuristic")
    return msgspec.structs.replace(result, value=value, bound=value + 1)


@pytest.fixture(scope="module")
def many_priorities() -> Round:
    """A round whose value under the rules of tenants has more digits than Python writes."""
    draw = Random(1)
    return round_of([8] * 4, [gang(job, 1, priority=job, waiting_seconds=draw.uniform(0, 1e5)) for job in range(1_300)])


@pytest.mark.parametrize("digits", [LIMIT - 1, LIMIT, LIMIT + 1, 20_000])
def test_a_value_of_any_length_reads_back_equal(digits: int, tmp_path: Path) -> None:
    result = result_with(10**digits)
    text = result_json(result)
    assert parse_result(text) == parse_result(text.encode()) == result
    assert "1" + "0" * digits in repr(result)
    assert "1" + "0" * digits in repr(msgspec.structs.replace(result.certificate, checked_bound=10**digits))
    (tmp_path / "result.json").write_text(text)
    assert read_result(tmp_path / "result.json") == result


def test_a_value_that_is_too_long_is_one_clear_error() -> None:
    text = result_json(result_with(7)).replace('"value": 7', f'"value": {"9" * (MOST_DIGITS + 1)}')
    with pytest.raises(InputError, match=f"{MOST_DIGITS} digits"):
        parse_result(text)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"gap": 0.0', '"gap": NaN', "NaN"),
        ('"gap": 0.0', '"gap": 1e999', "out of range"),
        ('"policy": "fifo"', '"policy": 3', "policy: found 3; allowed: a string"),
        ('"policy": "fifo"', '"policy": "fifo', "malformed"),
    ],
)
def test_what_is_wrong_beside_a_long_value_is_one_clear_error(old: str, new: str, found: str) -> None:
    text = result_json(result_with(10**LIMIT))
    assert old in text
    with pytest.raises(InputError, match=found):
        parse_result(text.replace(old, new))


def test_the_limit_is_as_it_was_when_the_last_one_leaves() -> None:
    inside, leave = Barrier(2), Barrier(2)

    def other() -> None:
        with long_numbers():
            inside.wait()
            leave.wait()

    thread = Thread(target=other)
    with long_numbers():
        thread.start()
        inside.wait()
    assert len(str(10**LIMIT)) == LIMIT + 1  # the other one is still inside
    leave.wait()
    thread.join()
    with pytest.raises(ValueError, match="digits"):
        str(10**LIMIT)


def test_no_limit_and_a_larger_one_are_left_alone() -> None:
    for limit in (0, 2 * MOST_DIGITS):
        sys.set_int_max_str_digits(limit)
        with long_numbers():
            assert sys.get_int_max_str_digits() == limit
        assert sys.get_int_max_str_digits() == limit
    sys.set_int_max_str_digits(LIMIT)


def test_the_command_line_writes_and_checks_a_long_value(
    many_priorities: Round, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    round_, result = str(tmp_path / "round.json"), str(tmp_path / "result.json")
    write_round(many_priorities, round_)
    solved = ["solve", round_, "--policy", "philly", "--method", "heuristic", "--output", result, "--json"]
    for command in (solved, ["verify", round_, result, "--json"]):
        monkeypatch.setattr(sys, "argv", ["muri-opt", *command])
        with pytest.raises(SystemExit) as ended:
            entry_point()
        assert ended.value.code == 0
        text = capsys.readouterr().out
        with long_numbers():
            found = json.loads(text)
    assert found["violations"] == []
    assert read_result(result).value > 10**LIMIT


def test_a_client_is_told_a_long_value_and_may_have_it_checked(many_priorities: Round) -> None:
    message = {"do": "solve", "id": 1, "round": msgspec.Raw(canonical_json(many_priorities)), "policy": "philly"}
    reply = Service().reply(msgspec.json.encode(message | {"method": "heuristic"}))
    with long_numbers():
        answer = json.loads(reply)["answer"]
    assert len(answer["decision"]["assignments"]) == 32
    assert answer["value"] > 10**LIMIT
    result = solve_round(many_priorities, "philly", "heuristic")
    asked = {"do": "verify", "round": message["round"], "result": msgspec.Raw(result_json(result).encode())}
    with long_numbers():
        answer = json.loads(Service().reply(msgspec.json.encode(asked)))["answer"]
    assert answer["feasible"]
    assert answer["checked_bound"] >= result.value
