"""Small rounds of elastic jobs that use fields of format 2, and their best decisions by trying all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from random import Random

from asked_brute_force import Split, _allowed, _held, _is_below
from asked_rounds import asked_round
from brute_force import per_gpu
from by_policy import settings_of
from msgspec.structs import replace

from muri_opt import Job, Round, policy_from

GROUPS = ("types", "priority", "shape", "tenants", "states", "all")
"""Of the groups of asked rounds; what says who is not to be decided is taken away, unless told."""
POLICIES = ("afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic")
Runs = Mapping[str, Split]
"""GPUs per node of the jobs that run."""


def asked_shares_round(seed: int, group: str, *, by_node: bool = False, apart: bool = False) -> Round:
    """Return one round of a group with elastic jobs, the same for the same seed.

    ``by_node``: on nodes of one size; ``apart``: with what is set apart before shares are decided.
    """
    draw, round_ = Random(f"elastic/{group}/{seed}"), asked_round(seed, group)
    cluster, jobs = round_.cluster, tuple(_stretched(draw, job) for job in round_.jobs)
    if by_node:
        size = max(node.gpus for node in cluster.nodes)
        cluster = replace(cluster, nodes=tuple(replace(node, gpus=size) for node in cluster.nodes))
        jobs = tuple(replace(job, nodes=None) for job in jobs)
    if not apart:
        cluster = replace(cluster, nodes=tuple(replace(node, state="up") for node in cluster.nodes))
        jobs = tuple(replace(job, preemptible=None, movable=None, held=None, not_before=None) for job in jobs)
    return replace(round_, cluster=cluster, jobs=jobs)


def _stretched(draw: Random, job: Job) -> Job:
    """Return the job with a scaling table of any shape."""
    last = draw.randint(job.gpus, 6)
    counts = {1, last, *(k for k in range(2, last) if draw.random() < 0.6)}
    return replace(
        job,
        scaling={k: round(draw.choice([1.0, k**0.5, k**0.8, float(k)]) * draw.uniform(0.8, 1.3), 3) for k in counts},
        iteration_seconds=draw.choice([None, 0.5]),
        executed_seconds=float(draw.randint(0, 2)),
        restart_seconds=draw.choice([None, 0.5, 5.0]),
    )


def random_spec(seed: int, *, by_node: bool) -> str:
    """Return a policy with settings."""
    draw = Random(f"policy/{seed}")
    name, packing = draw.choice(POLICIES), "node" if by_node else "any"
    if name == "afs-p":
        return f"{name}:packing={packing},quantum=2,objective={draw.choice(['speed-up', 'jobs-then-speed-up'])}"
    objective = draw.choice(["speed", "speed-up", "time", "jobs-then-speed", "jobs-then-speed-up"])
    return f"{name}:packing={packing},objective={objective},restarts={draw.choice(['pay', 'ignore'])},horizon=8"


def plain_values(round_: Round, spec: str, *, changed: bool = False) -> list[dict[int, int]]:
    """Return what each share of each job is worth at most, whatever its priority, or what it is if ``changed``."""
    alike = replace(round_, jobs=tuple(replace(job, priority=0) for job in round_.jobs))
    worth = settings_of(spec).worth(alike)
    return list(worth.changed if changed else worth.kept)


def allowed_splits(round_: Round, job: Job, sizes: Sequence[int], *, by_node: bool) -> list[Split]:
    """Return every place of every share of a job, other jobs aside."""
    nodes = round_.cluster.nodes
    largest, found = max(node.gpus for node in nodes), []
    for split in product(*(range(node.gpus + 1) for node in nodes)):
        gpus, used = sum(split), sum(map(bool, split))
        home = job.state == "running" and split == _held(round_, job)
        packs = not by_node or used <= max(1, gpus // largest)
        if gpus in sizes and packs and (home or _allowed(round_, job, split)):
            found.append(split)
    return found


def lexicographic_best(round_: Round, spec: str) -> tuple[int, ...]:
    """Return the best of all decisions: what each class of priorities is worth, the largest priority first."""
    by_node = policy_from(spec).rules["packing"] == "node"
    if not round_.cluster.nodes:
        return (0,) * len({job.priority for job in round_.jobs})
    values, changed, jobs = plain_values(round_, spec), plain_values(round_, spec, changed=True), round_.jobs
    classes = sorted({job.priority for job in jobs}, reverse=True)
    choices = [allowed_splits(round_, job, [*values[j]], by_node=by_node) for j, job in enumerate(jobs)]
    limited = [tenant for tenant in round_.cluster.tenants if tenant.quota_gpus is not None]
    mine = [[_is_below(round_, job.tenant, tenant.id) for tenant in limited] for job in jobs]
    needs = [per_gpu(job.cpus, job.gpus, 1000) for job in jobs]

    @cache
    def best(place: int, gpus: Split, cpus: tuple[float, ...], quotas: Split) -> tuple[int, ...]:
        if place == len(jobs):
            return (0,) * len(classes)
        found = best(place + 1, gpus, cpus, quotas)
        for split in choices[place]:
            total = sum(split)
            left = tuple(a - b for a, b in zip(gpus, split, strict=True))
            milli = tuple(a - b * needs[place] for a, b in zip(cpus, split, strict=True))
            after = tuple(a - total * b for a, b in zip(quotas, mine[place], strict=True))
            if min(*left, *milli, *after, 0) >= 0:
                then = list(best(place + 1, left, milli, after))
                kept = jobs[place].state == "running" and split == _held(round_, jobs[place])
                then[classes.index(jobs[place].priority)] += (values if kept else changed)[place][total]
                found = max(found, tuple(then))
        return found

    nodes = round_.cluster.nodes
    cpus = tuple(float("inf") if node.cpus is None else node.cpus for node in nodes)
    return best(0, tuple(node.gpus for node in nodes), cpus, tuple(tenant.quota_gpus for tenant in limited))


def weighed(round_: Round, spec: str, sums: Sequence[int]) -> int:
    """Return the value of a decision from what each of its classes is worth."""
    best, value, unit = [max([0, *table.values()]) for table in plain_values(round_, spec)], 0, 1
    classes = sorted({job.priority for job in round_.jobs})
    for priority, worth in zip(classes, reversed(sums), strict=True):
        value += unit * worth
        unit *= 1 + sum(best[j] for j, job in enumerate(round_.jobs) if job.priority == priority)
    return value
