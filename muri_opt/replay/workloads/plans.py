"""Workloads of execution plans made of elastic ones: what a scaling table says, as the plans of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.studies.cluster_text import cluster_from
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.skipped_rows import kept
from muri_opt.rounds import Cluster, Job, JobConfiguration, Plan
from muri_opt.rounds.error_text import shown
from muri_opt.systems.curves import scaling_table

Shape = tuple[str, int, int]
"""The name of a plan, its GPUs and its nodes."""


def with_plans(workload: Workload, cluster: Cluster, kind: str = "rubick") -> Workload:
    """Return the workload with plans for every job, as fast as its scaling table says; work and times stay.

    ``kind`` ``rubick``: one strategy, data parallel, on 1, 2, 4, 8, ... GPUs and as many as the job asks for, named
    ``dp4``. ``aiturbo``: one server, and workers of equal shares of up to a node's GPUs, named ``gpu-p1-w2-s4``. Each
    plan is on the fewest nodes that its GPUs fill evenly. A job asks for its own number of GPUs by the plan on the
    fewest nodes; where they divide among no nodes evenly, it is left out, and counted. The table knows no nodes, so
    neither does the throughput.
    """
    if kind not in KINDS:
        raise unknown_name("plans", kind, KINDS)
    per_node = min((node.gpus for node in cluster.nodes), default=0)
    jobs: list[Job] = []
    for position, job in enumerate(workload.jobs):
        if job.scaling is None:
            raise InputError(f"jobs[{position}] ({job.id!r}).scaling", "nothing", "a scaling table to make plans of")
        speeds = scaling_table(job.scaling).speeds
        most = min(len(speeds) - 1, cluster.total_gpus)
        shapes = list(KINDS[kind](job.gpus, most, per_node, len(cluster.nodes)))
        asked = [shape for shape in shapes if shape[1] == job.gpus]
        if asked:
            rate = 1 / ((job.iteration_seconds or 1.0) * speeds[job.gpus])
            plans = tuple(Plan(name=name, gpus=k, nodes=n, throughput=speeds[k] * rate) for name, k, n in shapes)
            own = min(asked, key=lambda shape: shape[2])[0]
            jobs.append(msgspec.structs.replace(job, plans=plans, plan=own))
    return kept(workload, jobs, "no-plan")


def with_plans_by_text(workload: Workload, text: str) -> Workload:
    """Return the workload with the plans that a text asks for: ``rubick@16x4``, a kind and the cluster they fill."""
    kind, _, cluster = text.partition("@")
    if not cluster:
        raise InputError("plans", shown(text), "a kind and a cluster, such as " + ", ".join(f"{k}@8x8" for k in KINDS))
    return with_plans(workload, cluster_from(cluster), kind)


def _data_parallel(asked: int, most: int, per_node: int, nodes: int) -> Iterator[Shape]:
    sizes = {1 << power for power in range(most.bit_length())} | {asked}
    for gpus in sorted(size for size in sizes if size <= most):
        parts = _fewest(gpus, gpus, per_node, nodes)
        if parts:
            yield f"dp{gpus}", gpus, parts


def _workers(_asked: int, most: int, per_node: int, nodes: int) -> Iterator[Shape]:
    for share in range(1, per_node + 1):
        for workers in range(1, most // share + 1):
            parts = _fewest(workers, workers * share, per_node, nodes)
            if parts:
                name = JobConfiguration(kind="gpu", servers=1, workers=workers, share=share).name
                yield name, workers * share, parts


def _fewest(pieces: int, gpus: int, per_node: int, nodes: int) -> int:
    """Return the fewest nodes that have equally many of the pieces, and no more GPUs than they have; 0 if none do."""
    able = (parts for parts in range(1, nodes + 1) if pieces % parts == 0 and gpus // parts <= per_node)
    return next(able, 0)


KINDS: Final[Mapping[str, Callable[[int, int, int, int], Iterator[Shape]]]] = {
    "rubick": _data_parallel,
    "aiturbo": _workers,
}
