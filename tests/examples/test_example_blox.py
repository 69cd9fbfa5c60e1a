"""The adapter of Blox: against a recorded conversation, and against Blox itself where ``MURI_OPT_BLOX`` names a folder.

``MURI_OPT_BLOX_PYTHON`` is a Python with pandas 1.3. Without the folder the tests that need it are not there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from examples.blox.adapter import SessionPlacement
from examples.common.links import ROOT, InProcess, Recorded, Recording
from muri_opt.testing import INVARIANTS, SAFETY, find_breaches, from_command

CONVERSATION = Path(__file__).with_name("blox_conversation.jsonl")
"""Three rounds of four jobs, written by ``rounds_of(Recording(InProcess(), CONVERSATION))``."""
FOLDER = os.environ.get("MURI_OPT_BLOX")
PYTHON = os.environ.get("MURI_OPT_BLOX_PYTHON", sys.executable)
GPUS = 8


def job(gpus: int, seconds: int, submitted: int) -> dict[str, Any]:
    job = {"num_GPUs": gpus, "submit_time": submitted, "job_iteration_time": 1, "job_total_iteration": seconds}
    return dict(job, job_executed_iteration=0, tracked_metrics={"attained_service": 0}, is_running=False)


def rounds_of(link: Any) -> list[tuple[list[int], dict[int, list[int]]]]:
    """Return who is stopped and launched: two long jobs, then two short ones that push one aside, then their end."""
    frame = {"GPU_ID": list(range(GPUS)), "Node_ID": [gpu // 4 for gpu in range(GPUS)], "JOB_IDS": [None] * GPUS}
    jobs = SimpleNamespace(time=0, active_jobs={0: job(4, 9000, 0), 1: job(4, 6000, 0)})
    placement = SessionPlacement(link, "srtf:preempt=yes", "heuristic", {"work": 1.0})
    found = []
    for now, new, gone in ((0, {}, ()), (300, {2: job(2, 300, 250), 3: job(2, 300, 260)}, ()), (600, {}, (2, 3))):
        jobs.time = now
        jobs.active_jobs.update(new)
        for number in gone:
            del jobs.active_jobs[number]
            frame["JOB_IDS"] = [None if held == number else held for held in frame["JOB_IDS"]]
        stopped, launched = placement.place(jobs, SimpleNamespace(gpu_df=frame))
        found.append((stopped, launched))
        for number in stopped:
            frame["JOB_IDS"] = [None if held == number else held for held in frame["JOB_IDS"]]
        for number, gpus in launched.items():
            for gpu in gpus:
                assert frame["JOB_IDS"][gpu] is None
                frame["JOB_IDS"][gpu] = number
        for number, one in jobs.active_jobs.items():
            one["is_running"] = number in frame["JOB_IDS"]
            one["job_executed_iteration"] += 300 * one["is_running"]
            one["tracked_metrics"]["attained_service"] += 300 * one["is_running"]
    return found


def test_a_recorded_conversation_is_had_again() -> None:
    recorded = Recorded(CONVERSATION)
    first, second, third = rounds_of(recorded)
    assert recorded.ended
    assert first == ([], {0: [4, 5, 6, 7], 1: [0, 1, 2, 3]})
    assert second == ([0], {2: [4, 5], 3: [6, 7]})  # the longer one makes way for two short ones
    assert third == ([], {0: [4, 5, 6, 7]})


def test_the_conversation_is_what_is_answered_now(tmp_path: Path) -> None:
    again = tmp_path / "again.jsonl"
    assert rounds_of(Recording(InProcess(), again)) == rounds_of(Recorded(CONVERSATION))
    said = [[json.loads(line)["fields"] for line in path.read_text().splitlines()] for path in (again, CONVERSATION)]
    assert said[0] == said[1]


def test_the_adapter_is_short() -> None:
    assert len((ROOT / "examples" / "blox" / "adapter.py").read_text().splitlines()) < 60


if FOLDER is not None:

    def test_blox_runs_by_its_own_policies_and_by_ours() -> None:
        rows = []
        for policy, method in (("Srtf", "theirs"), ("srtf:preempt=yes", "heuristic")):
            asked = [PYTHON, "-m", "examples.blox.run", "--folder", FOLDER, "--trace", "small", "--jobs", "12"]
            asked += ["--policy", policy, "--method", method, "--server", f"{sys.executable} -m muri_opt serve --stdio"]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout.splitlines()[-1]))
        assert [(row["jobs"], row["violations"]) for row in rows] == [(12, 0), (12, 0)]

    @pytest.mark.parametrize(("way", "gpus"), [((), [1, 2]), (("consolidated",), [2])])
    def test_a_job_alone_waits_in_blox(way: tuple[str, ...], gpus: list[int]) -> None:
        program = [PYTHON, str(ROOT / "examples" / "blox" / "placement_program.py"), FOLDER, *way]
        with from_command(program) as blox:
            report = find_breaches(
                blox, [*SAFETY, INVARIANTS["alone"]], without=("cpus", "memory", "quotas"), max_examples=20, seconds=60
            )
        assert [one.breach.invariant for one in report.broken] == ["alone"]
        assert [node.gpus for node in report.of("alone").round_.cluster.nodes] == gpus
