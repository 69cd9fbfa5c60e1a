"""The best joint round by going through all groups, plans and places, node by node: for very small rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from muri_opt.rounds import Round
from muri_opt.verify.amounts import Sizes, empty_rooms, held_by, minus, need_of, times
from muri_opt.verify.enumeration import Steps, splits
from muri_opt.verify.joint.plans import PlanEntry, period_of
from muri_opt.verify.joint.reasons import Parts, nodes_of_plan, parts_open
from muri_opt.verify.joint.value import Workers
from muri_opt.verify.plans.plan_parts import Piece
from muri_opt.verify.tenant_lines import most_gpus

Rooms = tuple[Sizes, ...]
State = tuple[Rooms, tuple[int, ...]]
"""What is left of nodes, and of quotas."""
Taken = dict[int, Sizes]


def best_placed(round_: Round, workers: Workers, steps: Steps) -> int:
    """Return the value of the best joint round."""
    search = _Search(round_, workers, steps)
    return search.best(frozenset(range(len(round_.jobs))), search.start)


class _Search:
    def __init__(self, round_: Round, workers: Workers, steps: Steps) -> None:
        self._round, self._workers, self._steps = round_, workers, steps
        limits = most_gpus(round_)
        self._tenants = [tenant.id for tenant in round_.cluster.tenants if tenant.id in limits]
        self._open = parts_open(round_)
        rooms = tuple(room.sizes for room in empty_rooms(round_))
        self.start: State = rooms, tuple(limits[tenant] for tenant in self._tenants)
        self._known: dict[tuple[frozenset[int], State], int] = {}

    def best(self, jobs: frozenset[int], state: State) -> int:
        """Return the most that jobs can add to what is left: the first of them waits, or is in one of its groups."""
        if not jobs:
            return 0
        key = jobs, state
        if key not in self._known:
            self._steps.count()
            first = min(jobs)
            rest = jobs - {first}
            found = self.best(rest, state)
            for size in range(self._workers.most_jobs):
                for others in combinations(sorted(rest), size):
                    for value, gpus, taken in self._ways((first, *others), state[0]):
                        then = self._after((first, *others), gpus, taken, state)
                        if then is not None:
                            found = max(found, value + self.best(rest - set(others), then))
            self._known[key] = found
        return self._known[key]

    def _after(self, group: tuple[int, ...], gpus: int, taken: Taken, state: State) -> State | None:
        """Return what is left when a group has so much of nodes; ``None`` where there is too little."""
        self._steps.count()
        rooms, quotas = list(state[0]), list(state[1])
        for node, amounts in taken.items():
            rooms[node] = minus(rooms[node], amounts)
        for job in group:
            tenant = self._round.jobs[job].tenant
            if tenant in self._tenants:
                quotas[self._tenants.index(tenant or "")] -= gpus
        possible = min((min(room) for room in rooms), default=0) >= 0 and min(quotas, default=0) >= 0
        return (tuple(rooms), tuple(quotas)) if possible else None

    def _ways(self, group: tuple[int, ...], rooms: Rooms) -> Iterator[tuple[int, int, Taken]]:
        """Yield value, GPUs and what is taken of nodes, of every way of a group."""
        if any(self._workers.jobs[job].plans for job in group):
            if len(group) == 1:
                yield from self._by_plans(group[0], rooms)
            return
        milli, mebibytes = (
            sum(getattr(need_of(self._round.jobs[job]), amount) for job in group) for amount in ("milli", "mebibytes")
        )
        unit = (1, milli, mebibytes)
        for gpus in sorted(self._workers.jobs[group[0]].by_gpus):
            if self._workers.able(group, gpus):
                yield from self._on_gpus(group, gpus, unit, rooms)

    def _on_gpus(
        self, group: tuple[int, ...], gpus: int, unit: Sizes, rooms: Rooms
    ) -> Iterator[tuple[int, int, Taken]]:
        workers, index = self._workers, self._round.cluster.node_index
        period, home = workers.period(group, gpus), workers.jobs[group[0]].home
        if home is not None and sum(home.values()) == gpus and workers.goes_on(group, home):
            taken = {index[node]: times(unit, has) for node, has in home.items() if has}
            yield workers.worth(group, period, goes_on=True), gpus, taken
        holds = [held_by(room, unit, gpus) for room in rooms]
        value = workers.worth(group, period, goes_on=False)
        for nodes in self._common(group):
            here = [most if node in nodes else 0 for node, most in enumerate(holds)]
            for share in splits(here, range(len(rooms)), gpus, nodes=len(rooms), steps=self._steps):
                yield value, gpus, {node: times(unit, has) for node, has in share.items()}

    def _common(self, group: Sequence[int]) -> list[frozenset[int]]:
        """Return the sets of nodes in which all jobs of a group may start."""
        found = [frozenset(range(len(self._round.cluster.nodes)))]
        for job in group:
            parts: Parts = self._open(self._round.jobs[job])
            found = [one & set(part) for one in found for part in parts if one & set(part)]
        return found

    def _by_plans(self, place: int, rooms: Rooms) -> Iterator[tuple[int, int, Taken]]:
        worker, index = self._workers.jobs[place], self._round.cluster.node_index
        for one in worker.plans:
            period = Fraction(period_of(one.plan))
            home = worker.home or {}
            stays = one.plan.name == worker.by and self._workers.goes_on((place,), home)
            if stays and one.has_parts([has for has in home.values() if has]) and self._is_for(one, home):
                taken = {index[node]: _sizes(one.piece_with(has)) for node, has in home.items()}
                yield self._workers.worth((place,), period, goes_on=True), one.plan.gpus, taken
            value = self._workers.worth((place,), period, goes_on=False)
            for part in nodes_of_plan(self._round, self._open(self._round.jobs[place]), one):
                for taken in self._placed(one, part):
                    yield value, one.plan.gpus, taken

    def _is_for(self, one: PlanEntry, home: Iterable[str]) -> bool:
        """Return whether a plan is for the GPUs of these nodes."""
        cluster = self._round.cluster
        types = {cluster.nodes[cluster.node_index[node]].gpu_type for node in home}
        return one.plan.types is None or types.issubset(one.plan.types)

    def _placed(self, one: PlanEntry, part: Sequence[int]) -> Iterator[Taken]:
        """Yield every way to put the parts of a plan on nodes, one on each."""
        larger = 0 if one.wide is None else one.plan.gpus % one.plan.nodes
        for nodes in combinations(part, one.plan.nodes):
            for wide in combinations(nodes, larger):
                self._steps.count()
                yield {node: _sizes((one.wide if node in wide else None) or one.piece) for node in nodes}


def _sizes(piece: Piece) -> Sizes:
    return piece.gpus, piece.milli, piece.mebibytes
