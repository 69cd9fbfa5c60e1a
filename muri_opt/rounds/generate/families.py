"""Seeded random rounds by family: the same arguments always give the same round.

A family is the base family ``gangs`` and what it adds to the jobs, or puts in the place of what they have. About a
third of the jobs run, as far as the nodes hold them, each on GPUs of its own; in the family ``philly`` nine tenths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from muri_opt.errors import unknown_name
from muri_opt.rounds.cluster import Cluster, Node
from muri_opt.rounds.generate.configurations import add_configurations, configuration_node, started_configurations
from muri_opt.rounds.generate.demands import with_demands
from muri_opt.rounds.generate.family_fields import FIELDS, NODE_CPUS, NODE_GIB, NODE_GPUS, NOW, SIZES, Fields
from muri_opt.rounds.generate.portable_random import Draws, Floats, Ints
from muri_opt.rounds.generate.running_jobs import scattered, started
from muri_opt.rounds.job import Job
from muri_opt.rounds.quantities import whole
from muri_opt.rounds.round import Round

FAMILIES: Final[Mapping[str, str]] = {
    "gangs": "jobs of 1 to 16 GPUs on 8-GPU nodes, where CPUs or memory bind at times",
    "tenants": "gangs of 3 to 5 tenants whose quotas bind, with users and racks",
    "interleaving": "gangs with a time per stage, one stage of each job far longer than the others",
    "elastic": "gangs with the throughput at 1, 2, 4, 8 and 16 GPUs, by Amdahl's law or a power law",
    "plans": "gangs with execution plans and their throughput, some with a guarantee",
    "configurations": "servers and workers on CPUs or halves of GPUs, some jobs of unknown length",
    "philly": "gangs scattered over a busy cluster with racks, some of its tenants above their quotas",
}
MOST_JOBS: Final = 1_000_000
MOST_NODES: Final = 100_000

_SIZE_PARTS = (70, 8, 9, 10, 3)
_BUSY_PARTS = (46, 8, 16, 24, 6)  # of the jobs that run at one moment, of which large ones are more: they run longer
_RACK_NODES: Final[Mapping[str, int]] = {"tenants": 4, "philly": 8}
_FIELDS: Final = {**FIELDS, "configurations": add_configurations}
_STARTS: Final = {"configurations": started_configurations, "philly": scattered}
_AGE = ((0.0, 60.0), (0.25, 1200.0), (0.5, 7200.0), (0.75, 36_000.0), (0.95, 259_200.0), (1.0, 604_800.0))
_REMAINING = ((0.0, 60.0), (0.25, 600.0), (0.5, 3600.0), (0.75, 21_600.0), (0.9, 172_800.0), (1.0, 2_592_000.0))
_ITERATION = ((0.0, 0.05), (0.25, 0.15), (0.5, 0.3), (0.75, 0.8), (1.0, 4.0))


def generate(family: str, *, jobs: int, nodes: int, seed: int = 0, demands: bool = False) -> Round:
    """Return the random round of ``family`` with this many jobs and nodes; ``demands`` adds the fields of format 2."""
    if family not in FAMILIES:
        raise unknown_name("family", family, FAMILIES)
    jobs = whole("jobs", jobs, MOST_JOBS)
    nodes = whole("nodes", nodes, MOST_NODES)
    seed = whole("seed", seed, 2**63 - 1)
    draws = Draws(seed)
    rows = _gangs(draws, jobs, _BUSY_PARTS if family == "philly" else _SIZE_PARTS)
    tenants = _FIELDS[family](draws, rows, nodes) if family in _FIELDS else ()
    cluster = Cluster(nodes=tuple(_node(family, position) for position in range(nodes)), tenants=tenants)
    start = _STARTS.get(family, started)
    round_ = Round(
        name=f"{family}/{jobs}-jobs-{nodes}-nodes-seed-{seed}" + "-demands" * demands,
        now=float(NOW),
        cluster=cluster,
        jobs=start(draws, cluster, tuple(Job(**row) for row in rows)),
    )
    return with_demands(round_, lambda options: options[int(draws.below(1, len(options))[0])]) if demands else round_


def _node(family: str, position: int) -> Node:
    if family == "configurations":
        return configuration_node(position)
    rack = f"r{position // _RACK_NODES[family]}" if family in _RACK_NODES else None
    return Node(id=f"n{position}", gpus=NODE_GPUS, cpus=NODE_CPUS, memory_gib=NODE_GIB, rack=rack)


def _gangs(draws: Draws, jobs: int, parts: Sequence[int]) -> Fields:
    """Return waiting jobs: an even share of a node is 12 CPUs and 64 GiB per GPU, and some ask for more."""
    gpus = draws.pick(jobs, SIZES, parts)
    nodes = -(-gpus // NODE_GPUS)
    cpus = np.minimum(gpus * draws.pick(jobs, (2, 4, 8, 12, 24), (15, 30, 25, 20, 10)), nodes * NODE_CPUS)
    memory = np.minimum(gpus * draws.pick(jobs, (16, 32, 64, 128, 192), (20, 40, 25, 10, 5)), nodes * NODE_GIB)
    age = _milliseconds(draws.spread(jobs, _AGE))
    iteration = _milliseconds(draws.spread(jobs, _ITERATION))
    remaining = np.maximum(_milliseconds(draws.spread(jobs, _REMAINING)) // iteration, 1)
    preempted = draws.pick(jobs, (0, 1, 2, 3), (70, 15, 10, 5))
    executed = np.where(preempted > 0, np.floor(age * draws.uniform(jobs, 0.05, 0.6)).astype(np.int64), 0)
    restart = draws.pick(jobs, (15, 30, 60), (30, 50, 20))
    return [
        {
            "id": f"job-{j}",
            "submitted": (NOW * 1000 - int(age[j])) / 1000,
            "gpus": int(gpus[j]),
            "cpus": int(cpus[j]),
            "memory_gib": int(memory[j]),
            "remaining_iterations": int(remaining[j]),
            "iteration_seconds": int(iteration[j]) / 1000,
            "attained_gpu_seconds": int(executed[j] * gpus[j]) / 1000,
            "executed_seconds": int(executed[j]) / 1000,
            "waiting_seconds": int(age[j] - executed[j]) / 1000,
            "restarts": int(preempted[j]),
            "restart_seconds": int(restart[j]),
        }
        for j in range(jobs)
    ]


def _milliseconds(seconds: Floats) -> Ints:
    return np.floor(seconds * 1000).astype(np.int64)
