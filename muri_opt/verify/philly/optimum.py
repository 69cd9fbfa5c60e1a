"""The optimum of a small multi-tenant round by enumeration: every outcome of every job, under all rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from muri_opt.rounds import Round
from muri_opt.verify.amounts import Room
from muri_opt.verify.philly.dual_bound import best_elsewhere, is_fixed
from muri_opt.verify.philly.job_status import Held, Reading
from muri_opt.verify.philly.rules import Tenancy


class _OutOfStepsError(Exception):
    """There is more to enumerate than was allowed."""


class _Desk(NamedTuple):
    """A node while jobs are put on it: what is left, and whether any job is there, or any that is alone or new."""

    room: Room
    taken: bool = False
    alone: bool = False
    new: bool = False
    new_alone: bool = False


class _State(NamedTuple):
    """What the jobs decided so far leave to the others, and what they are worth without their GPUs within quotas."""

    desks: tuple[_Desk, ...]
    used: tuple[int, ...]
    moved: int
    started: int
    stopped: frozenset[int]
    worth: int


@dataclass(slots=True, kw_only=True)
class _Search:
    """Depth-first over the jobs that may do something, each with every outcome.

    ``rests[i]`` is the most that the jobs from i on are worth, and ``gpus[i]`` what they could use, tenant by tenant.
    At first the best known is that nothing changes. A branch that could at best be worth as much as what was found is
    left, and so is a state that was reached before with no less worth.
    """

    reading: Reading
    jobs: list[int]
    tenants: list[int]
    quotas: list[int | None]
    rests: list[int]
    gpus: list[tuple[int, ...]]
    homes: list[list[tuple[int, ...]]]
    before: int
    steps: int
    best: int
    places: dict[int, Held]
    path: dict[int, Held] = field(default_factory=dict)
    reached: dict[tuple[object, ...], int] = field(default_factory=dict)

    def run(self, depth: int, state: _State) -> None:
        """Try every outcome of the jobs from ``depth`` on."""
        self._step()
        if depth == len(self.jobs):
            value = state.worth + self.reading.premium * self._counted(state.used)
            if self._is_allowed(state) and value > self.best:
                self.best, self.places = value, dict(self.path)
            return
        if self._most(depth, state) <= self.best:
            return
        key = (depth, *state[1:5], tuple(sorted(zip(self.homes[depth], map(_look, state.desks), strict=True))))
        if self.reached.get(key, state.worth - 1) >= state.worth:
            return
        self.reached[key] = state.worth
        job = self.jobs[depth]
        for held, after in self._outcomes(job, state):
            if held is not None:
                self.path[job] = held
            self.run(depth + 1, after)
            self.path.pop(job, None)

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
            desks[node] = _Desk(
                room=desk.room.without(stand.need, gpus),
                taken=matters,
                alone=desk.alone or alone,
                new=desk.new or (new and matters),
                new_alone=desk.new_alone or (new and alone),
            )
            if not desks[node].room.possible:
                return None
        used = list(state.used)
        used[self.tenants[job]] += stand.need.gpus
        again = new and stand.running and self.reading.tenancy.restarts
        return state._replace(
            desks=tuple(desks),
            used=tuple(used),
            moved=state.moved + (stand.need.gpus if new and stand.running and not again else 0),
            started=state.started + (0 if stand.running else stand.need.gpus),
            stopped=state.stopped | {self.tenants[job]} if again else state.stopped,
            worth=state.worth + self.reading.worth(stand, held),
        )

    def _outcomes(self, job: int, state: _State) -> Iterator[tuple[Held | None, _State]]:
        """Yield every outcome of a job: where it runs then, or ``None``, and the state after it."""
        stand, tenancy = self.reading.stands[job], self.reading.tenancy
        if stand.running:
            after = self.put(job, stand.held, state)
            if after is not None:
                yield stand.held, after
        within = tenancy.migrate is None or state.moved + stand.need.gpus <= tenancy.migrate
        able = stand.movable and (tenancy.restarts or within)
        if stand.candidate or able:
            for held in self._splits(job, state, 0, stand.need.gpus):
                if held != stand.held and self.reading.spread(stand, held) <= stand.level:
                    after = self.put(job, held, state)
                    if after is not None:
                        yield held, after
        if not stand.running:
            yield None, state
        elif stand.evictable:
            stopped = state.stopped | {self.tenants[job]}
            yield None, state._replace(stopped=stopped, worth=state.worth - self.reading.loss(stand))

    def _splits(self, job: int, state: _State, node: int, missing: int) -> Iterator[dict[int, int]]:
        """Yield every way to put ``missing`` GPUs of a job on the nodes from ``node`` on."""
        self._step()
        if missing == 0:
            yield {}
        elif node < len(state.desks):
            most = min(missing, state.desks[node].room.holds(self.reading.stands[job].need))
            for gpus in range(most, -1, -1):
                for rest in self._splits(job, state, node + 1, missing - gpus):
                    yield {node: gpus, **rest} if gpus else rest

    def _is_allowed(self, state: _State) -> bool:
        """Return whether those who were preempted may have been, now that everything is decided."""
        load, total = self.reading.tenancy.preempt_at, sum(room.gpus for room in self.reading.rooms)
        if not state.stopped:
            return True
        busy = load is not None and 1000 * (self.before + state.started) >= load * total
        return busy and all(state.used[tenant] >= (self.quotas[tenant] or 0) for tenant in state.stopped)

    def _counted(self, used: tuple[int, ...]) -> int:
        return sum(gpus if quota is None else min(gpus, quota) for gpus, quota in zip(used, self.quotas, strict=True))

    def _most(self, depth: int, state: _State) -> int:
        """Return no less than any value that can be reached from here."""
        all_used = tuple(map(sum, zip(state.used, self.gpus[depth], strict=True)))
        free = sum(desk.room.gpus for desk in state.desks)
        counted = min(self._counted(all_used), self._counted(state.used) + free)
        return state.worth + self.rests[depth] + self.reading.premium * counted

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise _OutOfStepsError


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
    search, start = _search(reading, steps)
    try:
        search.run(0, start)
    except (_OutOfStepsError, RecursionError):
        return None
    nodes = round_.cluster.nodes
    places = {
        stand.job.id: {nodes[node].id: gpus for node, gpus in sorted(held.items())}
        for job, stand in enumerate(reading.stands)
        for held in [stand.held if is_fixed(stand) else search.places.get(job)]
        if held is not None
    }
    return search.best, places


def _search(reading: Reading, steps: int) -> tuple[_Search, _State]:
    """Return the search, and the state in which those that cannot do anything are where they are."""
    stands = reading.stands
    names = list(dict.fromkeys(stand.tenant for stand in stands))
    tenants = [names.index(stand.tenant) for stand in stands]
    jobs = [job for job, stand in enumerate(stands) if not is_fixed(stand) and (stand.running or stand.candidate)]
    now = {job: stand.held for job, stand in enumerate(stands) if stand.running}
    rests, gpus = [0], [(0,) * len(names)]
    homes: list[list[tuple[int, ...]]] = []
    for depth in range(len(jobs), -1, -1):
        at_home = [
            (
                rack,
                *(part for job in jobs[depth:] if node in stands[job].held for part in (job, stands[job].held[node])),
            )
            for node, rack in enumerate(reading.racks)
        ]
        homes.insert(0, at_home)
    for job in reversed(jobs):
        stand = stands[job]
        values = [best_elsewhere(reading, stand, whole=whole) for whole in (True, False)]
        values.append(reading.worth(stand, stand.held) if stand.running else 0)
        rests.insert(0, rests[0] + max(value for value in values if value is not None))
        more = list(gpus[0])
        more[tenants[job]] += stand.need.gpus
        gpus.insert(0, tuple(more))
    search = _Search(
        reading=reading,
        jobs=jobs,
        tenants=tenants,
        quotas=[reading.quotas.get(name) for name in names],
        rests=rests,
        gpus=gpus,
        homes=homes,
        before=sum(stand.need.gpus for stand in stands if stand.running),
        steps=steps,
        best=reading.value(now),
        places=now,
    )
    state = _State(
        desks=tuple(_Desk(room) for room in reading.rooms),
        used=(0,) * len(names),
        moved=0,
        started=0,
        stopped=frozenset(),
        worth=0,
    )
    for job, stand in enumerate(stands):
        if is_fixed(stand):
            state = search.put(job, stand.held, state) or state  # there is room: the round was read
    return search, state


def _look(desk: _Desk) -> tuple[int, ...]:
    """Return what tells one node from another, as numbers."""
    room = desk.room
    amounts = (room.gpus, -1 if room.milli is None else room.milli, -1 if room.mebibytes is None else room.mebibytes)
    return (*amounts, *desk[1:])
