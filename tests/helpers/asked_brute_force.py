"""What jobs ask of nodes, tried out split by split: the words of the round format, shared with nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import product

from brute_force import per_gpu, ranked
from plain_loans import may_use

from muri_opt import Job, Node, Round

Split = tuple[int, ...]
"""GPUs of a gang on each node."""


def asked_optimum(round_: Round, order: str, *, lexicographic: bool, fewest: bool, preempt: bool) -> int:
    """Return the largest value over all decisions that are allowed."""
    return max(value for value, _ in asked_decisions(round_, order, lexicographic, fewest, preempt))


def asked_decisions(
    round_: Round, order: str, lexicographic: bool, fewest: bool, preempt: bool
) -> Iterator[tuple[int, dict[str, Split]]]:
    """Yield every allowed decision, as GPUs per node of the jobs that run, with its value."""
    fixed = {job.id: _held(round_, job) for job in round_.jobs if _is_fixed(round_, job, preempt)}
    line = [job for job in sorted(ranked(round_, order), key=lambda job: -job.priority) if job.id not in fixed]
    worth = {
        job.id: 2 ** (len(line) - 1 - rank) if lexicographic else job.gpus * (len(line) - rank)
        for rank, job in enumerate(line)
    }
    choices = []
    for job in round_.jobs:
        if job.id in fixed:
            choices.append([fixed[job.id]])
            continue
        splits = _starts(round_, job, fewest)
        if job.state == "running" and not _lost(round_, job):
            held, pinned = _held(round_, job), job.preemptible is False
            movable = job.preemptible is not False if job.movable is None else job.movable
            splits = splits if movable else []
            few = min((_used(split) for split in splits), default=len(held)) if fewest else len(held)
            if held not in splits and (_used(held) <= few or pinned):
                splits.append(held)
            choices.append(splits if pinned else [None, *splits])
        else:
            choices.append([None, *splits])
    within = lru_cache(None)(lambda runs: _within_quotas(round_, runs, fixed))
    wished = {job.id: job for job in line if job.within is not None and not job.within.required}
    for choice in product(*choices):
        runs = {job.id: split for job, split in zip(round_.jobs, choice, strict=True) if split is not None}
        if within(frozenset(runs)) and _fits(round_, runs) and _within_types(round_, runs, fixed):
            near = sum(job in wished and _is_inside(round_, split) for job, split in runs.items())
            yield (len(wished) + 1) * sum(worth.get(job, 0) for job in runs) + near, runs


def _is_fixed(round_: Round, job: Job, preempt: bool) -> bool:
    if job.state != "running" or _lost(round_, job):
        return False
    pinned = job.preemptible is False and job.movable is not True
    return pinned or not preempt


def _starts(round_: Round, job: Job, fewest: bool) -> list[Split]:
    """Return every split with which the job may start in the empty cluster, or those on the fewest nodes."""
    waits = job.state == "waiting" or _lost(round_, job)
    if waits and (job.held is not None or (job.not_before is not None and job.not_before > round_.now)):
        return []
    nodes = round_.cluster.nodes
    every = product(*(range(min(job.gpus, node.gpus) + 1) for node in nodes))
    found = [split for split in every if sum(split) == job.gpus and _allowed(round_, job, split)]
    found = [split for split in found if _fits(round_, {job.id: split})]
    least = min((_used(split) for split in found), default=0)
    return [split for split in found if not fewest or _used(split) == least]


def _allowed(round_: Round, job: Job, split: Split) -> bool:
    used = [node for node, gpus in zip(round_.cluster.nodes, split, strict=True) if gpus]
    if not all(_takes(round_, node, job) for node in used) or len({node.gpu_type for node in used}) > 1:
        return False
    if job.within is not None and job.within.required and not _is_inside(round_, split):
        return False
    if job.even and len({gpus for gpus in split if gpus}) > 1:
        return False
    return job.nodes is None or job.nodes.least <= len(used) <= (job.nodes.most or len(used))


def _is_inside(round_: Round, split: Split) -> bool:
    racks = {node.rack for node, gpus in zip(round_.cluster.nodes, split, strict=True) if gpus}
    return len(racks) == 1 and None not in racks


def _takes(round_: Round, node: Node, job: Job) -> bool:
    ends = round_.now + (job.time_limit_seconds or 1e-6)
    return (
        node.state == "up"
        and (node.available_until is None or ends <= node.available_until)
        and (job.gpu_types is None or node.gpu_type in job.gpu_types)
        and set(job.requires) <= set(node.labels)
        and not set(job.excludes) & set(node.labels)
    )


def _lost(round_: Round, job: Job) -> bool:
    return any(node.state == "down" and (job.placement or {}).get(node.id) for node in round_.cluster.nodes)


def _held(round_: Round, job: Job) -> Split:
    return tuple((job.placement or {}).get(node.id, 0) for node in round_.cluster.nodes)


def _used(split: Split) -> int:
    return sum(map(bool, split))


def _fits(round_: Round, runs: dict[str, Split]) -> bool:
    jobs = {job.id: job for job in round_.jobs}
    for s, node in enumerate(round_.cluster.nodes):
        if sum(split[s] for split in runs.values()) > node.gpus:
            return False
        cpus = sum(split[s] * per_gpu(jobs[job].cpus, jobs[job].gpus, 1000) for job, split in runs.items())
        if node.cpus is not None and cpus > node.cpus:
            return False
    return True


def _within_quotas(round_: Round, runs: Collection[str], fixed: dict[str, Split]) -> bool:
    uses, keeps = dict[str, int](), dict[str, int]()
    for tenant in round_.cluster.tenants:
        mine = [job for job in round_.jobs if _is_below(round_, job.tenant, tenant.id)]
        uses[tenant.id] = sum(job.gpus for job in mine if job.id in runs)
        keeps[tenant.id] = sum(job.gpus for job in mine if _stays(job, fixed))
    return may_use(round_.cluster, uses, keeps)


def _within_types(round_: Round, runs: dict[str, Split], fixed: dict[str, Split]) -> bool:
    kinds = [node.gpu_type for node in round_.cluster.nodes]
    for tenant in round_.cluster.tenants:
        mine = [job for job in round_.jobs if tenant.quota_by_type and _is_below(round_, job.tenant, tenant.id)]
        for kind, quota in (tenant.quota_by_type or {}).items():
            used = sum(_of_kind(runs.get(job.id, ()), kinds, kind) for job in mine)
            kept = sum(_of_kind(_held(round_, job), kinds, kind) for job in mine if _stays(job, fixed))
            if used > max(quota, kept):
                return False
    return True


def _stays(job: Job, fixed: dict[str, Split]) -> bool:
    return job.id in fixed or (job.preemptible is False and job.state == "running")


def _of_kind(split: Split, kinds: list[str | None], kind: str) -> int:
    return sum(gpus for gpus, one in zip(split, kinds, strict=False) if one == kind)


def _is_below(round_: Round, tenant: str | None, other: str) -> bool:
    """Return whether a tenant is another one, or part of it."""
    parents = {one.id: one.parent for one in round_.cluster.tenants}
    return tenant is not None and (tenant == other or _is_below(round_, parents[tenant], other))
