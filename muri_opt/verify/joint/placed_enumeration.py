"""The best joint round by going through all groups, plans and places, node by node: for very small rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from muri_opt.rounds import Round
from muri_opt.verify.amounts import Sizes, empty_rooms, held_by, minus, need_of, times
from muri_opt.verify.enumeration import Steps, splits
from muri_opt.verify.joint.group_search import GroupSearch
from muri_opt.verify.joint.plans import PlanEntry, period_of
from muri_opt.verify.joint.reasons import nodes_of_plan, parts_open
from muri_opt.verify.joint.value import Workers
from muri_opt.verify.open_nodes import Parts
from muri_opt.verify.plans.plan_parts import Piece

Rooms = tuple[Sizes, ...]
State = tuple[Rooms, tuple[int, ...]]
"""What is left of nodes, and of quotas."""
Taken = dict[int, Sizes]


def best_placed(round_: Round, workers: Workers, steps: Steps) -> int:
    """Return the value of the best joint round."""
    return _Search(round_, workers, steps).best_value()


class _Search(GroupSearch[State]):
    def __init__(self, round_: Round, workers: Workers, steps: Steps) -> None:
        super().__init__(round_, workers, steps)
        self._round, self._open = round_, parts_open(round_)
        self.start = tuple(room.sizes for room in empty_rooms(round_)), self.quotas

    def is_empty(self, state: State) -> bool:
        """Return whether there is no node."""
        return not state[0]

    def after(self, group: tuple[int, ...], state: State) -> Iterator[tuple[int, State]]:
        """Yield the value of each way of a group, and what is left of nodes and quotas then."""
        for value, gpus, taken in self._ways(group, state[0]):
            self._steps.count()
            rooms = list(state[0])
            for node, amounts in taken.items():
                rooms[node] = minus(rooms[node], amounts)
            quotas = self.quotas_after(group, gpus, state[1])
            if quotas is not None and min((min(room) for room in rooms), default=0) >= 0:
                yield value, (tuple(rooms), quotas)

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
