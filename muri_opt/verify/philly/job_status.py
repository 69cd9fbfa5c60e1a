"""The verifier's own reading of a multi-tenant round: how every job stands before anything is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Decision, Job, Round
from muri_opt.rounds.memoise import last_recalled
from muri_opt.verify.amounts import Need, Room, empty_rooms, micro, need_of
from muri_opt.verify.completion import behind_known, left_over, worth_of_work
from muri_opt.verify.counted_parts import CountedParts
from muri_opt.verify.demands import Asked, asked_of, is_lost
from muri_opt.verify.philly.quotas import Ints, Quotas, Scale, scales
from muri_opt.verify.philly.reach import Layout, RackParts, Reach
from muri_opt.verify.philly.rules import APART, Tenancy

Held = Mapping[int, int]
"""GPUs per position of a node."""


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """A job before the round is decided, and where it runs; one that has lost its node does not run any more.

    ``limited`` says whether a quota counts its GPUs. ``level`` is how far apart it may sit if it starts or is put
    elsewhere. Each GPU of it is worth ``each`` thousandths close together, and all of them no more than ``most``
    anywhere. ``cost`` is what stopping it costs, 0 where that is not allowed. One that is ``movable`` may be put
    elsewhere, by a move or, where there are none, by preempting it and starting it again at once. ``asked`` is what it
    asks of nodes (``None``: nothing), and ``rank`` the place of its priority among all, from the smallest on.
    """

    job: Job
    need: Need
    tenant: str
    limited: bool
    running: bool
    held: Held
    waited: int
    reach: Reach
    level: int
    each: int
    most: int
    cost: int
    movable: bool
    evictable: bool
    asked: Asked | None
    rank: int

    @property
    def candidate(self) -> bool:
        """Whether the job waits and may start."""
        return not self.running and self.reach.fits and self.level > APART

    @property
    def demand(self) -> tuple[object, ...]:
        """All that matters of a job to where it finds room: jobs of equal demands find the same."""
        return (self.need,) if self.asked is None else (self.need, self.asked.alike)

    def may_have(self, held: Held) -> bool:
        """Return whether a place is inside one of the parts of the cluster it asks for, and of the shape."""
        if self.asked is None:
            return True
        even = not self.asked.even or len(set(held.values())) == 1
        shaped = even and self.asked.fewest <= len(held) <= self.asked.most
        return shaped and any(held.keys() <= set(part) for part in self.asked.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All jobs of a round, the racks and rooms of its nodes, and how much counts what for each priority.

    Nodes of one ``look`` are the same to every job; without such differences all have the same.
    """

    tenancy: Tenancy
    stands: tuple[Stand, ...]
    racks: tuple[int, ...]
    rack_parts: RackParts
    rooms: tuple[Room, ...]
    looks: tuple[int, ...]
    quotas: Quotas
    scales: tuple[Scale, ...]

    @classmethod
    def of(cls, round_: Round, tenancy: Tenancy) -> Reading:
        """Return the reading of a round, or refuse running jobs, gangs or quotas that cannot be."""
        return _reading(round_, tenancy)

    @classmethod
    def read(cls, round_: Round, tenancy: Tenancy) -> Reading:
        """Return the reading, read now."""
        rooms = _rooms(round_)
        names = dict[str | None, int]()
        racks = tuple(names.setdefault(node.rack, len(names)) for node in round_.cluster.nodes)
        rack_parts, counted = RackParts(racks), CountedParts(rooms)
        layout = Layout.of(counted_rooms(racks, rooms).values())
        quotas, asked = Quotas.of(round_), asked_of(round_)
        ranks = {priority: rank for rank, priority in enumerate(sorted({job.priority for job in round_.jobs}))}
        worth = _worth(round_) if tenancy.by_completion else {}
        known = _Known(round_=round_, tenancy=tenancy, quotas=quotas, racks=racks, ranks=ranks, worth=worth)
        reaches: dict[object, Reach] = {}
        needs: dict[tuple[int, float | None, float | None], Need] = {}
        stands = []
        for position, job in enumerate(round_.jobs):
            asks = job.gpus, job.cpus, job.memory_gib
            if asks not in needs:
                needs[asks] = need_of(job)
            need, mine = needs[asks], None if asked is None else asked[job.id]
            key = need if mine is None else (need, mine.alike)
            if key not in reaches:
                if mine is None:
                    reaches[key] = Reach.of(layout, need)
                else:
                    reaches[key] = Reach.asked(mine, need, counted, rack_parts)
            try:
                stands.append(known.stand(job, need, reaches[key], mine))
            except InputError as error:
                raise error.inside(f"jobs[{position}] ({job.id!r})") from None
        _check_rooms(round_, rooms, stands)
        return cls(
            tenancy=tenancy,
            stands=tuple(stands),
            racks=racks,
            rack_parts=rack_parts,
            rooms=rooms,
            looks=(0,) * len(rooms) if asked is None else _looks(round_),
            quotas=quotas,
            scales=scales(_classes(stands, len(ranks)), weighted=tenancy.weighted),
        )

    @property
    def premium(self) -> int:
        """The most that a GPU within a quota adds."""
        return self.scales[-1].premium if self.scales else 0

    @property
    def penalty(self) -> int:
        """The most that a preempted GPU takes away."""
        return self.scales[-1].penalty if self.scales else 0

    def scale(self, stand: Stand) -> Scale:
        """Return how much counts what for a job."""
        return self.scales[stand.rank]

    def spread(self, stand: Stand, nodes: Collection[int]) -> int:
        """Return how far apart a job would sit on these nodes."""
        return stand.reach.spread(len(nodes), len({self.racks[node] for node in nodes}))

    def worth(self, stand: Stand, held: Held) -> int:
        """Return what it is worth that a job runs there: after its start, in its place, or put elsewhere."""
        spread = self.spread(stand, held)
        if held != stand.held:
            return self.elsewhere(stand, spread)
        return self.scale(stand).work * self.tenancy.working(stand.need.gpus, stand.each, spread)

    def elsewhere(self, stand: Stand, spread: int) -> int:
        """Return what it is worth that a job runs where it did not, so far apart; a restart counts as preemption."""
        work = self.scale(stand).work
        gained = work * self.tenancy.working(stand.need.gpus, stand.each, spread)
        if not stand.running:
            return gained
        return gained - (self.loss(stand) if self.tenancy.restarts else work * stand.cost)

    def loss(self, stand: Stand) -> int:
        """Return what preempting a running job takes away."""
        scale = self.scale(stand)
        return scale.penalty * stand.need.gpus + scale.work * stand.cost

    def used(self, places: Iterable[int]) -> Counter[tuple[str, int]]:
        """Return the GPUs of each tenant and priority if these jobs run."""
        used: Counter[tuple[str, int]] = Counter()
        for position in places:
            stand = self.stands[position]
            used[stand.tenant, stand.rank] += stand.need.gpus
        return used

    def over(self, used: Mapping[tuple[str, int], int]) -> dict[str, tuple[int, int]]:
        """Return the GPUs of tenants above their quotas, and what is taken off for them.

        Quotas are filled by the jobs of the largest priorities first.
        """
        ranks = sorted({rank for _, rank in used})
        place = {rank: number for number, rank in enumerate(ranks)}
        rows: dict[str, Ints] = {}
        for (tenant, rank), gpus in used.items():
            rows.setdefault(tenant, np.zeros(len(ranks), dtype=np.int64))[place[rank]] += gpus
        from_rank_on = {tenant: row[::-1].cumsum()[::-1] for tenant, row in rows.items()}
        found: dict[str, tuple[int, int]] = {}
        for tenant, over in self.quotas.over(from_rank_on).items():
            lost = over - np.append(over[1:], 0)  # of the GPUs of each rank
            value = sum([self.scales[ranks[at]].premium * int(lost[at]) for at in np.flatnonzero(lost).tolist()])
            if over[:1].any():
                found[tenant] = int(over[0]), value
        return found

    def quota_value(self, used: Mapping[tuple[str, int], int]) -> int:
        """Return what GPUs are worth by being within quotas."""
        full = sum(self.scales[rank].premium * gpus for (_, rank), gpus in used.items())
        return full - sum(value for _, value in self.over(used).values())

    def value(self, places: Mapping[int, Held]) -> int:
        """Return what it is worth that exactly these jobs run, each there."""
        total = 0
        for position, stand in enumerate(self.stands):
            if position in places:
                total += self.worth(stand, places[position])
            elif stand.running:
                total -= self.loss(stand)
        return total + self.quota_value(self.used(places))


_reading = last_recalled(Reading.read)


def counted_rooms(racks: Iterable[int], rooms: Iterable[Room]) -> dict[int, Counter[Room]]:
    """Return for each rack how many nodes of each room it has."""
    found: dict[int, Counter[Room]] = {}
    for rack, room in zip(racks, rooms, strict=True):
        found.setdefault(rack, Counter())[room] += 1
    return found


def places_of(round_: Round, decision: Decision) -> dict[int, dict[int, int]]:
    """Return where a decision lets each job run, as far as it names jobs and nodes that exist."""
    nodes = round_.cluster.node_index
    places: dict[int, dict[int, int]] = {}
    for assignment in decision.assignments:
        held = {nodes[node]: gpus for node, gpus in assignment.gpus.items() if node in nodes}
        for job in assignment.jobs:
            if job in round_.job_index and held:
                places.setdefault(round_.job_index[job], held)
    return places


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of a round before its jobs are looked at one by one."""

    round_: Round
    tenancy: Tenancy
    quotas: Quotas
    racks: tuple[int, ...]
    ranks: Mapping[int, int]
    worth: Mapping[str, int]

    def stand(self, job: Job, need: Need, reach: Reach, asked: Asked | None) -> Stand:
        """Return how a job stands that could be so close together."""
        if job.gpus < 1:
            raise InputError("gpus", "0", "at least 1: the policy places gangs")
        tenancy, tenant = self.tenancy, job.tenant or ""
        running = job.state == "running" and not (asked is not None and is_lost(self.round_, job))
        restarts = running and job.restart_seconds is not None
        held = _held(self.round_, job) if running else {}
        waited = _waited(self.round_, job)
        here = reach.spread(len(held), len({self.racks[node] for node in held})) if running else APART
        limited = bool(self.quotas.line(tenant))
        each = 1000 if running else tenancy.age(waited)
        if tenancy.by_completion:
            each = self.worth[job.id]
        evictable = restarts and limited and tenancy.preempt_at is not None and not job.stays
        return Stand(
            job=job,
            need=need,
            tenant=tenant,
            limited=limited,
            running=running,
            held=held,
            waited=waited,
            reach=reach,
            level=max(here, tenancy.level(waited)),
            each=each,
            most=job.gpus * (each if tenancy.by_completion else 1250),
            cost=tenancy.cost(job.gpus, micro(job.restart_seconds or 0.0), each) if restarts else 0,
            movable=(evictable if tenancy.restarts else restarts) and not job.stays_put,
            evictable=evictable,
            asked=asked,
            rank=self.ranks[job.priority],
        )


def _classes(stands: Iterable[Stand], count: int) -> list[tuple[int, int, int]]:
    """Return for each priority the GPUs of its jobs, what its work can differ by, and the preemptible GPUs."""
    found = [(0, 0, 0)] * count
    for stand in stands:
        gpus, work, evictable = found[stand.rank]
        more = stand.need.gpus
        found[stand.rank] = gpus + more, work + stand.most + stand.cost, evictable + more * stand.evictable
    return found


def _worth(round_: Round) -> dict[str, int]:
    """Return what a GPU of each job is worth for completion times, in thousandths of a job, at least one."""
    service = [left_over(job) for job in round_.jobs]
    seconds = [{job.gpus: 1_000_000} for job in round_.jobs]
    worth = worth_of_work(behind_known(service), seconds, round_.cluster.total_gpus)
    pairs = zip(round_.jobs, worth, strict=True)
    return {job.id: max(1, millionths // (1000 * max(1, job.gpus))) for job, millionths in pairs}


def _rooms(round_: Round) -> tuple[Room, ...]:
    """Return what empty nodes have; one that is down has nothing."""
    rooms = zip(empty_rooms(round_), round_.cluster.nodes, strict=True)
    return tuple(room._replace(gpus=0) if node.state == "down" else room for room, node in rooms)


def _looks(round_: Round) -> tuple[int, ...]:
    """Return a number for each node, the same for those that no job can tell apart by what it asks."""
    known: dict[object, int] = {}
    nodes = round_.cluster.nodes
    said = [(node.gpu_type, frozenset(node.labels), node.state, node.available_until) for node in nodes]
    units = [tuple(sorted(node.units.items())) for node in nodes]
    return tuple(known.setdefault(both, len(known)) for both in zip(said, units, strict=True))


def _held(round_: Round, job: Job) -> dict[int, int]:
    """Return where a running job is, or refuse one that does not say so."""
    placement = job.placement or {}
    if sum(placement.values()) != job.gpus:
        found = f"{sum(placement.values())} GPUs" if placement else "nothing"
        raise InputError("placement", found, f"all {job.gpus} GPUs: the job is running")
    return {round_.cluster.node_index[node]: gpus for node, gpus in placement.items()}


def _waited(round_: Round, job: Job) -> int:
    if job.waiting_seconds is not None:
        return micro(job.waiting_seconds)
    return 0 if job.submitted is None else max(0, micro(round_.now) - micro(job.submitted))


def _check_rooms(round_: Round, rooms: tuple[Room, ...], stands: list[Stand]) -> None:
    """Refuse running jobs that take more of a node than it has."""
    left = list(rooms)
    for position, stand in enumerate(stands):
        for node, gpus in stand.held.items():
            left[node] = left[node].without(stand.need, gpus)
            if not left[node].possible:
                where = f"jobs[{position}] ({stand.job.id!r}).placement"
                found = f"running jobs that leave {left[node]} on node {round_.cluster.nodes[node].id!r}"
                raise InputError(where, found, "running jobs within the GPUs, CPUs and memory of each node")
