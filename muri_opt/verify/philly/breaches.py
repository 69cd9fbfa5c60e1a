"""Does a decision keep the rules of a multi-tenant cluster? Each breach by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from muri_opt.rounds import Decision, Round, Violation
from muri_opt.verify.philly.job_status import Held, Reading, Stand, places_of
from muri_opt.verify.philly.rules import APART

Places = Mapping[int, Held]
SPREADS = ("together", "in one rack", "anywhere")


def placement_breaches(round_: Round, decision: Decision, reading: Reading) -> list[Violation]:
    """Return every broken rule of a decision in which each job is listed once and its nodes have room."""
    places = places_of(round_, decision)
    return [
        *_localities(reading, places),
        *_migrations(reading, places),
        *_preemptions(reading, places),
        *_neighbours(round_, reading, places),
    ]


def _localities(reading: Reading, places: Places) -> Iterator[Violation]:
    """Who starts or moves sits close enough, and who is left alone or pinned does neither."""
    for job, held in places.items():
        stand = reading.stands[job]
        if held == stand.held:
            continue
        if stand.running and stand.job.restart_seconds is None:
            detail = f"{_gpus(stand)} moved; it has no restart_seconds, so it stays where it is"
            yield Violation(rule="pinned", where=stand.job.id, detail=detail)
        elif stand.level == APART:
            detail = f"starts after {stand.waited} microseconds, while it is left alone"
            yield Violation(rule="backoff", where=stand.job.id, detail=detail)
        elif (spread := reading.spread(stand, held)) > stand.level:
            where = f"{_gpus(stand)} on {len(held)} nodes of {len({reading.racks[node] for node in held})} racks"
            detail = f"{where} are {SPREADS[spread]}; allowed: {SPREADS[stand.level]}"
            yield Violation(rule="locality", where=stand.job.id, detail=detail)


def _migrations(reading: Reading, places: Places) -> Iterator[Violation]:
    """No more GPUs are moved than the budget allows; without a budget, nobody moves but is preempted and restarted."""
    if reading.tenancy.restarts:
        return
    moved = [
        stand
        for job, held in places.items()
        if (stand := reading.stands[job]).running and held != stand.held and stand.job.restart_seconds is not None
    ]
    gpus, most = sum(stand.need.gpus for stand in moved), reading.tenancy.migrate
    if most is not None and gpus > most:
        names = ", ".join(stand.job.id for stand in moved)
        yield Violation(rule="migration", where=names, detail=f"{gpus} GPUs moved; allowed: {most}")


def _preemptions(reading: Reading, places: Places) -> Iterator[Violation]:
    """Only jobs that can restart are preempted, from tenants still at their quota or above, in a busy cluster.

    Where nobody is moved, a job that runs elsewhere was preempted and started again.
    """
    used: Counter[str] = Counter()
    for job in places:
        used[reading.stands[job].tenant] += reading.stands[job].need.gpus
    held = reading.quotas.held(used)
    gone = [
        stand
        for job, stand in enumerate(reading.stands)
        if stand.running and (job not in places or _is_restarted(reading, stand, places[job]))
    ]
    for stand in gone:
        if stand.job.stays:
            detail = f"{_gpus(stand)} preempted; the job runs and may not be stopped"
            yield Violation(rule="preemptible", where=stand.job.id, detail=detail)
    stopped = [stand for stand in gone if not stand.job.stays]
    for stand in stopped:
        tenant = stand.tenant
        if stand.job.restart_seconds is None:
            detail = f"{_gpus(stand)} preempted; it has no restart_seconds, so it stays where it is"
            yield Violation(rule="pinned", where=stand.job.id, detail=detail)
        elif not stand.limited:
            detail = f"job {stand.job.id!r} preempted; there is no quota that its tenant could be above"
            yield Violation(rule="preemption-quota", where=tenant or stand.job.id, detail=detail)
        elif not reading.quotas.is_above(tenant, held):
            nearest = reading.quotas.line(tenant)[0]
            left = f"{held[nearest]} GPUs are left to the tenant, its quota is {reading.quotas.limits[nearest]}"
            detail = f"job {stand.job.id!r} preempted; {left}"
            yield Violation(rule="preemption-quota", where=nearest, detail=detail)
    if not stopped:
        return
    names = ", ".join(stand.job.id for stand in stopped)
    load, total = reading.tenancy.preempt_at, sum(room.gpus for room in reading.rooms)
    busy = sum(s.need.gpus for job, s in enumerate(reading.stands) if s.running or job in places)
    if load is None:
        yield Violation(rule="preemption-load", where=names, detail="preempted; allowed: nobody, at any load")
    elif 1000 * busy < load * total:
        detail = f"preempted at a load of {busy} of {total} GPUs; allowed from {load} thousandths on"
        yield Violation(rule="preemption-load", where=names, detail=detail)


def _is_restarted(reading: Reading, stand: Stand, held: Held) -> bool:
    """Return whether a running job that has this place was preempted for it; one that is pinned is said to be moved."""
    return reading.tenancy.restarts and held != stand.held and stand.job.restart_seconds is not None


def _neighbours(round_: Round, reading: Reading, places: Places) -> Iterator[Violation]:
    """A gang that is alone has new neighbours on none of its nodes."""
    residents: dict[int, list[int]] = {}
    for job, held in places.items():
        for node in held:
            residents.setdefault(node, []).append(job)
    for node, jobs in residents.items():
        alone = [job for job in jobs if reading.tenancy.is_alone(reading.stands[job].need.gpus)]
        arrived = [job for job in jobs if places[job] != reading.stands[job].held]
        if len(jobs) > 1 and alone and arrived:
            first, name = reading.stands[alone[0]], reading.stands[arrived[0]].job.id
            detail = (
                f"job {first.job.id!r} of {_gpus(first)} is to be alone; {len(jobs)} jobs share the node, {name!r} new"
            )
            yield Violation(rule="dedicated", where=round_.cluster.nodes[node].id, detail=detail)


def _gpus(stand: Stand) -> str:
    return f"{stand.need.gpus} GPU{'s' * (stand.need.gpus != 1)}"
