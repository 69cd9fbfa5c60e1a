"""Which jobs of a random round run, and where."""

from __future__ import annotations

import msgspec
import numpy as np

from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.rounds.cluster import Cluster
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.generate.family_fields import NODE_GPUS
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.job import Job


def started(draws: Draws, cluster: Cluster, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """Return the jobs with about a third of them running, each whole on one node or in equal parts on several."""
    free = FreeCapacity(Amounts.of(cluster, jobs))
    wanted = np.flatnonzero(draws.uniform(len(jobs)) < 1 / 3).tolist()
    turn = draws.uniform(len(jobs)).tolist()
    ran = draws.uniform(len(jobs), 0.1, 0.9).tolist()
    result = list(jobs)
    for j in wanted:
        gpus, tenant = jobs[j].gpus, int(free.amounts.tenant[j])
        parts = -(-gpus // NODE_GPUS)
        fitting = np.flatnonzero(free.most_gpus(j) >= gpus // parts)
        if len(fitting) < parts or not free.has_quota(tenant, gpus):
            continue
        at = int(turn[j] * (len(fitting) - parts + 1))
        free.charge(tenant, gpus)
        held = _held(free, cluster, j, fitting[at : at + parts], gpus // parts)
        result[j] = _running(jobs[j], ran[j], held)
    return tuple(result)


def scattered(draws: Draws, cluster: Cluster, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """Return the jobs with nine of ten running as far as they fit, whatever the quotas say.

    A gang of one node is on the tightest one, or, as often, on any: that leaves GPUs free here and there. Larger gangs
    are on whole nodes, of one rack where there are enough.
    """
    free = FreeCapacity(Amounts.of(cluster, jobs))
    racks = np.unique([node.rack or "" for node in cluster.nodes], return_inverse=True)[1]
    wanted = np.flatnonzero(draws.uniform(len(jobs)) < 0.9).tolist()
    tight = (draws.uniform(len(jobs)) < 0.5).tolist()
    turn = draws.uniform(len(jobs)).tolist()
    ran = draws.uniform(len(jobs), 0.1, 0.9).tolist()
    result = list(jobs)
    for j in wanted:
        gpus = jobs[j].gpus
        parts = -(-gpus // NODE_GPUS)
        fitting = np.flatnonzero(free.most_gpus(j) >= gpus // parts)
        if len(fitting) < parts:
            continue
        nodes = fitting[int(turn[j] * len(fitting)) :][:1]
        if parts > 1:
            near = fitting[racks[fitting] == racks[nodes]]
            nodes = (near if len(near) >= parts else fitting)[:parts]
        elif tight[j]:
            nodes = fitting[[np.argmin(free.gpus[fitting])]]
        result[j] = _running(jobs[j], ran[j], _held(free, cluster, j, nodes, gpus // parts))
    return tuple(result)


def _held(free: FreeCapacity, cluster: Cluster, job: int, nodes: Ints, gpus: int) -> dict[str, int]:
    """Give a job so many GPUs of each of the nodes, and return that as its placement."""
    free.occupy(nodes, gpus, gpus * free.amounts.c[job], gpus * free.amounts.m[job])
    return {cluster.nodes[s].id: gpus for s in nodes.tolist()}


def _running(job: Job, part: float, placement: dict[str, int]) -> Job:
    """Return the job at work: ``part`` of its time since submission was spent on its GPUs."""
    age = round(((job.executed_seconds or 0) + (job.waiting_seconds or 0)) * 1000)
    executed = int(age * part)
    return msgspec.structs.replace(
        job,
        state="running",
        placement=placement,
        plan=next((plan.name for plan in job.plans or () if plan.gpus == job.gpus), None),
        executed_seconds=executed / 1000,
        waiting_seconds=(age - executed) / 1000,
        attained_gpu_seconds=executed * job.gpus / 1000,
    )
