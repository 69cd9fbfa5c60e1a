"""The steps of ``muri-opt slurm`` on a real Slurm with fake GPUs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_slurm import RealSlurm, real_slurm

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slurm
KINDS = {"a100": {"gpu01", "gpu02"}, "v100": {"gpu03", "gpu04"}}


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    folder = Path(tempfile.mkdtemp(prefix="slurm"))  # sockets have short paths only
    with real_slurm(folder, 18_000 + os.getpid() % 1_000 * 10) as found:
        yield found
    shutil.rmtree(folder, ignore_errors=True)


def ours(slurm: RealSlurm, *words: str) -> str:
    """Return what ``muri-opt slurm`` prints."""
    command = [sys.executable, "-m", "muri_opt", "slurm", *words]
    done = subprocess.run(command, env=slurm.environment, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_held_jobs_are_started_where_they_were_planned(slurm: RealSlurm) -> None:
    typed = [slurm.submit("-N1", f"--gres=gpu:{kind}:2", "--mem=1000") for kind in ("a100", "v100", "a100")]
    wide = slurm.submit("-N2", "--gres=gpu:v100:4", "--mem=1000")
    free = slurm.submit("-N1", "--gres=gpu:1", "--mem=1000", "-p", "prod")
    plan = json.loads(ours(slurm, "plan", "--partition", "train", "--policy", "srtf", "--json"))
    assert set(plan["candidates"]) == {*typed, wide}
    lines = [json.loads(line) for line in ours(slurm, "loop", "--partition", "train", "--interval", "0.5").splitlines()]
    planned = {line["job"]: set(line["nodes"]) for line in lines if line["do"] == "place"}
    assert set(planned) == {*typed, wide}
    found = slurm.wait("COMPLETED", "COMPLETING", jobs=[*typed, wide])
    for job, kind in zip(typed, ("a100", "v100", "a100"), strict=True):
        assert {found[job]["nodes"]} == planned[job] <= KINDS[kind]
    assert planned[wide] == KINDS["v100"]
    assert found[free]["state_reason"] == "JobHeldUser"  # its partition has not opted in
    slurm.run("scancel", free)


def test_why_names_the_memory_and_who_holds_it(slurm: RealSlurm) -> None:
    holds = slurm.submit("-N1", "--gres=gpu:1", "-w", "gpu03", seconds=60, held=False)
    slurm.wait("RUNNING", jobs=[holds])
    waits = slurm.submit("-N1", "--gres=gpu:1", "-w", "gpu03", "--mem=1000", held=False)
    told = ours(slurm, "why", waits, "--when")
    assert f"with its memory ('{holds}' holds 125 GiB)" in told
    assert "would start  in" in told
    slurm.run("scancel", holds)
    slurm.wait("RUNNING", "COMPLETED", "COMPLETING", jobs=[waits])


def test_a_loop_that_is_killed_and_begun_again_loses_and_repeats_nothing(slurm: RealSlurm) -> None:
    jobs = [slurm.submit("-N1", "--gres=gpu:4", "--mem=1000", seconds=0.5) for _ in range(8)]
    command = [sys.executable, "-m", "muri_opt", "slurm", "loop", "--partition", "train", "--interval", "0.3"]
    with subprocess.Popen(command, env=slurm.environment, stdout=subprocess.PIPE, cwd=ROOT) as first:
        assert first.stdout is not None
        first.stdout.readline()  # it has placed one job, and released none yet or some
        first.send_signal(signal.SIGKILL)
    lines = [json.loads(line) for line in ours(slurm, *command[4:]).splitlines()]
    found = slurm.wait("COMPLETED", "COMPLETING", jobs=jobs)
    assert [found[job]["restart_cnt"] for job in jobs] == [0] * len(jobs)
    released = [job for line in lines if line["do"] == "release" for job in line["jobs"]]
    assert len(released) == len(set(released))
    assert set(released) <= set(jobs)


def test_a_job_that_was_not_planned_is_not_touched(slurm: RealSlurm) -> None:
    other = slurm.submit("-N1", "--gres=gpu:1", "--mem=1000", "--comment=mine")
    slurm.run("scontrol", "hold", other)
    before = slurm.jobs()[other]
    ours(slurm, "apply", "--partition", "prod")
    assert slurm.jobs()[other]["state_reason"] == before["state_reason"]
    assert slurm.jobs()[other]["required_nodes"] == before["required_nodes"]
    slurm.run("scancel", other)


def test_an_array_is_started_to_its_last_task_and_within_its_limit(slurm: RealSlurm) -> None:
    array = slurm.submit("-N1", "--gres=gpu:1", "--mem=1000", "-a", "0-1%1", seconds=0.5)
    lines = [json.loads(line) for line in ours(slurm, "loop", "--partition", "train", "--interval", "0.5").splitlines()]
    assert [line["jobs"] for line in lines if line["do"] == "release"] == [[f"{array}_0"], [f"{array}_1"]]
    assert not [line for line in lines if line.get("complaint")]


def test_a_loop_waits_for_a_controller_that_is_down_and_a_plan_has_none(slurm: RealSlurm) -> None:
    asked = {"env": slurm.environment, "text": True, "cwd": ROOT}
    command = [sys.executable, "-m", "muri_opt", "slurm"]
    loop = [*command, "loop", "--partition", "train", "--rounds", "2", "--interval", "2"]
    with subprocess.Popen(loop, stdout=subprocess.PIPE, **asked) as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["do"] == "round"
        slurm.run("scontrol", "shutdown", "slurmctld")
        try:
            said = json.loads(running.stdout.readline())
            done = subprocess.run([*command, "plan", "--partition", "train"], capture_output=True, timeout=300, **asked)
        finally:
            slurm.run("slurmctld")
    assert (said["do"], running.returncode) == ("wait", 0)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a Slurm whose controller answers" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("holder", "waiting"),
    [
        (("--gres=gpu:4", "--mem=1000"), ("--gres=gpu:2", "--mem=1000")),
        (("--gres=gpu:1",), ("--gres=gpu:1", "--mem=1000")),
        (("--gres=gpu:1", "--mem=1000", "-c", "30"), ("--gres=gpu:1", "--mem=1000", "-c", "8")),
    ],
    ids=["GPUs", "memory", "CPUs"],
)
def test_who_is_named_as_a_remedy_makes_room(slurm: RealSlurm, holder: tuple[str], waiting: tuple[str]) -> None:
    holds = slurm.submit("-N1", "-w", "gpu04", *holder, seconds=600, held=False)
    slurm.wait("RUNNING", jobs=[holds])
    waits = slurm.submit("-N1", "-w", "gpu04", *waiting, held=False)
    changes = json.loads(ours(slurm, "why", waits, "--json"))["waiting"]["changes"]
    remedies = [change["preempt"] for change in changes if "preempt" in change]
    assert remedies == [[holds]]
    slurm.run("scancel", *remedies[0])
    slurm.wait("RUNNING", "COMPLETED", "COMPLETING", jobs=[waits])


@pytest.mark.slow
def test_gpus_that_are_added_as_a_remedy_says_start_the_job(slurm: RealSlurm) -> None:
    slurm.run("scontrol", "update", "nodename=gpu02", "state=drain", "reason=test")
    holds = slurm.submit("-N1", "--gres=gpu:a100:4", "--mem=1000", seconds=600, held=False)
    slurm.wait("RUNNING", jobs=[holds])
    waits = slurm.submit("-N1", "--gres=gpu:a100:2", "--mem=1000", held=False)
    changes = json.loads(ours(slurm, "why", waits, "--json"))["waiting"]["changes"]
    added = [change["add_gpus"] for change in changes if "add_gpus" in change]
    assert added == [2]
    slurm.run("scontrol", "update", "nodename=gpu02", "state=resume")  # brings two GPUs of the kind, and two more
    slurm.wait("RUNNING", "COMPLETED", "COMPLETING", jobs=[waits])
    slurm.run("scancel", holds)


@pytest.mark.slow
def test_a_job_that_is_held_starts_when_it_is_released(slurm: RealSlurm) -> None:
    held = slurm.submit("-N1", "--gres=gpu:1", "--mem=1000")
    waiting = json.loads(ours(slurm, "why", held, "--json"))["waiting"]
    assert "release it" in waiting["remedy"]
    slurm.run("scontrol", "release", held)
    slurm.wait("RUNNING", "COMPLETED", "COMPLETING", jobs=[held])
