"""Gavel's rounds decided by a session: what runs on which workers, in place of allocations and priorities."""

from __future__ import annotations

from collections import OrderedDict
from math import ceil

from examples.common.driver import Driver
from examples.common.gpu_ids import GpuIds


class GavelRounds:
    """Takes the place of ``_schedule_jobs_on_workers`` of a scheduler of theirs whose workers are registered."""

    def __init__(self, scheduler, link, policy, method, limits=None, restart_seconds=0.0):
        self.scheduler, self._restart = scheduler, restart_seconds
        servers = scheduler._worker_type_to_worker_id_mapping
        ids = {f"{kind}-{place}": gpus for kind in servers for place, gpus in enumerate(servers[kind])}
        self._one_type = len(servers) == 1
        self._size = {kind: len(servers[kind][0]) for kind in servers}
        self._gpus = GpuIds(ids)
        nodes = [dict(id=node, gpus=len(gpus), **self._type(node.split("-")[0])) for node, gpus in ids.items()]
        self.driver = Driver(link, nodes, policy, method, limits)
        self._plans, self._told = not policy.startswith("joint"), None

    def schedule(self):
        """Return the workers of each job for the round that begins now."""
        theirs = {str(job_id): job_id for job_id in self.scheduler._jobs}
        if self._told != list(theirs):  # as Gavel computes its allocations: when jobs have come or ended
            jobs = [self._job(name, job_id) for name, job_id in theirs.items()]
            self.driver.decide(self.scheduler.get_current_timestamp(), jobs)
            self._told = list(theirs)
        placed = self.driver.placed
        given = self._gpus.assign({name: at.nodes for name, at in placed.items()})
        kinds = {name: next(iter(at.nodes)).split("-")[0] for name, at in placed.items()}
        self.scheduler._allocation = {
            job_id: {kind: float(kinds.get(name) == kind) for kind in self._size} for name, job_id in theirs.items()
        }
        return OrderedDict((theirs[name], workers) for name, workers in given.items())

    def _job(self, name, job_id):
        """Return a job as a round has it: a plan for each type of GPU and number of servers that divides its GPUs."""
        theirs, speeds = self.scheduler._jobs[job_id], self.scheduler._throughputs[job_id]
        gpus = theirs.scale_factor
        job = {"id": name, "gpus": gpus, "remaining_iterations": ceil(self.scheduler._get_remaining_steps(job_id))}
        job["submitted"] = self.scheduler._per_job_start_timestamps[job_id]
        job["restart_seconds"] = self._restart
        if not self._plans:
            return dict(job, iteration_seconds=1.0 / max(speeds.values()))
        shapes = [(kind, count) for kind in sorted(speeds) for count in range(1, gpus + 1) if gpus % count == 0]
        job["plans"] = [
            dict(name=f"{kind}-{count}", gpus=gpus, nodes=count, throughput=speeds[kind], **self._type(kind))
            for kind, count in shapes
            if speeds[kind] > 0 and gpus // count <= self._size[kind]
        ]
        return job

    def _type(self, kind):
        return {} if self._one_type else {"gpu_type": kind}
