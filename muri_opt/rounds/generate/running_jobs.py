"""Which jobs of a random round run, and where."""

from __future__ import annotations

import msgspec
import numpy as np

from muri_opt.rounds.amounts import Amounts
from muri_opt.rounds.cluster import Cluster
from muri_opt.rounds.generate.family_fields import NODE_GPUS
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.job import Job


def started(draws: Draws, cluster: Cluster, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """Return the jobs with about a third of them running, each whole on one node or in equal parts on several."""
    amounts = Amounts.of(cluster, jobs)
    free_gpus, free_cpus, free_memory, quota = (a.copy() for a in (amounts.G, amounts.C, amounts.M, amounts.U))
    wanted = np.flatnonzero(draws.uniform(len(jobs)) < 1 / 3).tolist()
    turn = draws.uniform(len(jobs)).tolist()
    ran = draws.uniform(len(jobs), 0.1, 0.9).tolist()
    result = list(jobs)
    for j in wanted:
        gpus, tenant = jobs[j].gpus, amounts.tenant[j]
        parts = -(-gpus // NODE_GPUS)
        room = amounts.most_gpus([j], free_gpus, free_cpus, free_memory)
        fitting = np.flatnonzero(room >= gpus // parts)
        if len(fitting) < parts or (tenant >= 0 and quota[tenant] < gpus):
            continue
        at = int(turn[j] * (len(fitting) - parts + 1))
        held = fitting[at : at + parts]
        free_gpus[held] -= gpus // parts
        free_cpus[held] -= gpus // parts * amounts.c[j]
        free_memory[held] -= gpus // parts * amounts.m[j]
        if tenant >= 0:
            quota[tenant] -= gpus
        result[j] = _running(jobs[j], ran[j], {cluster.nodes[s].id: gpus // parts for s in held.tolist()})
    return tuple(result)


def scattered(draws: Draws, cluster: Cluster, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """Return the jobs with nine of ten running as far as they fit, whatever the quotas say.

    A gang of one node is on the tightest one, or, as often, on any: that leaves GPUs free here and there. Larger gangs
    are on whole nodes, of one rack where there are enough.
    """
    amounts = Amounts.of(cluster, jobs)
    free_gpus, free_cpus, free_memory = (a.copy() for a in (amounts.G, amounts.C, amounts.M))
    racks = np.unique([node.rack or "" for node in cluster.nodes], return_inverse=True)[1]
    wanted = np.flatnonzero(draws.uniform(len(jobs)) < 0.9).tolist()
    tight = (draws.uniform(len(jobs)) < 0.5).tolist()
    turn = draws.uniform(len(jobs)).tolist()
    ran = draws.uniform(len(jobs), 0.1, 0.9).tolist()
    result = list(jobs)
    for j in wanted:
        gpus = jobs[j].gpus
        parts = -(-gpus // NODE_GPUS)
        fitting = np.flatnonzero(amounts.most_gpus([j], free_gpus, free_cpus, free_memory) >= gpus // parts)
        if len(fitting) < parts:
            continue
        held = fitting[int(turn[j] * len(fitting)) :][:1]
        if parts > 1:
            near = fitting[racks[fitting] == racks[held]]
            held = (near if len(near) >= parts else fitting)[:parts]
        elif tight[j]:
            held = fitting[[np.argmin(free_gpus[fitting])]]
        free_gpus[held] -= gpus // parts
        free_cpus[held] -= gpus // parts * amounts.c[j]
        free_memory[held] -= gpus // parts * amounts.m[j]
        result[j] = _running(jobs[j], ran[j], {cluster.nodes[s].id: gpus // parts for s in held.tolist()})
    return tuple(result)


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
