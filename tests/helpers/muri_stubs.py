"""What the adapter of Muri's simulator asks of it, with numbers of our own: two rounds of three jobs on one node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from examples.muri.adapter import SessionGroups


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


def muri_rounds(link: Any) -> list[tuple[list[list[int]], dict[int, list[tuple[int, int]]]]]:
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
