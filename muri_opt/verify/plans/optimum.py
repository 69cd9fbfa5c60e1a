"""The optimum of a small round of plans by enumeration: every job by every way on every set of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from muri_opt.rounds import Round
from muri_opt.verify.plans.menu import Menu, Way
from muri_opt.verify.plans.plan_parts import NO_LIMIT, Floor, Piece

Rooms = tuple[tuple[int, int, int], ...]
Mark = tuple[str, tuple[int, ...]]
"""What tells a node from others, all else equal: the type of its GPUs, and which jobs still to come are at home."""


class OutOfStepsError(Exception):
    """There is more to enumerate than was allowed."""


@dataclass(slots=True, kw_only=True)
class _Search:
    """Depth-first over the jobs; what the jobs from one on can add depends on the rooms and quotas left alone."""

    ways: tuple[tuple[Way, ...], ...]
    bonus: tuple[int, ...]
    homes: list[tuple[int, ...]]
    asks: list[tuple[int, int] | None]
    types: list[str | None]
    marks: list[list[Mark]]
    steps: int
    known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def best(self, job: int, rooms: Rooms, quota: tuple[int, ...]) -> int:
        """Return the most that the jobs from ``job`` on can add."""
        if job == len(self.ways):
            return 0
        key = (job, tuple(sorted(zip(self.marks[job], rooms, strict=True))), quota)
        if key not in self.known:
            self._count()
            self.known[key] = max([self.best(job + 1, rooms, quota), *self._running(job, rooms, quota)])
        return self.known[key]

    def _running(self, job: int, rooms: Rooms, quota: tuple[int, ...]) -> Iterator[int]:
        """Yield the most that can be added with the job running, by each way in each place."""
        asked, bonus = self.asks[job], self.bonus[job]
        if asked is not None:
            tenant, gpus = asked
            if gpus > quota[tenant]:
                return
            quota = (*quota[:tenant], quota[tenant] - gpus, *quota[tenant + 1 :])
        for way in self.ways[job]:
            able = [s for s, room in enumerate(rooms) if self._takes(s, room, way)]
            if way.home is not None and set(self.homes[job]) <= set(able):
                yield bonus + way.home + self.best(job + 1, _without(rooms, self.homes[job], way.piece), quota)
            seen = set()
            for nodes in combinations(able, way.plan.nodes):
                self._count()
                looks = tuple(sorted((self.marks[job][s], rooms[s]) for s in nodes))
                if looks not in seen:
                    seen.add(looks)
                    yield bonus + way.away + self.best(job + 1, _without(rooms, nodes, way.piece), quota)

    def _takes(self, node: int, room: tuple[int, int, int], way: Way) -> bool:
        typed = way.plan.gpu_type is None or way.plan.gpu_type == self.types[node]
        return typed and all(has >= takes for has, takes in zip(room, way.piece, strict=True))

    def _count(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OutOfStepsError


def planned_optimum(round_: Round, menu: Menu, *, steps: int) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    floor, index = Floor.of(round_), round_.cluster.node_index
    homes = [tuple(sorted(index[node] for node in held)) for held in menu.homes]
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    limited = {tenant: position for position, tenant in enumerate(quotas)}
    search = _Search(
        ways=menu.ways,
        bonus=menu.bonus,
        homes=homes,
        asks=[
            (limited[job.tenant or ""], job.gpus) if job.guarantee is not None and job.tenant in limited else None
            for job in round_.jobs
        ],
        types=floor.types,
        marks=[
            [
                (repr(kind), tuple(later for later in range(job, len(homes)) if s in homes[later]))
                for s, kind in enumerate(floor.types)
            ]
            for job in range(len(homes))
        ],
        steps=steps,
    )
    rooms = tuple((row[0], row[1], row[2]) for row in floor.free.tolist())
    try:
        return search.best(0, rooms, tuple(quotas.values()))
    except (OutOfStepsError, RecursionError):
        return None


def _without(rooms: Rooms, nodes: tuple[int, ...], piece: Piece) -> Rooms:
    """Return the rooms after one piece was taken from each of the nodes."""
    left = list(rooms)
    for s in nodes:
        gpus, milli, mebibytes = rooms[s]
        left[s] = (
            gpus - piece.gpus,
            milli if milli == NO_LIMIT else milli - piece.milli,
            mebibytes if mebibytes == NO_LIMIT else mebibytes - piece.mebibytes,
        )
    return tuple(left)
