"""The line while a solve runs, dates where seconds are, and JSON wherever a command prints."""

import io
import json
import time
from datetime import UTC, datetime
from threading import Event

import pytest

from muri_opt import InputError, solve_round
from muri_opt.cli import progress
from muri_opt.cli.dates import seconds_of
from muri_opt.cli.groups import COMMANDS
from muri_opt.cli.progress import SolveLine, solve_line
from muri_opt.replay.traces import EXAMPLES
from muri_opt.rounds import read_round
from muri_opt.solve.watching import Sight, watched
from muri_opt.studies.library import shipped_round


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line_has_value_bound_and_gap():
    line = SolveLine(io.StringIO())
    assert line.text() == "0 s: starting"
    line.see(Sight(doing="algorithm"))
    assert line.text() == "0 s: algorithm"
    line.see(Sight(doing="highs", value=1000, bound=1100))
    assert line.text() == "0 s: value 1,000, bound 1,100, gap 10.00 %, highs"


def test_a_short_solve_shows_nothing_and_a_long_one_is_cleared(monkeypatch):
    stream = Terminal()
    with solve_line(stream):
        pass
    assert stream.getvalue() == ""
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.0)
    drawn = Event()
    monkeypatch.setattr(SolveLine, "text", lambda _: drawn.set() or "seen")
    with solve_line(stream):
        assert drawn.wait(60)
    assert stream.getvalue().startswith("\r\x1b[Kseen")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_nothing_is_written_to_a_file_and_the_line_ends_with_an_error(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.0)
    stream = io.StringIO()
    with solve_line(stream):
        time.sleep(0)
    assert stream.getvalue() == ""
    terminal = Terminal()
    with pytest.raises(ZeroDivisionError), solve_line(terminal):
        raise ZeroDivisionError
    assert terminal.getvalue() in ("", terminal.getvalue().rpartition("\r\x1b[K")[0] + "\r\x1b[K")


def test_a_watcher_sees_values_rise_and_bounds_fall_and_changes_no_answer():
    round_, seen = shipped_round("toy/eight-gangs"), []
    with watched(seen.append):
        result = solve_round(round_, "srtf")
    again = solve_round(round_, "srtf")
    assert (again.value, again.decision) == (result.value, result.decision)
    values = [one.value for one in seen if one.value is not None]
    assert values == sorted(values)
    assert (values[-1], seen[-1].bound) == (result.value, result.bound)
    before = len(seen)
    solve_round(round_, "srtf", "heuristic")
    assert len(seen) == before


EPOCH = datetime(2017, 10, 9, 7)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3600", 3600.0),
        ("1.5e3", 1500.0),
        ("2017-10-09T08:00:00", 3600.0),
        ("2017-10-09 08:00", 3600.0),
        ("2017-10-09T08:00:00Z", 3600.0),
        ("2017-10-09T10:00:00+02:00", 3600.0),
        ("2017-10-10", 61_200.0),
    ],
)
def test_seconds_and_dates_are_moments(text, seconds):
    assert seconds_of("--at", text, EPOCH) == seconds
    assert seconds_of("--at", text, EPOCH.replace(tzinfo=UTC)) == seconds


def test_what_is_no_moment_is_refused():
    with pytest.raises(InputError, match="--at: found 'noon'; allowed: seconds, or a date"):
        seconds_of("--at", "noon", EPOCH)
    with pytest.raises(InputError, match="has no dates"):
        seconds_of("--at", "2017-10-09", None)


def test_the_round_of_a_date_is_that_of_its_seconds(run, tmp_path):
    (tmp_path / "jobs.json").write_text(EXAMPLES["philly"])
    rounds = []
    for at in ("3600", "2017-10-09T08:00:00"):
        code, _, err = run(
            "trace", tmp_path / "jobs.json", "--at", at, "--cluster", "2x8", "--output", tmp_path / "r.json"
        )
        assert (code, err) == (0, "")
        rounds.append(read_round(tmp_path / "r.json"))
    assert rounds[0] == rounds[1]


def test_show_prints_json(run, toy, solved, tmp_path):
    undecided = json.loads(run("show", toy, "--json")[1])
    assert (undecided["decided"], {one["reason"] for one in undecided["waiting"]}) == (False, {None})
    decided = json.loads(run("show", toy, solved, "--json")[1])
    result = json.loads(solved.read_text())
    assert {one["job"] for one in decided["waiting"]} == {one["job"] for one in result["decision"]["waiting"]}
    held = {(job, node["node"]) for node in decided["nodes"] for one in node["jobs"] for job in one["jobs"]}
    assert held == {
        (job, node) for one in result["decision"]["assignments"] for job in one["jobs"] for node in one["gpus"]
    }
    job = decided["waiting"][0]["job"]
    only = json.loads(run("show", toy, solved, "--job", job, "--json")[1])
    assert (only["nodes"], [one["job"] for one in only["waiting"]]) == ([], [job])
    (tmp_path / "wrong.json").write_text(json.dumps(result | {"value": 1}))
    code, out, _ = run("show", toy, tmp_path / "wrong.json", "--json")
    assert (code, json.loads(out)["violations"][0]["rule"]) == (1, "value")


def test_convert_and_the_list_of_families_print_json(run, toy, tmp_path):
    said = json.loads(run("convert", toy, tmp_path / "out.json", "--format", 2, "--json")[1])
    assert (said["format"], said["jobs"], said["dropped"]) == ("muri-opt/round/2", 8, {})
    assert "gangs" in json.loads(run("generate", "--list", "--json")[1])


WITHOUT_JSON = {"completion": "a script", "export": "a program as text", "serve": "answers are JSON", "slurm": "steps"}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in (*WITHOUT_JSON, "kube")])
def test_every_command_that_prints_has_json(run, command):
    assert "--json" in run(command, "--help")[1]


@pytest.mark.parametrize("step", ["slurm snapshot", "slurm why", "slurm what-if", "slurm plan", "kube snapshot"])
def test_steps_have_json_too(run, step):
    assert "--json" in run(*step.split(), "--help")[1]
