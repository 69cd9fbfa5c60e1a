"""The round of a moment: which jobs were there, which of them ran, and where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.traces.jobs import TraceJob
from muri_opt.replay.traces.skipped_rows import GIVEN_AS_WAITING, Dropped, Tally
from muri_opt.rounds import Cluster, Job, Node, Round, Tenant
from muri_opt.rounds.error_text import listed, shortened, shown
from muri_opt.rounds.field_checks import items, pairs, text
from muri_opt.rounds.quantities import MAX_GPUS, MAX_SECONDS, MICROSECONDS_PER_SECOND, snapped, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The round of a moment, and how many jobs that ran then are given as waiting, by reason."""

    round: Round
    given_as_waiting: tuple[Dropped, ...]


def moment_of(jobs: Iterable[TraceJob], cluster: Cluster, seconds: float, name: str) -> Moment:
    """Return the round of the jobs that are present; ``cluster`` lists all their tenants or none.

    A job whose attempt covers the moment runs where the attempt was, if these nodes are in the cluster and have room
    for exactly its GPUs; jobs take their nodes in the order of their submission. All others wait.
    """
    free = {node.id: node.gpus for node in cluster.nodes}
    tally = Tally()
    made = []
    for job in jobs:
        if job.is_present(seconds):
            placement = _placement(job, seconds, free, tally)
            for node, gpus in placement.items():
                free[node] -= gpus
            made.append(_job(job, seconds, placement))
    round_ = Round(name=name, now=seconds, cluster=cluster, jobs=tuple(made))
    return Moment(round=round_, given_as_waiting=tally.dropped(GIVEN_AS_WAITING))


def _placement(job: TraceJob, seconds: float, free: Mapping[str, int], tally: Tally) -> Mapping[str, int]:
    """Return where the job runs, nothing if it waits; count the jobs that ran and cannot run here."""
    attempt = job.attempt_at(seconds)
    if attempt is None:
        return {}
    held = attempt.placement
    if not held:
        reason = "no-placement"
    elif any(node not in free for node in held):
        reason = "not-in-cluster"
    elif sum(held.values()) != job.gpus:
        reason = "other-gpus"
    elif any(gpus > free[node] for node, gpus in held.items()):
        reason = "no-room"
    else:
        return held
    tally.add(reason, f"job {shortened(job.id)}")
    return {}


def _job(job: TraceJob, seconds: float, placement: Mapping[str, int]) -> Job:
    executed = job.executed_by(seconds)
    service = job.service_seconds
    begun = sum(attempt.start <= seconds for attempt in job.attempts)
    return Job(
        id=job.id,
        tenant=job.tenant,
        user=job.user,
        submitted=job.submitted,
        gpus=job.gpus,
        cpus=job.cpus,
        memory_gib=job.memory_gib,
        state="running" if placement else "waiting",
        # One iteration is a second, so that policies that look at the time left have it.
        remaining_iterations=None if service is None else max(1, math.ceil(service - executed)),
        iteration_seconds=None if service is None else 1.0,
        attained_gpu_seconds=executed * job.gpus,
        executed_seconds=executed,
        waiting_seconds=max(0.0, seconds - job.submitted - executed),
        restarts=max(0, begun - 1),
        placement=placement or None,
    )


def checked_moment(seconds: float) -> float:
    """Return a moment, or refuse what is none."""
    return snapped("seconds", seconds, MAX_SECONDS, MICROSECONDS_PER_SECOND)


def with_tenants(cluster: Cluster, tenants: Iterable[str], quotas: Mapping[str, int]) -> Cluster:
    """Return the cluster with the tenants of a trace added, and the quotas set; a quota is at most the cluster."""
    known = {tenant.id: tenant for tenant in cluster.tenants}
    for name in tenants:
        known.setdefault(name, Tenant(id=name))
    for name, quota in pairs("quotas", quotas):
        if name not in known:
            raise unknown_name("quotas", name, known)
        field = f"quotas[{shortened(name)}]"
        known[name] = Tenant(id=name, quota_gpus=whole(field, quota, MAX_GPUS))
    for name, tenant in known.items():
        if tenant.quota_gpus is not None and tenant.quota_gpus > cluster.total_gpus:
            allowed = f"at most the {cluster.total_gpus:,} GPUs of the cluster"
            raise InputError(f"quotas[{shortened(name)}]", f"{tenant.quota_gpus:,} GPUs", allowed)
    return Cluster(nodes=cluster.nodes, tenants=tuple(known.values()))


def with_racks(cluster: Cluster, racks: Mapping[str, Iterable[str]]) -> Cluster:
    """Return the cluster with the rack of every node that ``racks`` names; a rack has at least one node."""
    rack_of: dict[str, str] = {}
    for rack, members in pairs("racks", racks):
        field = f"racks[{shortened(str(rack))}]"
        names = items(field, members)
        if not names:
            raise InputError(field, "no node", "at least one node")
        for member in names:
            name = text(field, member)
            if name not in cluster.node_index:
                raise InputError(field, shown(name), f"a node of the cluster: {listed(cluster.node_index)}")
            if name in rack_of:
                raise InputError(field, f"{shown(name)}, in rack {shown(rack_of[name])} already", "a node in one rack")
            rack_of[name] = rack
    return Cluster(nodes=tuple(_in_rack(node, rack_of) for node in cluster.nodes), tenants=cluster.tenants)


def _in_rack(node: Node, rack_of: Mapping[str, str]) -> Node:
    return msgspec.structs.replace(node, rack=rack_of[node.id]) if node.id in rack_of else node
