"""Studies that are killed, in part or whole: at most the runs under way are lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from replay_traces import write_trace

from muri_opt.errors import InputError, RefusalError
from muri_opt.replay.studies.runs import StudyRun
from muri_opt.replay.studies.study import StudyError, run_study
from muri_opt.solve.solvers.process import WorkerError
from muri_opt.studies.runner.executors import executor_of

TIMES = ("decision_seconds", "run_seconds")
POLICIES = ("srtf", "srsf", "tiresias")

KILLED = """
import os, signal, sys
from muri_opt.replay.studies.study import run_study
from muri_opt.replay.studies.runs import StudyRun

def progress(over, total):
    if over == 4:
        os.killpg(0, signal.SIGKILL)

traces, folder = sys.argv[1:-1], sys.argv[-1]
policies = ("srtf", "srsf", "tiresias")
runs = [StudyRun(workload=t, cluster="1x4", policy=p, clock="muri") for t in traces for p in policies]
run_study(runs, folder=folder, jobs=2, progress=progress)
"""

UNGUARDED = """
import sys
from muri_opt.replay.studies.study import run_study
from muri_opt.replay.studies.runs import StudyRun

print("begins")
runs = [StudyRun(workload=sys.argv[1], cluster="1x4", policy=p, clock="muri") for p in ("srtf", "srsf")]
print(len(run_study(runs, folder=sys.argv[2], jobs=2)), "rows")
"""


@pytest.fixture
def traces(tmp_path: Path) -> list[str]:
    return [write_trace(tmp_path / f"trace-{k}.csv", jobs=6 + k) for k in range(3)]


def runs(traces: list[str]) -> list[StudyRun]:
    return [StudyRun(workload=t, cluster="1x4", policy=p, clock="muri") for t in traces for p in POLICIES]


def without_times(rows) -> list[dict]:
    return [{name: value for name, value in row.as_dict().items() if name not in TIMES} for row in rows]


def test_a_study_killed_in_the_middle_goes_on_where_it_was(traces, tmp_path):
    script, folder = tmp_path / "study.py", tmp_path / "study"
    script.write_text(KILLED)
    command = [sys.executable, str(script), *traces, str(folder)]
    ended = subprocess.run(command, start_new_session=True, capture_output=True, text=True, timeout=900, check=False)
    assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, "")
    assert len((folder / "results.jsonl").read_bytes().splitlines()) == 1 + 4
    assert not (folder / "results.csv").exists()
    told = []
    rows = run_study(runs(traces), folder=folder, engine="here", progress=lambda over, _: told.append(over))
    assert told == [4, 5, 6, 7, 8, 9]
    whole = run_study(runs(traces), folder=tmp_path / "whole", engine="here")
    assert without_times(rows) == without_times(whole)
    assert (folder / "comparison.md").read_text() == (tmp_path / "whole" / "comparison.md").read_text()


def test_a_script_needs_no_main_guard(traces, tmp_path):
    script = tmp_path / "study.py"
    script.write_text(UNGUARDED)
    command = [sys.executable, str(script), traces[0], str(tmp_path / "study")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", "begins\n2 rows\n")


def test_a_process_that_dies_takes_only_its_run_with_it(tmp_path):
    """The study's only run is killed as soon as it has a process; the folder then holds no run, and can go on."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").parents[1]

    def kill_the_first(before: set[int]) -> None:
        while True:
            found = {int(c) for task in children.iterdir() for c in (task / "children").read_text().split()} - before
            if found:
                os.kill(found.pop(), signal.SIGKILL)
                return
            time.sleep(0.01)

    before = {int(c) for task in children.iterdir() for c in (task / "children").read_text().split()}
    killer = threading.Thread(target=kill_the_first, args=(before,), daemon=True)
    killer.start()
    long = StudyRun(workload="generate:philly?jobs=5000&gap=0", cluster="4x8", policy="srtf")
    with pytest.raises(StudyError, match="its process died before it was done") as failed:
        run_study([long], folder=tmp_path / "study", jobs=1)
    killer.join()
    assert failed.value.rows == ()
    assert len((tmp_path / "study" / "results.jsonl").read_bytes().splitlines()) == 1


def test_a_process_that_died_is_replaced(tmp_path):
    processes = executor_of("processes", 1)
    try:
        with pytest.raises(WorkerError, match="code 3"):
            processes.submit(os._exit, 3).result()
        first, second = (processes.submit(os.path.basename, "a/b").result() for _ in range(2))
        assert (first, second) == ("b", "b")
        with pytest.raises(InputError):
            processes.submit(_refuses, "x").result()
    finally:
        processes.close()


def _refuses(text: str) -> None:
    raise InputError("text", text, "another")


def test_closing_stops_what_is_under_way():
    processes = executor_of("processes", 1)
    sleeping, waiting = processes.submit(time.sleep, 600), processes.submit(time.sleep, 600)
    while not sleeping.running():
        time.sleep(0.01)
    processes.close()
    assert isinstance(sleeping.exception(), WorkerError | CancelledError)
    assert waiting.cancelled() or isinstance(waiting.exception(), CancelledError)


def test_engines_that_are_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        RefusalError, match=r"Ray is not installed; allowed: 'processes', or pip install 'muri-opt\[ray"
    ):
        executor_of("ray", 2)
    with pytest.raises(InputError, match="engine: found 'threads'"):
        executor_of("threads")
    with pytest.raises(InputError, match="jobs: found 0"):
        executor_of("processes", 0)
    with pytest.raises(InputError, match="one run at a time"):
        executor_of("here", 2)
    assert executor_of("here").slots == 1
