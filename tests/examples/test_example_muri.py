"""The adapter of Muri's simulator: against a recorded conversation, and against it where ``MURI_OPT_MURI`` is a folder.

``MURI_OPT_MURI_PYTHON`` is a Python with numpy. Without the folder the test that needs it is not there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from examples.common.links import ROOT, InProcess, Recorded, Recording
from examples.muri.adapter import SessionGroups

CONVERSATION = Path(__file__).with_name("muri_conversation.jsonl")
"""Two rounds of three jobs, written by ``rounds_of(Recording(InProcess(), CONVERSATION))``."""
FOLDER = os.environ.get("MURI_OPT_MURI")
PYTHON = os.environ.get("MURI_OPT_MURI_PYTHON", sys.executable)


class Node:
    """A node of theirs, as far as it is asked for."""

    def __init__(self, number: int) -> None:
        self.id, self.num_gpu, self.free = number, 2, 2

    def alloc_job_res(self, gpus: int, _cpus: int) -> bool:
        self.free -= gpus
        return self.free >= 0


class Packing:
    """A group of theirs, as far as it is asked for."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.packing_jobs, self.num_gpu = [job["job_idx"]], job["num_gpu"]

    def add_job(self, other: Packing) -> None:
        self.packing_jobs += other.packing_jobs


def job(number: int, stages: list[float], left: float) -> dict[str, Any]:
    job = {"job_idx": number, "num_gpu": 2, "submit_time": 0.0, "last_check_time": 0.0, "total_executed_time": 0.0}
    job |= {"iteration_time": sum(stages), "resource_time": stages, "remaining_iteration": left, "model_name": "bert"}
    return job


def rounds_of(link: Any) -> list[tuple[list[list[int]], dict[int, list[tuple[int, int]]]]]:
    """Return groups and places of three jobs on one node, two of which use different resources, then of the rest."""
    nodes = [Node(0)]
    cluster = SimpleNamespace(switch_list=[SimpleNamespace(node_list=nodes)])
    simulator = SimpleNamespace(CLUSTER=cluster, overhead_dict={2: {"bert": 10}}, _Packing=Packing)
    groups = SessionGroups(simulator, link, "muri-s:preset=authors", "heuristic", {"work": 1.0})
    jobs = [job(0, [0.8, 0.1, 0.1], 500.5), job(1, [0.1, 0.8, 0.1], 600.0), job(2, [0.1, 0.8, 0.1], 9000.0)]
    found = []
    for now in (0.0, 100.0):
        nodes[0].free = 2
        packed = [group.packing_jobs for group in groups.run({2: jobs}, 2).get(2, [])]
        placed = {}
        for members in packed:
            first = next(one for one in jobs if one["job_idx"] == members[0])
            assert groups.place(first, not_place=True)
            assert groups.place(first)
            placed[members[0]] = [(node["id"], node["num_gpu"]) for node in first["placements"][0]["nodes"]]
        assert nodes[0].free == 0
        found.append((sorted(packed), placed))
        jobs = [dict(one, last_check_time=now + 100.0) for one in jobs if one["job_idx"] != 0]
    assert groups.run({}, 2) == {}
    return found


def test_a_recorded_conversation_is_had_again() -> None:
    recorded = Recorded(CONVERSATION)
    first, second = rounds_of(recorded)
    assert recorded.ended
    assert first[0][0][:2] == [0, 1]  # data beside GPU
    assert all(place == [(0, 2)] for _, placed in (first, second) for place in placed.values())
    assert second[0][0][0] == 1


def test_the_conversation_is_what_is_answered_now(tmp_path: Path) -> None:
    again = tmp_path / "again.jsonl"
    assert rounds_of(Recording(InProcess(), again)) == rounds_of(Recorded(CONVERSATION))
    said = [[json.loads(line)["fields"] for line in path.read_text().splitlines()] for path in (again, CONVERSATION)]
    assert said[0] == said[1]


def test_the_adapter_is_short() -> None:
    assert len((ROOT / "examples" / "muri" / "adapter.py").read_text().splitlines()) < 60


if FOLDER is not None:

    def test_the_simulator_runs_by_its_own_policies_and_by_ours() -> None:
        rows = []
        for policy, method in (("multi-resource-blossom-same-gpu", "theirs"), ("muri-s:preset=authors", "heuristic")):
            asked = [PYTHON, "-m", "examples.muri.run", "--folder", FOLDER, "--trace", "trace2_pr", "--jobs", "12"]
            asked += ["--policy", policy, "--method", method, "--server", f"{sys.executable} -m muri_opt serve --stdio"]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout.splitlines()[-1]))
        assert [(row["jobs"], row["violations"]) for row in rows] == [(12, 0), (12, 0)]
