"""A program in another process is tested by its lines: its decisions, its crashes and its hangs."""

import sys
import time
from pathlib import Path

import msgspec
import pytest

from muri_opt import Cluster, InputError, Job, Node, Round
from muri_opt.cli.serve.service import Service
from muri_opt.testing import INVARIANTS, SAFETY, check_allocator, find_breaches, from_command
from muri_opt.testing.allocators import NoAnswerError, RefusedError, TooLateError, answer
from muri_opt.testing.programs import answered

ROUND = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=(Job(id="j0", gpus=2, submitted=0.0),))
STARTS = 120.0
"""The limit of an answer where a process has to start first: as long as that may take on a loaded machine."""
GPUS_ONLY = ("cpus", "memory", "quotas")
FIRST_FIT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    free = {node["id"]: node["gpus"] for node in message["round"]["cluster"]["nodes"]}
    runs = {job["id"]: job["placement"] for job in message["round"]["jobs"] if "placement" in job}
    for held in runs.values():
        for node, gpus in held.items():
            free[node] -= gpus
    for job in message["round"]["jobs"]:
        for node in free:
            if job["id"] not in runs and free[node] >= FITS:
                runs[job["id"]] = {node: job["gpus"]}
                free[node] -= job["gpus"]
    print(json.dumps({"id": message["id"], "answer": runs}), flush=True)
"""
RIGHT = FIRST_FIT.replace("FITS", "job['gpus']")
WRONG = FIRST_FIT.replace("FITS", "min(job['gpus'], 3)")
"""The planted fault: a gang of four and more is said to fit where three GPUs are free."""


def python(text, **options):
    return from_command([sys.executable, "-c", text], **options)


def saying(line, **options):
    """Return a program that answers every line with the same one."""
    return python(f"import sys\nfor line in sys.stdin: print({line!r}, flush=True)", **options)


def test_the_smallest_round_of_a_fault_planted_in_another_process_is_found():
    with python(WRONG) as program:
        report = find_breaches(program, SAFETY, without=GPUS_ONLY, seconds=STARTS)
    assert [one.breach.invariant for one in report.broken] == ["capacity"]
    found = report.of("capacity")
    assert found.breach.detail == "n0: 4 GPUs in use; the node has 3 (gpu-capacity)"
    assert ([job.gpus for job in found.round_.jobs], [node.gpus for node in found.round_.cluster.nodes]) == ([4], [3])


def test_a_program_without_a_fault_passes_in_all_that_it_knows_of():
    with python(RIGHT) as program:
        report = check_allocator(program, [*SAFETY, INVARIANTS["settles"]], without=GPUS_ONLY, seconds=STARTS)
    assert {"capacity", "settles"} <= set(report.kept)
    assert "quota" not in report.kept
    assert "CPUs bind" not in report.exercised["capacity"]


@pytest.mark.parametrize(
    "line",
    [
        '{"j0": {"n0": 2}}',
        '{"id": 1, "answer": {"j0": {"n0": 2}}}',
        '{"answer": {"assignments": [{"jobs": ["j0"], "gpus": {"n0": 2}}]}}',
        '{"answer": {"decision": {"assignments": [{"jobs": ["j0"], "gpus": {"n0": 2}}], "waiting": []}, "value": 2}}',
    ],
)
def test_an_answer_is_a_result_a_decision_or_gpus(line):
    with saying(line) as program:
        (one,) = answer(program, ROUND, 60).assignments
    assert (one.jobs, dict(one.gpus)) == (("j0",), {"n0": 2})


def test_what_our_own_server_answers_is_a_decision():
    message = {"id": 1, "do": "solve", "round": ROUND}
    assert answered(Service().reply(msgspec.json.encode(message)), 1).running == {"j0"}
    refused = Service().reply(msgspec.json.encode(message | {"policy": "srtf"}))
    with pytest.raises(RefusedError, match="remaining_iterations"):
        answered(refused, 1)


@pytest.mark.slow
def test_our_own_server_is_a_program_like_any_other():
    with from_command([sys.executable, "-m", "muri_opt", "serve", "--stdio"]) as program:
        assert answer(program, ROUND, 120).running == {"j0"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("loading the model ...", "answered what is not JSON: 'loading the model ...'"),
        ("[1]", "answered '[1]', not an object"),
        ('{"id": 7, "answer": {}}', "the message had the id 1"),
        ('{"answer": 3}', "which is no decision"),
        ('{"answer": {"decision": null}}', "which is no decision"),
        ('{"answer": {"j0": {"n0": "two"}}}', "which is no decision"),
        ('{"problem": {"status": 500, "detail": "out of luck"}}', "answered the problem 500: out of luck"),
        ('{"problem": "out of luck"}', "out of luck"),
        ("\\udcff", "not JSON"),
        ("x" * 1000, "x" * 200 + "..."),
    ],
)
def test_a_line_that_is_no_decision_is_a_finding(line, told):
    with saying(line) as program:
        assert told in INVARIANTS["answers"].check(program, ROUND, seconds=60).detail


def test_a_program_may_decline_a_round():
    with saying('{"problem": {"status": 422, "detail": "no GPU types, please"}}') as program:
        with pytest.raises(RefusedError, match="no GPU types"):
            answer(program, ROUND, 60)
        report = find_breaches(program, SAFETY, max_examples=3, seconds=STARTS)
    assert (report.refused, report.ok) == (3, False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 / 0", "ended with code 1 without an answer: ZeroDivisionError"),
        ("pass", "ended with code 0 without an answer"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV"),
        ("import sys; sys.stdin.read(10); print('{', end='')", "ended with code 0"),
    ],
)
def test_a_program_that_ends_is_a_finding_and_is_started_again(text, told):
    with python(text) as program:
        for _ in range(2):
            with pytest.raises(NoAnswerError, match=told):
                answer(program, ROUND, 60)


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    alive = tmp_path / "alive"
    child = f"import pathlib, time\nwhile True: pathlib.Path({str(alive)!r}).touch(); time.sleep(0.01)"
    hangs = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    with python(hangs) as program:
        wait_for(alive)
        with pytest.raises(TooLateError):
            answer(program, ROUND, 0.1)
        alive.unlink()
        time.sleep(0.1)
        assert not alive.exists()


def test_one_that_neither_reads_nor_answers_is_no_hang_of_ours():
    large = Round(cluster=ROUND.cluster, jobs=tuple(Job(id=f"j{place}", gpus=1) for place in range(20_000)))
    with python("import time; time.sleep(600)") as program, pytest.raises(TooLateError):
        answer(program, large, 0.1)


def test_more_lines_than_rounds_are_a_finding():
    with saying("{}\n{}") as program, pytest.raises(NoAnswerError, match="wrote more than one line for a round"):
        ask_often(program)


def test_a_program_for_one_round_is_started_for_each():
    once = 'import json, sys\njson.load(sys.stdin)\nprint(\'{"j0": {"n0": 2}}\')'
    with python(once, each_round=True) as program:
        assert [answer(program, ROUND, 60).running for _ in range(2)] == [{"j0"}, {"j0"}]


def test_a_command_that_cannot_be_run_is_refused_at_once():
    with pytest.raises(InputError, match="no-such-program"):
        from_command("no-such-program --stdio")
    with pytest.raises(InputError, match="no words"):
        from_command("")


def ask_often(program):
    for _ in range(100):
        answer(program, ROUND, 60)


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)
