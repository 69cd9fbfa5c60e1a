"""Decisions as columns of the joint program, and prices in the unit of its value."""

from __future__ import annotations

from msgspec.structs import replace

from muri_opt.rounds import Assignment, LinearDuals, Round
from muri_opt.rounds.quantities import milli_cpus
from muri_opt.systems.joint.program.columns import JointColumns, Key, Spot


class Written:
    """The columns of assignments."""

    def __init__(self, round_: Round, columns: JointColumns) -> None:
        self._round, self._columns = round_, columns
        self._of: dict[tuple[tuple[int, ...], int, int | None], list[int]] = {}
        for at, key in enumerate(columns.keys):
            self._of.setdefault((key.group, key.gpus, key.way), []).append(at)

    def column(self, assignment: Assignment) -> int:
        """Return the column of an assignment: of several the one that is worth most, as it stays."""
        group = tuple(sorted(self._round.job_index[job] for job in assignment.jobs))
        spot = self.parts(assignment)
        able = [
            at
            for way in self._ways(group, assignment)
            for at in self._of.get((group, sum(assignment.gpus.values()), way), ())
            if _is_at(self._columns.keys[at], spot)
        ]
        return max(able, key=lambda at: tuple(int(value[at]) for value in self._columns.values))

    def parts(self, assignment: Assignment) -> Spot:
        """Return the nodes of an assignment with its GPUs there."""
        index = self._round.cluster.node_index
        return tuple(sorted((index[node], gpus) for node, gpus in assignment.gpus.items()))

    def _ways(self, group: tuple[int, ...], assignment: Assignment) -> list[int | None]:
        """Return the plans that an assignment may be by."""
        ways = self._columns.models.ways_of(group[0])
        split = tuple(sorted(assignment.gpus.values()))
        given = sorted(milli_cpus(assignment.cpus.get(node, 0.0)) for node in assignment.gpus)
        found: list[int | None] = [
            number
            for number, way in enumerate(ways)
            if way.name == assignment.plan and way.split == split and given == sorted(part.milli for part in way.parts)
        ]
        return found if ways else [None]


def _is_at(key: Key, spot: Spot) -> bool:
    if key.spot is not None:
        return key.spot == spot
    return all(key.region >> node & 1 for node, _ in spot)


def weighted(prices: LinearDuals, columns: JointColumns) -> LinearDuals:
    """Return prices of what columns add to the largest priority, of which a unit counts more than all below it."""
    weight = columns.weights[0]
    told = {label: tuple(price * weight for price in some) for label, some in prices.multipliers.items()}
    return prices if weight == 1 else replace(prices, multipliers=told)
