"""``muri-opt worst-case``: finds, shrinks, writes and stores; bad input is one line."""

import json

import pytest

from muri_opt import read_round
from muri_opt.cli.main import main
from muri_opt.studies.library import instances
from muri_opt.studies.worst_case import measure_of

SRTF = ("srtf", "--family", "gangs", "--jobs", 4, "--nodes", 1, "--budget", 60, "--seed", 3)

OPTIMUS = ("optimus", "--family", "elastic", "--jobs", 2, "--nodes", 1, "--budget", 40, "--measure", "completion")


@pytest.fixture
def run(capsys):
    def call(*argv):
        code = main(["worst-case", *map(str, argv)])
        return code, *capsys.readouterr()

    return call


def test_a_worst_case_is_told_written_and_stored_with_its_gap(run, tmp_path, capsys):
    output = tmp_path / "worst.json"
    library = tmp_path / "library"
    stored = ("--output", output, "--save", "worst/mine", "--folder", library)
    code, out, err = run(*SRTF, "--at-least", 0.3, *stored)
    assert (code, err) == (0, "")
    for label in ("policy", "worst", "trail", "shrunken to", "heuristic", "optimum", "gap", "proof"):
        assert f"\n{label} " in f"\n{out}"
    assert "what else it says" in out
    assert measure_of("value", "srtf").of(read_round(output)).gap >= 0.3
    (mine,) = instances(library)
    assert mine.name == "worst/mine"
    assert mine.best.source == (
        "muri-opt worst-case srtf --family gangs --jobs 4 --nodes 1 --budget 60 --seed 3 --measure value --at-least 0.3"
    )
    assert main(["library", "verify", "--folder", str(library)]) == 0
    assert "1 gap of algorithms holds, run again" in capsys.readouterr().out
    assert main(["library", "table", "--folder", str(library)]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| mine | `srtf` | value |")]
    assert row.endswith(" % |")
    tampered = library / "worst" / "mine.best.json"
    data = json.loads(tampered.read_text())
    data["gaps"][0]["reached"] += 1
    tampered.write_text(json.dumps(data))
    assert main(["library", "verify", "--folder", str(library)]) == 1
    out = capsys.readouterr().out
    assert "0 gaps of algorithms hold, run again\n1 gap of algorithms wrong:\n" in out
    assert "  worst/mine, srtf, gap in value: gap (reached): said" in out
    assert main(["library", "verify", "--folder", str(library), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[-1]["violations"][0]["rule"] == "gap"
    assert main(["library", "list", "--folder", str(library), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["gaps"][0]["measure"] == "value"


def test_a_library_that_cannot_be_written_is_named(run, tmp_path):
    (tmp_path / "worst").write_text("in the way")
    code, out, err = run(*SRTF, "--at-least", 0.3, "--save", "worst/mine", "--folder", tmp_path)
    assert (code, out) == (2, "")
    assert err == f"muri-opt: {tmp_path}: found File exists; allowed: a folder that can be written\n"


def test_a_gap_that_is_not_found_is_told_by_the_code_and_nothing_is_written(run, tmp_path):
    output = tmp_path / "worst.json"
    code, out, _ = run(*SRTF, "--budget", 10, "--at-least", 0.99, "--output", output)
    assert code == 4
    assert out.endswith("a larger budget or another seed may find one\n")
    assert not output.exists()
    code, out, _ = run(*SRTF, "--budget", 1, "--json")
    answer = json.loads(out)
    assert (code, answer["shrunken"], answer["found"]["gap"]) == (4, None, 0)
    assert answer["round"]["jobs"]


def test_json_has_all_figures_exactly(run):
    code, out, _ = run(*OPTIMUS, "--gpus", 2, "--at-least", 0.05, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["measure"] == "completion"
    assert answer["trail"][-1]["gap"] == answer["found"]["gap"] >= 0.05 <= answer["shrunken"]["gap"]
    assert answer["round"]["cluster"]["nodes"][0]["gpus"] == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("srt", "--family", "gangs"), "policy: found 'srt'"),
        (("srtf", "--family", "muri"), "family: found 'muri'; allowed: one of configurations, elastic, gangs, "),
        (
            ("srtf", "--family", "gangs", "--measure", "speed"),
            "measure: found 'speed'; allowed: one of completion, value",
        ),
        (("srtf", "--family", "gangs", "--measure", "completion"), "policy: found 'srtf'; allowed: a rule asked at"),
        (("srtf",), "the following arguments are required: --family"),
        (("srtf", "--family", "gangs", "--at-least", "0"), "--at-least: found 0.0"),
        (("srtf", "--family", "gangs", "--at-least", "nan"), "--at-least: found nan"),
        (("srtf", "--family", "gangs", "--seconds", "-1"), "limits.seconds: found"),
        (("srtf", "--family", "gangs", "--budget", "0"), "budget: found 0"),
        (("srtf", "--family", "gangs", "--save", "worst/x"), "--save, --folder: found --save without --folder"),
        (("srtf", "--family", "gangs", "--folder", "x"), "--save, --folder: found --folder without --save"),
        (("srtf", "--family", "gangs", "--save", "toy/x", "--folder", "x"), "--save: found 'toy/x'"),
        (("srtf", "--family", "gangs", "--save", "worst/x/y", "--folder", "x"), "name: found 'worst/x/y'"),
        (("srtf", "--family", "gangs", "--save", "worst/x", "--folder", "/dev/null"), "--folder: found '/dev/null'"),
        (("srtf", "--family", "gangs", "--output", "no/where.json"), "no/where.json: found"),
        (("muri-s", "--family", "gangs", "--budget", "3"), "budget: found 3 rounds, none with a proved optimum"),
    ],
)
def test_bad_input_is_one_line(run, arguments, complaint):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"muri-opt: {complaint}")
    assert err.count("\n") == 1
