"""The family ``configurations``: jobs of parameter servers and workers, on CPUs or on halves of GPUs, as in AITurbo.

The nodes of even number have 8 GPU shares, two to a GPU, the others none; all have 32 CPUs. A job has one or two
servers and one or two workers, by AITurbo's pods of five CPUs, or of one for a worker with a GPU. Its speeds follow
AITurbo's model of a step; where servers and workers are two of each, they may be on two nodes. About a quarter of the
jobs cannot be predicted: what they have left is not said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

import msgspec
import numpy as np

from muri_opt.rounds.amounts import Amounts
from muri_opt.rounds.cluster import Cluster, Node, Tenant
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.generate.family_fields import NOW, Fields
from muri_opt.rounds.generate.portable_random import Draws, Floats
from muri_opt.rounds.job import Job, Plan

_NODE_SHARES, _NODE_CPUS = 8, 32
_POD_CPUS, _GPU_WORKER_CPUS = 5, 1


class _Configuration(NamedTuple):
    """Servers, workers, and the GPU shares of a worker: 0 on CPUs; with the name of its plans and what they take."""

    servers: int
    workers: int
    share: int
    name: str
    gpus: int
    cpus: int

    @classmethod
    def of(cls, servers: int, workers: int, share: int) -> _Configuration:
        name = f"gpu-p{servers}-w{workers}-s{share}" if share else f"cpu-p{servers}-w{workers}"
        cpus = servers * _POD_CPUS + workers * (_GPU_WORKER_CPUS if share else _POD_CPUS)
        return cls(servers, workers, share, name, workers * share, cpus)


_CONFIGURATIONS: Final = tuple(_Configuration.of(*counts) for counts in product((1, 2), (1, 2), (0, 1, 2)))
_ASKED_PARTS: Final = (22, 16, 8, 11, 8, 4, 8, 6, 3, 7, 5, 2)  # small ones rather than large ones
_WAITED = ((0.0, 0.0), (0.3, 150.0), (0.6, 600.0), (0.8, 1800.0), (0.95, 7200.0), (1.0, 36_000.0))
_RAN = ((0.0, 10.0), (0.5, 600.0), (0.8, 3600.0), (1.0, 36_000.0))
_LEFT = ((0.0, 60.0), (0.25, 300.0), (0.5, 900.0), (0.75, 3600.0), (0.95, 14_400.0), (1.0, 43_200.0))


def configuration_node(position: int) -> Node:
    """Return a node of the family, by its place in the cluster."""
    return Node(id=f"n{position}", gpus=0 if position % 2 else _NODE_SHARES, cpus=_NODE_CPUS)


def add_configurations(draws: Draws, rows: Fields, _nodes: int) -> tuple[Tenant, ...]:
    """Give each job its configurations, the one it asks for, and what was and is to be done by it."""
    jobs = len(rows)
    speeds = [speed.tolist() for speed in _speeds(draws, jobs)]
    asked = draws.pick(jobs, range(len(_CONFIGURATIONS)), _ASKED_PARTS).tolist()
    waited, ran, left = (np.floor(draws.spread(jobs, points)).tolist() for points in (_WAITED, _RAN, _LEFT))
    known = (draws.uniform(jobs) < 0.75).tolist()
    for j, row in enumerate(rows):
        at, pace = _CONFIGURATIONS[asked[j]], speeds[asked[j]][j]
        executed = ran[j] if row["restarts"] else 0.0
        row |= {
            "gpus": at.gpus,
            "cpus": at.cpus,
            "plans": tuple(_plans([speed[j] for speed in speeds])),
            "plan": at.name,
            "predictable": known[j],
            "remaining_iterations": max(1, int(left[j] * pace)) if known[j] else None,
            "iteration_seconds": round(1 / pace, 6),
            "submitted": NOW - waited[j] - executed,
            "attained_gpu_seconds": executed * at.gpus,
            "executed_seconds": executed,
            "waiting_seconds": waited[j],
        }
        del row["memory_gib"]
    return ()


def _speeds(draws: Draws, jobs: int) -> Iterator[Floats]:
    """Yield the steps a second of all jobs by each configuration: one over c (t / w + 0.02) + s w / p + u w + v p.

    A step computes for t seconds on a whole GPU, c times as long on half of one, and longer still on five cores.
    """
    computing, half, cores = (draws.uniform(jobs, *span) for span in ((0.5, 5.0), (1.2, 2.0), (2.0, 12.0)))
    sending, each_worker, each_server = (draws.uniform(jobs, 0.0, most) for most in (0.8, 0.1, 0.1))
    for servers, workers, share, *_ in _CONFIGURATIONS:
        factor: Floats = (cores, half, np.ones(jobs))[share]
        seconds = factor * (computing / workers + 0.02) + sending * workers / servers
        yield np.round(1 / (seconds + each_worker * workers + each_server * servers), 6)


def _plans(speeds: Sequence[float]) -> Iterator[Plan]:
    """Yield the plans of a job: each configuration on one node and, if servers and workers divide evenly, on two."""
    for at, speed in zip(_CONFIGURATIONS, speeds, strict=True):
        for nodes in (1, 2) if at.servers == at.workers == 2 else (1,):
            yield Plan(name=at.name, gpus=at.gpus, nodes=nodes, cpus=at.cpus, throughput=speed)


def started_configurations(draws: Draws, cluster: Cluster, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """Return the jobs with about a third of them running, each on one node by the configuration it asks for."""
    free = FreeCapacity(Amounts.of(cluster, jobs))
    wanted = np.flatnonzero(draws.uniform(len(jobs)) < 1 / 3).tolist()
    turn = draws.uniform(len(jobs)).tolist()
    ran = np.floor(draws.spread(len(jobs), _RAN)).tolist()
    result = list(jobs)
    for j in wanted:
        job = jobs[j]
        cpus = int(free.amounts.c[j]) * max(1, job.gpus)
        fitting = np.flatnonzero(free.holds(np.array([[job.gpus], [cpus], [0]])))
        if len(fitting):
            at = int(fitting[int(turn[j] * len(fitting))])
            free.occupy(at, job.gpus, cpus, 0)
            result[j] = msgspec.structs.replace(
                job,
                state="running",
                placement={cluster.nodes[at].id: job.gpus},
                submitted=NOW - (job.waiting_seconds or 0.0) - ran[j],
                executed_seconds=ran[j],
                attained_gpu_seconds=ran[j] * job.gpus,
            )
    return tuple(result)
