"""The optimum of a small multi-tenant round by enumeration: every outcome of every job, under all rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from muri_opt.rounds import Round
from muri_opt.verify.amounts import Room
from muri_opt.verify.counting import best_from_each
from muri_opt.verify.enumeration import OutOfStepsError, Steps, best_of, splits
from muri_opt.verify.philly.dual_bound import is_fixed, most_worth
from muri_opt.verify.philly.job_status import Held, Reading
from muri_opt.verify.philly.rules import Tenancy


class _Node(NamedTuple):
    """A node while jobs are put on it: what is left, and whether any job is there, or any that is alone or new."""

    room: Room
    taken: bool = False
    alone: bool = False
    new: bool = False
    new_alone: bool = False

    @property
    def look(self) -> tuple[int, ...]:
        """What tells one node from another, as numbers."""
        return (*self.room.sizes, *self[1:])


class _State(NamedTuple):
    """What the jobs decided so far leave to the others: nodes, GPUs per tenant, GPUs moved and started, who lost a job.

    ``places`` is where they run.
    """

    desks: tuple[_Node, ...]
    used: tuple[int, ...]
    moved: int = 0
    started: int = 0
    stopped: frozenset[int] = frozenset()
    places: tuple[tuple[int, Held], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The ``deciding`` jobs that may do something, each with every outcome.

    If they were all stopped, the jobs from the i-th on would lose ``lost[i]``; ``rests[i]`` is the most they are worth
    against that, by GPUs, and ``gpus[i]`` what they could use, for each tenant and priority of ``names``; job j is of
    the ``owners[j]``-th of these. ``homes[i]`` tells nodes apart: by their rack, by what jobs ask of nodes, and by
    which of these jobs hold which of their GPUs. ``limits`` are the quotas of ``names``, if each is all that counts;
    else what GPUs of these are worth by quotas is ``known`` once it was asked for.
    """

    reading: Reading
    deciding: list[int]
    names: list[tuple[str, int]]
    owners: list[int]
    limits: list[int | None] | None
    rests: list[list[int]]
    lost: list[int]
    gpus: list[tuple[int, ...]]
    homes: list[list[tuple[int, ...]]]
    steps: Steps
    known: dict[tuple[int, ...], int] = field(default_factory=dict)

    def decided(self, job: int, state: _State) -> bool:
        return job == len(self.deciding)

    def outcomes(self, job: int, state: _State) -> Iterator[tuple[int, _State]]:
        """Yield that the job stays, is put elsewhere or started, and that it waits or is preempted."""
        stand, tenancy = self.reading.stands[self.deciding[job]], self.reading.tenancy
        shares: list[Held] = [stand.held] if stand.running else []
        within = tenancy.restarts or tenancy.migrate is None or state.moved + stand.need.gpus <= tenancy.migrate
        if stand.candidate or (stand.movable and within):
            shares += [held for held in self._ways(job, state) if self.reading.spread(stand, held) <= stand.level]
        for number, held in enumerate(shares):
            if number == 0 or held != stand.held:
                after = self.put(self.deciding[job], held, state)
                if after is not None:
                    yield self.reading.worth(stand, held), after
        if not stand.running:
            yield 0, state
        elif stand.evictable:
            stopped = state.stopped | {self.owners[self.deciding[job]]}
            yield -self.reading.loss(stand), state._replace(stopped=stopped)

    def _ways(self, job: int, state: _State) -> Iterator[Held]:
        """Yield where the job could be put: anywhere, or inside one of the parts of the cluster it asks for."""
        stand = self.reading.stands[self.deciding[job]]
        holds, looks = [desk.room.holds(stand.need) for desk in state.desks], self._looks(job, state)
        if stand.asked is None:
            yield from splits(holds, looks, stand.need.gpus, nodes=len(holds), steps=self.steps)
            return
        for part in stand.asked.parts:
            inside = [number if node in part else 0 for node, number in enumerate(holds)]
            found = splits(inside, looks, stand.need.gpus, nodes=len(holds), steps=self.steps)
            yield from filter(stand.may_have, found)

    def put(self, job: int, held: Held, state: _State) -> _State | None:
        """Return the state after a job was put there, or ``None`` where there is no room or the wrong neighbour."""
        stand = self.reading.stands[job]
        new, alone = held != stand.held, self.reading.tenancy.is_alone(stand.need.gpus)
        matters = self.reading.tenancy.dedicated is not None
        desks = list(state.desks)
        for node, gpus in held.items():
            desk = desks[node]
            if new and (desk.taken if alone else desk.alone):
                return None
            if not new and (desk.new if alone else desk.new_alone):
                return None
            desks[node] = _Node(
                room=desk.room.without(stand.need, gpus),
                taken=matters,
                alone=desk.alone or alone,
                new=desk.new or (new and matters),
                new_alone=desk.new_alone or (new and alone),
            )
            if not desks[node].room.possible:
                return None
        used = list(state.used)
        used[self.owners[job]] += stand.need.gpus
        again = new and stand.running and self.reading.tenancy.restarts
        return _State(
            desks=tuple(desks),
            used=tuple(used),
            moved=state.moved + (stand.need.gpus if new and stand.running and not again else 0),
            started=state.started + (0 if stand.running else stand.need.gpus),
            stopped=state.stopped | {self.owners[job]} if again else state.stopped,
            places=(*state.places, (job, held)),
        )

    def key(self, job: int, state: _State) -> Hashable:
        return (*state[1:5], *sorted(self._looks(job, state)))

    def most(self, job: int, state: _State) -> int:
        all_used = tuple(map(sum, zip(state.used, self.gpus[job], strict=True)))
        free = sum(desk.room.gpus for desk in state.desks)
        counted = min(self._counted(all_used), self._counted(state.used) + self.reading.premium * free)
        rest = self.rests[job]
        return rest[min(len(rest) - 1, free)] - self.lost[job] + counted

    def end(self, state: _State) -> int | None:
        """Return what the GPUs within quotas are worth, if those who were preempted may have been."""
        if state.stopped:
            load, total = self.reading.tenancy.preempt_at, sum(room.gpus for room in self.reading.rooms)
            before = sum(stand.need.gpus for stand in self.reading.stands if stand.running)
            busy = load is not None and 1000 * (before + state.started) >= load * total
            if not busy or not self._are_above(state):
                return None
        return self._counted(state.used)

    def _are_above(self, state: _State) -> bool:
        """Return whether all who lost a job still have their quota."""
        used: Counter[str] = Counter()
        for (tenant, _), gpus in zip(self.names, state.used, strict=True):
            used[tenant] += gpus
        quotas = self.reading.quotas
        held = quotas.held(used)
        return all(quotas.is_above(self.names[owner][0], held) for owner in state.stopped)

    def _looks(self, job: int, state: _State) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        return [(home, desk.look) for home, desk in zip(self.homes[job], state.desks, strict=True)]

    def _counted(self, used: tuple[int, ...]) -> int:
        """Return what GPUs are worth by being within quotas."""
        if self.limits is not None:
            both = zip(used, self.limits, strict=True)
            return self.reading.premium * sum(gpus if most is None else min(gpus, most) for gpus, most in both)
        if used not in self.known:
            self.known[used] = self.reading.quota_value(dict(zip(self.names, used, strict=True)))
        return self.known[used]


def placement_optimum(round_: Round, tenancy: Tenancy, *, steps: int = 200_000) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    found = best_places(round_, tenancy, steps=steps)
    return None if found is None else found[0]


def best_places(
    round_: Round, tenancy: Tenancy, *, steps: int = 200_000
) -> tuple[int, dict[str, dict[str, int]]] | None:
    """Return the largest value of any feasible decision, and GPUs per node id of each running job of one that has it.

    ``None`` if it takes more than ``steps`` steps.
    """
    reading = Reading.of(round_, tenancy)
    places = _places(reading, steps)
    state = _State(desks=tuple(_Node(room) for room in reading.rooms), used=(0,) * len(places.names))
    fixed = 0
    for job, stand in enumerate(reading.stands):
        if is_fixed(stand):
            state = places.put(job, stand.held, state) or state  # there is room: the round was read
            fixed += reading.worth(stand, stand.held)
    now = {job: stand.held for job, stand in enumerate(reading.stands) if stand.running}
    try:
        found = best_of(places, state, above=reading.value(now) - fixed)
    except OutOfStepsError:
        return None
    value, held_by = (reading.value(now), now) if found is None else (found[0] + fixed, dict(found[1].places))
    nodes = round_.cluster.nodes
    return value, {
        reading.stands[job].job.id: {nodes[node].id: gpus for node, gpus in sorted(held.items())}
        for job, held in sorted(held_by.items())
    }


def _places(reading: Reading, steps: int) -> _Places:
    """Return the jobs that may do something, and what is known of those from each of them on."""
    stands = reading.stands
    names = list(dict.fromkeys((stand.tenant, stand.rank) for stand in stands))
    owners = [names.index((stand.tenant, stand.rank)) for stand in stands]
    deciding = [job for job, stand in enumerate(stands) if not is_fixed(stand) and (stand.running or stand.candidate)]
    lost, gpus = [0], [(0,) * len(names)]
    tables: list[dict[int, int]] = []
    homes: list[list[tuple[int, ...]]] = [list(zip(reading.racks, reading.looks, strict=True))]
    for job in reversed(deciding):
        stand = stands[job]
        asks, loss = stand.need.gpus, reading.loss(stand) if stand.running else 0
        tables.insert(0, {asks: most_worth(reading, stand) + loss})
        lost.insert(0, lost[0] + loss)
        gpus.insert(0, tuple(has + asks * (owner == owners[job]) for owner, has in enumerate(gpus[0])))
        home = [(*look, job, stand.held[node]) if node in stand.held else look for node, look in enumerate(homes[0])]
        homes.insert(0, home)
    return _Places(
        reading=reading,
        deciding=deciding,
        names=names,
        owners=owners,
        limits=None
        if reading.quotas.nested or len(reading.scales) > 1
        else [reading.quotas.limits.get(tenant) for tenant, _ in names],
        rests=best_from_each(sum(room.gpus for room in reading.rooms), tables),
        lost=lost,
        gpus=gpus,
        homes=homes,
        steps=Steps(steps),
    )
