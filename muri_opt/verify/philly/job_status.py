"""The verifier's own reading of a multi-tenant round: how every job stands before anything is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.rounds import Decision, Job, Round
from muri_opt.rounds.memoise import last_recalled
from muri_opt.verify.amounts import Need, Room, empty_rooms, micro, need_of, smallest_node_count
from muri_opt.verify.philly.rules import APART, Tenancy

Held = Mapping[int, int]
"""GPUs per position of a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How many nodes of each room an empty cluster has, in all and in each rack; racks alike are listed once."""

    racks: tuple[Counter[Room], ...]
    nodes: Counter[Room]

    @classmethod
    def of(cls, racks: Iterable[Counter[Room]]) -> Layout:
        """Return the layout of these racks."""
        unlike: dict[frozenset[tuple[Room, int]], Counter[Room]] = {}
        nodes: Counter[Room] = Counter()
        for rack in racks:
            unlike[frozenset(rack.items())] = rack
            nodes.update(rack)
        return cls(racks=tuple(unlike.values()), nodes=nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How close together a gang could sit in a cluster: whether it fits, also in one rack, and on how few nodes."""

    fits: bool
    in_rack: bool
    fewest: int

    @classmethod
    def of(cls, layout: Layout, need: Need) -> Reach:
        """Return the reach of a gang in an empty cluster."""
        counts = [smallest_node_count(rack, need) for rack in layout.racks]
        able = [count for count in counts if count is not None]
        if able:
            return cls(fits=True, in_rack=True, fewest=min(able))
        count = smallest_node_count(layout.nodes, need)
        return cls(fits=count is not None, in_rack=False, fewest=count or 0)

    def spread(self, nodes: int, racks: int) -> int:
        """Return how far apart a gang sits on so many nodes of so many racks: 0 together, 1 in a rack, 2 anywhere."""
        if self.in_rack and racks > 1:
            return 2
        if nodes <= self.fewest:
            return 0
        return 1 if self.in_rack else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A job before the round is decided, with the quota of its tenant (``None``: no limit) and where it runs.

    ``level`` is how far apart it may sit if it starts or is put elsewhere. ``cost`` is what stopping it costs, 0 where
    that is not allowed. One that is ``movable`` may be put elsewhere, by a move or, where there are none, by preempting
    it and starting it again at once.
    """

    job: Job
    need: Need
    tenant: str
    quota: int | None
    held: Held
    waited: int
    reach: Reach
    level: int
    cost: int
    movable: bool
    evictable: bool

    @property
    def running(self) -> bool:
        """Whether the job runs before the round."""
        return self.job.state == "running"

    @property
    def candidate(self) -> bool:
        """Whether the job waits and may start."""
        return not self.running and self.reach.fits and self.level > APART


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All jobs of a round, the racks of its nodes, and the two weights of its value, K and P of the chapter."""

    tenancy: Tenancy
    stands: tuple[Stand, ...]
    racks: tuple[int, ...]
    rooms: tuple[Room, ...]
    quotas: Mapping[str, int]
    premium: int
    penalty: int

    @classmethod
    def of(cls, round_: Round, tenancy: Tenancy) -> Reading:
        """Return the reading of a round, or refuse running jobs, gangs or quotas that cannot be."""
        return _reading(round_, tenancy)

    @classmethod
    def read(cls, round_: Round, tenancy: Tenancy) -> Reading:
        """Return the reading, read now."""
        rooms = tuple(empty_rooms(round_))
        names = list(dict.fromkeys(node.rack for node in round_.cluster.nodes))
        racks = tuple(names.index(node.rack) for node in round_.cluster.nodes)
        layout = Layout.of(counted_rooms(racks, rooms).values())
        quotas = _quotas(round_)
        reaches: dict[Need, Reach] = {}
        stands = []
        for position, job in enumerate(round_.jobs):
            need = need_of(job)
            if need not in reaches:
                reaches[need] = Reach.of(layout, need)
            try:
                stands.append(_stand(round_, tenancy, job, need, reaches[need], racks, quotas.get(job.tenant or "")))
            except InputError as error:
                raise error.inside(f"jobs[{position}] ({job.id!r})") from None
        _check_rooms(round_, rooms, stands)
        premium, penalty = tenancy.weights(
            sum(stand.need.gpus for stand in stands),
            sum(stand.cost for stand in stands),
            sum(stand.need.gpus for stand in stands if stand.evictable),
        )
        return cls(
            tenancy=tenancy,
            stands=tuple(stands),
            racks=racks,
            rooms=rooms,
            quotas=quotas,
            premium=premium,
            penalty=penalty,
        )

    def spread(self, stand: Stand, nodes: Collection[int]) -> int:
        """Return how far apart a job would sit on these nodes."""
        return stand.reach.spread(len(nodes), len({self.racks[node] for node in nodes}))

    def worth(self, stand: Stand, held: Held) -> int:
        """Return what it is worth that a job runs there: after its start, in its place, or put elsewhere."""
        spread = self.spread(stand, held)
        if held != stand.held:
            return self.elsewhere(stand, spread)
        return self.tenancy.running(stand.need.gpus, spread)

    def elsewhere(self, stand: Stand, spread: int) -> int:
        """Return what it is worth that a job runs where it did not, so far apart; a restart counts as preemption."""
        if not stand.running:
            return self.tenancy.started(stand.need.gpus, stand.waited, spread)
        lost = self.loss(stand) if self.tenancy.restarts else stand.cost
        return self.tenancy.running(stand.need.gpus, spread) - lost

    def loss(self, stand: Stand) -> int:
        """Return what preempting a running job takes away."""
        return self.penalty * stand.need.gpus + stand.cost

    def within_quotas(self, used: Mapping[str, int]) -> int:
        """Return the GPUs that count in full: those within the quotas, and all that have none."""
        return sum(min(gpus, self.quotas.get(tenant, gpus)) for tenant, gpus in used.items())

    def value(self, places: Mapping[int, Held]) -> int:
        """Return what it is worth that exactly these jobs run, each there."""
        used: Counter[str] = Counter()
        total = 0
        for position, stand in enumerate(self.stands):
            if position in places:
                used[stand.tenant] += stand.need.gpus
                total += self.worth(stand, places[position])
            elif stand.running:
                total -= self.loss(stand)
        return total + self.premium * self.within_quotas(used)


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


def _stand(
    round_: Round, tenancy: Tenancy, job: Job, need: Need, reach: Reach, racks: tuple[int, ...], quota: int | None
) -> Stand:
    if job.gpus < 1:
        raise InputError("gpus", "0", "at least 1: the policy places gangs")
    running, restarts = job.state == "running", job.state == "running" and job.restart_seconds is not None
    held = _held(round_, job) if running else {}
    waited = _waited(round_, job)
    here = reach.spread(len(held), len({racks[node] for node in held})) if running else APART
    evictable = restarts and quota is not None and tenancy.preempt_at is not None
    return Stand(
        job=job,
        need=need,
        tenant=job.tenant or "",
        quota=quota,
        held=held,
        waited=waited,
        reach=reach,
        level=max(here, tenancy.level(waited)),
        cost=tenancy.cost(job.gpus, micro(job.restart_seconds or 0.0)) if restarts else 0,
        movable=evictable if tenancy.restarts else restarts,
        evictable=evictable,
    )


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


def _quotas(round_: Round) -> dict[str, int]:
    """Return the quota of each tenant that has one; one above the cluster is what a lost node leaves."""
    return {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}


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
