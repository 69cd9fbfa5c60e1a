"""What of an invariant a round puts to the test. One that no round put to the test was not checked, whatever held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Final

from muri_opt.rounds import Job, Round
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.testing.changed_rounds import has_ties
from muri_opt.verify.amounts import Need, Room, empty_rooms, need_of

_GANGS: Final = frozenset({"gangs"})
_PER_GPU: Final = frozenset({"gangs", "tenants", "stages", "scaling", "deadlines"})
"""The families of jobs that take CPUs and memory with each GPU, and not by plans."""
_WITH_QUOTAS: Final = frozenset({"gangs", "stages", "scaling", "plans", "configurations", "deadlines"})
"""The families in which a quota is a limit: that of ``tenants`` lends idle GPUs."""
_KEPT: Final = 1024
"""Rounds of which is kept whether a limit binds: one check after another asks it of the same ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aspect:
    """Something that makes an invariant hard to keep: its name, and whether a round has it.

    ``families`` are those whose rounds can have it; ``None`` is all. ``fields`` are those of format 2 that it takes,
    ``limits`` those of which a round must say one: ``cpus``, ``memory`` or ``quotas``.

    >>> Aspect(name="no job", holds=lambda round_: not round_.jobs).holds(shipped_round("toy/two-gangs"))
    False
    """

    name: str
    holds: Callable[[Round], bool]
    families: frozenset[str] | None = None
    fields: frozenset[str] = frozenset()
    limits: frozenset[str] = frozenset()

    def possible(self, family: str, used: Set[str], without: Set[str] = frozenset()) -> bool:
        """Return whether rounds of a family that use these fields of format 2, without some limits, can have it."""
        said = not self.limits or not self.limits <= without
        return said and (self.families is None or family in self.families) and self.fields <= used


def _aspect(name: str, holds: Callable[[Round], bool], families: frozenset[str] | None = None, *limits: str) -> Aspect:
    return Aspect(name=name, holds=holds, families=families, limits=frozenset(limits))


def _runs(round_: Round) -> bool:
    return any(job.placement for job in round_.jobs)


def _waits(round_: Round) -> bool:
    return any(job.state == "waiting" for job in round_.jobs)


def _gpus_short(round_: Round) -> bool:
    """Return whether jobs of which each fits the cluster ask for more GPUs together than there are."""
    fitting = [job.gpus for job in round_.jobs if job.gpus <= round_.cluster.total_gpus]
    return sum(fitting) > round_.cluster.total_gpus


def _larger_than_cluster(round_: Round) -> bool:
    return any(job.gpus > round_.cluster.total_gpus for job in round_.jobs)


def _over_nodes(round_: Round) -> bool:
    """Return whether a gang has too many GPUs for every node, and not for the cluster."""
    largest = max((node.gpus for node in round_.cluster.nodes), default=0)
    return any(largest < job.gpus <= round_.cluster.total_gpus for job in round_.jobs)


def _equal_jobs(round_: Round) -> bool:
    said = [(job.gpus, job.cpus, job.memory_gib, job.tenant, job.submitted, job.state) for job in round_.jobs]
    return len(set(said)) < len(said)


def _uneven(round_: Round) -> bool:
    """Return whether the CPUs or the memory of a gang do not divide by its GPUs, in milli-CPUs or MiB."""
    return any(
        need_of(job).milli * job.gpus != round((job.cpus or 0.0) * 1000)
        or need_of(job).mebibytes * job.gpus != round((job.memory_gib or 0.0) * 1024)
        for job in round_.jobs
    )


def _not_said(round_: Round) -> bool:
    return any(job.remaining_iterations is None or job.iteration_seconds is None for job in round_.jobs)


def _said_besides(round_: Round) -> bool:
    return any(job.scaling is not None or job.plans is not None or job.stage_seconds is not None for job in round_.jobs)


def _limited_running(round_: Round) -> bool:
    """Return whether a tenant with a quota has a job that runs and one that waits."""
    limited = {tenant.id for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    run = {job.tenant for job in round_.jobs if job.state == "running"}
    return any(job.tenant in limited & run for job in round_.jobs if job.state == "waiting")


def _held_by_running(round_: Round) -> bool:
    return _runs(round_) and _waits(round_) and sum(job.gpus for job in round_.jobs) > round_.cluster.total_gpus


def _quota_of_none_left(round_: Round) -> bool:
    none = {tenant.id for tenant in round_.cluster.tenants if tenant.quota_gpus == 0}
    return any(job.tenant in none for job in round_.jobs)


def forgetting(resource: str) -> Callable[[Round], bool]:
    """Return whether first fit that forgets ``cpus``, ``memory`` or ``quotas`` would take more of it than there is."""
    known = KeptByObject[bool](_KEPT)

    def binds(round_: Round) -> bool:
        found = known.get(round_, None)
        if found is None:
            found = tried(round_)
            known.put(round_, None, found)
        return found

    def tried(round_: Round) -> bool:
        rooms = [_unlimited(room, resource) for room in empty_rooms(round_)]
        quota = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
        held: Counter[str] = Counter()
        taken: list[list[tuple[Need, int]]] = [[] for _ in rooms]
        for job in sorted(round_.jobs, key=lambda job: job.placement is None):
            limit = None if resource == "quotas" else quota.get(job.tenant or "")
            if limit is not None and held[job.tenant or ""] + job.gpus > limit:
                continue
            for s, gpus in enumerate(_first_fit(round_, rooms, job)):
                rooms[s] = rooms[s].without(need_of(job), gpus)
                taken[s].append((need_of(job), gpus))
                held[job.tenant or ""] += gpus
        if resource == "quotas":
            return any(limit is not None and held[tenant] > limit for tenant, limit in quota.items())
        return any(not _after(room, jobs).possible for room, jobs in zip(empty_rooms(round_), taken, strict=True))

    return binds


def _unlimited(room: Room, resource: str) -> Room:
    return Room(
        gpus=room.gpus,
        milli=None if resource == "cpus" else room.milli,
        mebibytes=None if resource == "memory" else room.mebibytes,
    )


def _after(room: Room, jobs: Sequence[tuple[Need, int]]) -> Room:
    for need, gpus in jobs:
        room = room.without(need, gpus)
    return room


def _first_fit(round_: Round, rooms: Sequence[Room], job: Job) -> list[int]:
    """Return the GPUs of each node that a job has already, or takes by first fit; none where it does not fit."""
    if job.placement:
        return [job.placement.get(node.id, 0) for node in round_.cluster.nodes]
    need = need_of(job)
    shares: list[int] = []
    for room in rooms:
        shares.append(min(room.holds(need), job.gpus - sum(shares)))
    return shares if sum(shares) == job.gpus else []


NO_JOB = _aspect("no job", lambda round_: not round_.jobs)
NO_NODE = _aspect("no node", lambda round_: not round_.cluster.nodes, _GANGS)
BARE_NODE = _aspect("a node without GPUs", lambda round_: any(node.gpus == 0 for node in round_.cluster.nodes))
LARGER = _aspect("a job larger than the cluster", _larger_than_cluster)
NOT_SAID = _aspect("a time that is not said", _not_said, _GANGS)
SAID_BESIDES = _aspect("tables, plans or stages beside a gang", _said_besides, _GANGS)
RUNS = _aspect("a job that runs", _runs)
RUNS_ON_ONE = _aspect("a job that runs on one node", lambda round_: any(_on_one(job) for job in round_.jobs))
BOTH = _aspect("jobs that run and jobs that wait", lambda round_: _runs(round_) and _waits(round_))
TIES = _aspect("jobs submitted at once", has_ties)
EQUAL = _aspect("equal jobs", _equal_jobs, _GANGS)
SEVERAL = _aspect("a gang of several GPUs", lambda round_: any(job.gpus > 1 for job in round_.jobs))
OVER_NODES = _aspect("a gang too large for any node", _over_nodes)
SCATTERED = _aspect("a gang that runs on several nodes", lambda r: any(len(job.placement or ()) > 1 for job in r.jobs))
GPUS_SHORT = _aspect("GPUs are short", _gpus_short)
HELD = _aspect("running jobs hold what others need", _held_by_running)
CPUS_BIND = _aspect("CPUs bind", forgetting("cpus"), _PER_GPU, "cpus")
MEMORY_BINDS = _aspect("memory binds", forgetting("memory"), _PER_GPU, "memory")
UNEVEN = _aspect("CPUs or memory that GPUs do not divide", _uneven, _PER_GPU, "cpus", "memory")
CPUS_ASKED = _aspect("a job that asks for CPUs", lambda r: any(job.cpus for job in r.jobs), _PER_GPU, "cpus")
QUOTA_BINDS = _aspect("a quota binds", forgetting("quotas"), _WITH_QUOTAS, "quotas")
QUOTA_ZERO = _aspect("a quota of 0", _quota_of_none_left, _WITH_QUOTAS, "quotas")
QUOTA_HELD = _aspect("a limited tenant with jobs that run and that wait", _limited_running, _WITH_QUOTAS, "quotas")
NO_QUOTA = _aspect(
    "a tenant without a quota", lambda r: any(t.quota_gpus is None for t in r.cluster.tenants), None, "quotas"
)
WAITS = _aspect("a job that waits", _waits)


def _on_one(job: Job) -> bool:
    return len(job.placement or ()) == 1
