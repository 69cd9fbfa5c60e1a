"""The program as a process: help, closed pipes, interrupts, streams that are missing or full."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import muri_opt
from muri_opt import POLICIES
from muri_opt.cli.main import COMMANDS
from muri_opt.solve.solvers import BACKENDS

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "ortools", "highspy", "pulp", "msgspec")


def test_solve_and_verify_in_processes_of_their_own(process, toy, tmp_path):
    result = tmp_path / "result.json"
    solved = process("solve", toy, "--policy", "srtf", "--json", "--output", result)
    assert (solved.returncode, solved.stderr) == (0, "")
    assert json.loads(solved.stdout)["value"] == 114
    assert solved.stdout == result.read_text()
    checked = process("verify", toy, "-", input=solved.stdout)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "violations   none" in checked.stdout


def test_version(process, run):
    told = process("--version")
    assert (told.returncode, told.stdout) == (0, f"muri-opt {muri_opt.__version__}\n")
    assert run("--version") == (0, told.stdout, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert "examples:" in out
    assert f"  muri-opt {command} " in out
    assert command in run("--help")[1]


def test_help_names_every_policy_and_backend(run):
    out = "".join(run("solve", "--help")[1].split())  # lines may end in the middle of a name, at its hyphen
    assert all(name in out for name in (*POLICIES, *BACKENDS))


def test_help_loads_neither_numpy_nor_a_solver():
    code = (
        "import sys; from muri_opt.cli.main import main; main(['--help']); main(['solve', '--help']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


@pytest.mark.parametrize("words", [["--help"], ["show", "TOY"], ["generate", "gangs", "--jobs", "3000"], ["nonsense"]])
def test_a_closed_pipe_is_no_error(toy, words):
    reading, writing = os.pipe()
    os.close(reading)
    argv = [sys.executable, "-m", "muri_opt", *(toy if word == "TOY" else word for word in words)]
    with os.fdopen(writing, "wb") as pipe:
        ended = subprocess.run(argv, cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    if words == ["nonsense"]:
        assert ended.returncode == 2
        assert ended.stderr.count("\n") == 1
    else:
        assert (ended.returncode, ended.stderr) == (0, "")


def test_a_closed_pipe_keeps_the_code_of_a_violation(toy, solved):
    told = json.loads(solved.read_text())
    told["value"] += 1
    solved.write_text(json.dumps(told))
    reading, writing = os.pipe()
    os.close(reading)
    argv = [sys.executable, "-m", "muri_opt", "verify", toy, str(solved)]
    with os.fdopen(writing, "wb") as pipe:
        ended = subprocess.run(argv, cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_a_full_disk_behind_the_standard_output_is_one_line(toy):
    with Path("/dev/full").open("wb") as full:
        argv = [sys.executable, "-m", "muri_opt", "show", toy]
        ended = subprocess.run(argv, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "muri-opt: standard output: No space left on device\n"


def test_streams_that_were_closed_before_the_start(toy):
    def ended(line):
        shell = ["/bin/sh", "-c", f'"$0" -m muri_opt {line}', sys.executable, toy]
        return subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=False)

    silent = ended('show "$1" >&-')
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    mute = ended("show missing.json 2>&-")
    assert (mute.returncode, mute.stdout, mute.stderr) == (2, "", "")
    deaf = ended("show - <&-")
    assert deaf.returncode == 2
    assert deaf.stderr.startswith("muri-opt: standard input: ")


def _sleeps(process):
    """Return whether a process waits for something, where the system says so."""
    said = Path(f"/proc/{process}/stat")
    return not said.exists() or said.read_text().rpartition(")")[2].split()[0] == "S"


def test_an_interrupt_is_quiet(tmp_path):
    fifo = tmp_path / "round.json"
    os.mkfifo(fifo)
    argv = [sys.executable, "-m", "muri_opt", "solve", str(fifo)]
    pipe = subprocess.PIPE
    # Opening the other end of the pipe waits until the command has opened it. A signal between that and its first read
    # is not looked at until something is written, so that it has to wait there.
    with subprocess.Popen(argv, cwd=ROOT, stdout=pipe, stderr=pipe) as running, fifo.open("wb"):
        while not _sleeps(running.pid):
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=900)
    assert (running.returncode, out, err) == (130, b"", b"")


def test_an_output_that_cannot_say_a_name_escapes_it(process, tmp_path, toy):
    round_ = json.loads(Path(toy).read_text())
    round_["name"] = "機械学習"
    path = tmp_path / "round.json"
    path.write_text(json.dumps(round_))
    ended = process("show", path, env={"PYTHONIOENCODING": "ascii"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("\\u6a5f")


def test_a_value_of_thousands_of_digits_is_written_and_read(process, tmp_path):
    jobs = [{"id": f"job-{j}", "gpus": 1, "submitted": 0} for j in range(10_000)]
    round_ = {"format": "muri-opt/round/1", "cluster": {"nodes": [{"id": "n0", "gpus": 2}]}, "jobs": jobs}
    path, result = tmp_path / "round.json", tmp_path / "result.json"
    path.write_text(json.dumps(round_))
    policy = ("--policy", "fifo", "--method", "heuristic")
    ended = process("solve", path, *policy, "--output", result)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "value        about 2^9999 (" in ended.stdout
    assert json.loads(result.read_text())["value"] == 3 << 9_998  # the first two jobs run
    assert process("verify", path, result).returncode == 0


def test_more_jobs_than_a_lexicographic_value_has_digits_count_one_each(process, tmp_path):
    jobs = [{"id": f"job-{j}", "gpus": 1, "submitted": 0} for j in range(10_001)]
    round_ = {"format": "muri-opt/round/1", "cluster": {"nodes": [{"id": "n0", "gpus": 2}]}, "jobs": jobs}
    path, result = tmp_path / "round.json", tmp_path / "result.json"
    path.write_text(json.dumps(round_))
    ended = process("solve", path, "--policy", "fifo", "--output", result)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(result.read_text())["value"] == 2 * 3 << 9_998
    assert process("verify", path, result).returncode == 0
