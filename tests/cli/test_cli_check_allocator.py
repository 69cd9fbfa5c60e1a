"""``muri-opt check-allocator``: programs and functions, of rounds or dicts; what is found is told and written."""

import json
import shlex
import sys

import pytest

from muri_opt import read_round
from muri_opt.testing.examples import quota_off_by_one, refuses_a_full_node

GREEDY = 'import sys\nfor line in sys.stdin: print(\'{"j0": {"n0": 3}}\', flush=True)'
IDLE = "import sys\nfor line in sys.stdin: print('{}', flush=True)"
EXAMPLES = f"{refuses_a_full_node.__module__}:"


def command(text):
    return shlex.join([sys.executable, "-c", text])


def test_a_program_with_a_fault_is_told_with_its_round(run, tmp_path):
    code, out, err = run("check-allocator", "--command", command(GREEDY), "--output", tmp_path / "found", "--json")
    assert (code, err) == (1, "")
    told = json.loads(out)
    assert (told["ok"], told["examples"] > 0) == (False, True)
    for one in told["broken"]:
        round_ = read_round(tmp_path / "found" / f"{one['invariant']}.json")
        assert len(round_.jobs) == len(one["round"]["jobs"])
    assert {one["invariant"] for one in told["broken"]} >= {"once"}


def test_a_program_that_keeps_all_ends_with_code_0(run):
    code, out, err = run("check-allocator", "--command", command(IDLE), "--invariants", "capacity,once")
    assert (code, err) == (0, "")
    assert out.startswith("0 of ")
    assert run("check-allocator", "--command", command(IDLE), "--invariants", "alone")[0] == 1


def test_what_no_round_had_is_no_pass(run):
    code, out, _ = run("check-allocator", "--command", command(IDLE), "--examples", 1)
    assert code == 4
    assert "NOT EXERCISED" in out


def test_functions_and_dicts_are_named_by_their_place(run):
    found = ("check-allocator", "--function", EXAMPLES + refuses_a_full_node.__name__, "--invariants", "alone")
    assert "alone: job 'j0' alone in the cluster waits" in run(*found)[1]
    code, out, _ = run("check-allocator", "--dicts", EXAMPLES + quota_off_by_one.__name__)
    assert (code, "quota is 0" in out) == (1, True)
    assert run("check-allocator", "--function", "fifo", "--fields", "", "--without", "cpus")[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--command", "no-such-program"), "no-such-program"),
        (("--command", "x", "--examples", 0), "--examples"),
        (("--command", "x", "--seconds", 0), "--seconds"),
        (("--command", "x", "--invariants", "savety"), "did you mean 'safety'"),
        (("--command", "x", "--invariants", ","), "--invariants"),
        (("--function", "fifo", "--without", "quota"), "did you mean 'quotas'"),
        (("--function", "fifo", "--fields", "job.gpu_type"), "did you mean 'job.gpu_types'"),
        (("--function", "fifo", "--each-round"), "--each-round"),
        (("--function", "fifo", "--output", "/dev/null/x"), "--output"),
        (("--dicts", "no_such_module:decide"), "no_such_module"),
        (("--dicts", "json:__name__"), "a str"),
        (("--dicts", "json"), "--dicts"),
        ((), "one of the arguments --command --function --dicts is required"),
    ],
)
def test_bad_input_is_one_line(refused, words, told):
    assert told in refused("check-allocator", *words)
