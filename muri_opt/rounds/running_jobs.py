"""What running jobs hold of the nodes: a state that cannot be is refused when the round is made.

Jobs with ``stage_seconds`` may share GPUs: up to ``MOST_SHARING`` of them with the same placement. A job may hold
another number of GPUs than it asks for if it is elastic, if a plan says so, or if it shared those of a larger job. CPUs
and memory go with the GPUs, or are what the plan says; they are rounded down, so that only what surely is too much is
refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from muri_opt.errors import InputError
from muri_opt.rounds.cluster import Cluster
from muri_opt.rounds.error_text import shortened, shown
from muri_opt.rounds.job import Job, Plan
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU, mebibytes, milli_cpus

MOST_SHARING = 4
"""Jobs that may interleave on the same GPUs: a group of Muri has no more."""

_NAMED: Final = KeptByObject[tuple[Plan, ...]]()
"""The plans of one name: every round that is made asks for those that jobs run by, and they keep their plans."""
_TAKEN: Final = KeptByObject[tuple[int, int]]()
"""The milli-CPUs and MiB of jobs by their plans, and by all else that these depend on."""
_Held = tuple[tuple[str, int], ...]
"""A placement as a key."""


def check_running(cluster: Cluster, jobs: Sequence[Job]) -> None:
    """Refuse running jobs that do not say where they are, that hold GPUs they cannot run with, or overfill a node."""
    running = [(position, job) for position, job in enumerate(jobs) if job.state == "running"]
    if not running:
        return
    nodes = _Nodes(cluster)
    _NAMED.expect(len(running))
    _TAKEN.expect(len(running))
    for position, job in running:
        try:
            nodes.take(job)
        except InputError as error:
            raise error.inside(f"jobs[{position}] ({shown(job.id)})") from None


class _Stock:
    """What is left of one resource on the nodes that say how much of it they have, in parts of its unit."""

    def __init__(self, unit: str, parts: int, has: Mapping[str, int]) -> None:
        self._unit, self._parts, self._has, self._left = unit, parts, has, dict(has)

    def take(self, node: str, amount: int) -> None:
        """Take an amount from a node, or refuse it."""
        left = self._left.get(node)
        if left is None:
            return
        self._left[node] = left - amount
        if left < amount:
            has, taken = self._has[node] / self._parts, (self._has[node] - left + amount) / self._parts
            found = f"{amount / self._parts:g} {self._unit}, which makes {taken:g} with the running jobs before it"
            raise InputError(f"placement[{shortened(node)}]", found, f"at most the {has:g} {self._unit} of the node")


class _Nodes:
    """What running jobs leave of the nodes."""

    def __init__(self, cluster: Cluster) -> None:
        cpus, memory = cluster.milli_cpus_by_node, cluster.mebibytes_by_node
        self._gpus = _Stock("GPUs", 1, cluster.gpus_by_node)
        self._cpus, self._memory = _Stock("CPUs", MILLI_PER_CPU, cpus), _Stock("GiB", MIB_PER_GIB, memory)
        self._limited = bool(cpus or memory)
        self._sharing: dict[_Held, int] = {}

    def take(self, job: Job) -> None:
        """Take what a running job holds, or refuse the job."""
        placement = job.placement
        if not placement:
            if job.gpus:
                raise InputError("placement", "nothing", f"the nodes of its {job.gpus} GPUs: the job is running")
            return
        total = sum(placement.values())
        if total != job.gpus and not _may_hold(job, total):
            raise _wrong_count(job)
        if job.stage_seconds is None or self._begins_group(placement):
            for node, gpus in placement.items():
                self._gpus.take(node, gpus)
        if self._limited and (job.cpus or job.memory_gib or job.plans):
            self._take_others(job, placement, total)

    def _begins_group(self, placement: Mapping[str, int]) -> bool:
        """Return whether a job needs other GPUs than the jobs with its placement hold already."""
        held = tuple(placement.items())
        before = self._sharing.get(held, 0)
        self._sharing[held] = before + 1
        return before % MOST_SHARING == 0

    def _take_others(self, job: Job, placement: Mapping[str, int], total: int) -> None:
        """Take the CPUs and the memory of a job."""
        milli, mib = _taken(job, placement, total)
        for node, gpus in placement.items():
            part, whole = (gpus, total) if total else (1, len(placement))
            self._cpus.take(node, milli * part // whole)
            self._memory.take(node, mib * part // whole)


def _may_hold(job: Job, gpus: int) -> bool:
    """Return whether a job that asks for another number of GPUs can run with these.

    One that can share may have more: those of a larger job, which may have ended since.
    """
    return _may_hold_without_plans(job, gpus) or any(plan.gpus == gpus for plan in _plans(job))


def _may_hold_without_plans(job: Job, gpus: int) -> bool:
    """Return whether a job can run with so many GPUs by none of its plans."""
    if not gpus:
        return False
    if gpus == job.gpus or (job.stage_seconds is not None and gpus > job.gpus):
        return True
    return job.scaling is not None and gpus <= max(job.scaling)


def _plans(job: Job) -> Sequence[Plan]:
    """Return the plans by which a job may be running: those of the name it says, or all."""
    plans = job.plans or ()
    if job.plan is None or not plans:
        return plans
    named = _NAMED.get(plans, job.plan)
    if named is None:
        named = tuple(plan for plan in plans if plan.name == job.plan)
        _NAMED.put(plans, job.plan, named)
    return named


def _wrong_count(job: Job) -> InputError:
    found = f"{sum((job.placement or {}).values())} GPUs"
    ways = [f"the {job.gpus} it asks for"]
    if job.scaling is not None:
        ways.append(f"1 to {max(job.scaling)}, as it scales")
    if job.plans:
        counts = sorted({plan.gpus for plan in _plans(job)})
        ways.append("those of a plan" + f" {shown(job.plan)}" * (job.plan is not None) + f": {counts}")
    if job.stage_seconds is not None:
        ways.append("more, of a larger job that it shares them with")
    return InputError("placement", found, "GPUs it can run with: " + "; ".join(ways))


def _taken(job: Job, placement: Mapping[str, int], total: int) -> tuple[int, int]:
    """Return what :func:`_with_gpus` does; of jobs that keep their plans and GPUs it is known."""
    if not job.plans:
        return _with_gpus(job, placement, total)
    by_none = _may_hold_without_plans(job, total)
    asked = job.plan, job.gpus, job.cpus, job.memory_gib
    beside = asked, total, len(placement), job.stage_seconds is None, by_none
    known = _TAKEN.get(job.plans, beside)
    if known is None:
        known = _with_gpus(job, placement, total)
        _TAKEN.put(job.plans, beside, known)
    return known


def _with_gpus(job: Job, placement: Mapping[str, int], total: int) -> tuple[int, int]:
    """Return the milli-CPUs and MiB of a running job on all its nodes together.

    By the plan it may be running, the least of several; what none says goes with the GPUs, so that a plan without GPUs
    takes nothing of it. Under policies that read no plans it runs by none, whatever plan it asks for. A job without
    GPUs or plans has all that it asks for.
    """
    milli, mib = milli_cpus(job.cpus or 0.0), mebibytes(job.memory_gib or 0.0)
    if total == job.gpus and not job.plans:
        return milli, mib
    asks = max(1, job.gpus, total if job.stage_seconds is not None else 1)
    milli, mib = milli * total // asks, mib * total // asks
    plans = [plan for plan in _plans(job) if plan.gpus == total and plan.nodes == len(placement)]
    cpus = [milli if plan.cpus is None else milli_cpus(plan.cpus) for plan in plans]
    memory = [mib if plan.memory_gib is None else mebibytes(plan.memory_gib) for plan in plans]
    if not plans or _may_hold_without_plans(job, total):
        cpus.append(milli)
        memory.append(mib)
    return min(cpus), min(memory)
