"""Muri's simulator decided by a session: who shares GPUs with whom and where, in place of matching and placement."""

from __future__ import annotations

import math

from examples.common.driver import Driver

RESOURCES = ("data", "gpu", "network")


class SessionGroups:
    """Takes the place of ``Blossom_Same`` and of ``try_get_job_res`` of a simulator of theirs, without its autopack."""

    def __init__(self, simulator, link, policy, method, limits=None):
        self._simulator, self._settings = simulator, (link, policy, method, limits)
        self.driver, self._nodes, self._placed = None, (), {}

    def run(self, jobs_by_gpus, _cluster_gpus, _ordering=1):
        """Return the groups of jobs that run from now on, by their GPUs, as the simulator keeps them."""
        jobs = {str(job["job_idx"]): job for same in jobs_by_gpus.values() for job in same}
        if not jobs:
            return {}
        if self.driver is None:
            link, policy, method, limits = self._settings
            self._nodes = self._simulator.CLUSTER.switch_list[0].node_list
            nodes = [{"id": f"n{node.id}", "gpus": node.num_gpu} for node in self._nodes]
            self.driver = Driver(link, nodes, policy, method, limits, resources=RESOURCES)
        now = max(float(job["last_check_time"]) for job in jobs.values())
        self._placed = self.driver.decide(now, [self._job(name, job) for name, job in jobs.items()])
        groups = {}
        for members in {tuple(sorted((name, *at.partners))) for name, at in self._placed.items()}:
            first, *others = (self._simulator._Packing(jobs[name]) for name in members)
            for other in others:
                first.add_job(other)
            groups.setdefault(first.num_gpu, []).append(first)
        return groups

    def place(self, job, not_place=False):
        """Say that there is room, and take it where the session has decided it; every job is first asked about."""
        if not not_place:
            job["placements"] = [{"switch": 0, "nodes": []}]
            for name, gpus in self._placed[str(job["job_idx"])].nodes.items():
                self._nodes[int(name[1:])].alloc_job_res(gpus, 0)
                taken = {"id": int(name[1:]), "num_gpu": gpus, "num_cpu": 0, "mem": 0, "network": 0, "tasks": []}
                job["placements"][0]["nodes"].append(taken)
        return True

    def _job(self, name, job):
        """Return a job as a round has it: three stages, and the restart that the simulator charges at every event."""
        gpus, restarts = job["num_gpu"], self._simulator.overhead_dict
        said = {"id": name, "gpus": gpus, "submitted": float(job["submit_time"]), "stage_seconds": job["resource_time"]}
        return dict(
            said,
            iteration_seconds=job["iteration_time"],
            remaining_iterations=max(0, math.ceil(job["remaining_iteration"])),
            attained_gpu_seconds=float(job["total_executed_time"] * gpus),
            restart_seconds=float(restarts.get(gpus, {}).get(job["model_name"], 10)),
        )
