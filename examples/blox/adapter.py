"""Blox's placement made by a session: who runs, and on which GPUs, in place of an order and a walk through it."""

from __future__ import annotations

import math

from examples.common.driver import Driver
from examples.common.gpu_ids import GpuIds


class SessionPlacement:
    """Takes the place of ``JobPlacement`` of a loop of theirs; the order of the jobs is not looked at."""

    def __init__(self, link, policy, method, limits=None):
        self._settings = link, policy, method, limits
        self.driver = self._gpus = None

    def place(self, job_state, cluster_state, new_job_schedule=None):
        """Return the jobs to stop and the GPUs of the jobs to start; a job that moves is in both."""
        gpus = cluster_state.gpu_df
        if self.driver is None:
            self._open(gpus)
        active = {str(number): number for number in job_state.active_jobs}
        jobs = [self._job(name, job_state.active_jobs[number]) for name, number in active.items()]
        placed = self.driver.decide(float(job_state.time), jobs)
        given = self._gpus.assign({name: at.nodes for name, at in placed.items()})
        held = {}
        for gpu, number in zip(gpus["GPU_ID"], gpus["JOB_IDS"]):
            held.setdefault(number, set()).add(gpu)
        runs = [number for number in active.values() if job_state.active_jobs[number]["is_running"]]
        kept = {number for number in runs if set(given.get(str(number), ())) == held[number]}
        launched = {active[name]: list(ids) for name, ids in given.items() if active[name] not in kept}
        return [number for number in runs if number not in kept], launched

    def _open(self, gpus):
        ids = {}
        for gpu, node in zip(gpus["GPU_ID"], gpus["Node_ID"]):
            ids.setdefault(f"n{node}", []).append(gpu)
        self._gpus = GpuIds(ids)
        nodes = [{"id": node, "gpus": len(held)} for node, held in ids.items()]
        link, policy, method, limits = self._settings
        self.driver = Driver(link, nodes, policy, method, limits)

    @staticmethod
    def _job(name, job):
        """Return a job as a round has it: a gang. Blox's simulator charges nothing for stopping one."""
        done = job["tracked_metrics"]["attained_service"]
        return {
            "id": name,
            "gpus": int(job["num_GPUs"]),
            "submitted": float(job["submit_time"]),
            "iteration_seconds": float(job["job_iteration_time"]),
            "remaining_iterations": max(0, math.ceil(job["job_total_iteration"] - job["job_executed_iteration"])),
            "attained_gpu_seconds": float(done * job["num_GPUs"]),
            "restart_seconds": 0.0,
        }
