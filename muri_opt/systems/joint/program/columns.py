"""The columns of the exact program: every group with all that it can have, where it runs now, or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.node_bits import EVERY_NODE
from muri_opt.systems.joint.jobs.group_value import Group, Place, group_values, most_of_each
from muri_opt.systems.joint.jobs.models import Models, models_of
from muri_opt.systems.joint.jobs.plan_ways import PlanWay
from muri_opt.systems.joint.jobs.worth import Worth, worth_of
from muri_opt.systems.joint.nodes.regions import Region, Regions
from muri_opt.systems.joint.nodes.state import Case, State
from muri_opt.systems.joint.program.node_shares import NodeShares
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.priority_digits import PriorityDigits
from muri_opt.systems.priority_levels import level_weights, levels_of

MOST_COLUMNS = 200_000
MOST_SPOTS = 64
"""Ways to put the parts of a plan on nodes of a region that are columns of their own; else it counts in the region."""
Spot = tuple[tuple[int, int], ...]
"""Nodes, each with GPUs of it, in their order."""


class Key(NamedTuple):
    """Members in ascending order, GPUs, the number of the plan if they run by one, and where.

    That is a ``spot``, or anywhere in a ``region``.
    """

    group: Group
    gpus: int
    way: int | None
    spot: Spot | None
    region: Region


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointColumns:
    """Columns by their keys; ``entries`` are (column, member) of all memberships.

    ``values[c]`` is what each column adds to the jobs of the c-th priority, of which a unit counts ``weights[c]``.
    ``cpus`` and ``memory`` are what it takes in milli-CPUs and MiB. ``shares`` say on which nodes that is, if nodes are
    limited in more than GPUs.
    """

    keys: tuple[Key, ...]
    values: tuple[Ints, ...]
    weights: tuple[int, ...]
    entries: tuple[Ints, Ints]
    gpus: Ints
    cpus: Ints
    memory: Ints
    shares: NodeShares
    models: Models
    worth: Worth

    @classmethod
    def of(cls, round_: Round, rules: JointRules) -> JointColumns:
        """Return the columns of a round; too many are refused. The last ones asked for are kept."""
        return _columns(round_, rules)

    @property
    def classes(self) -> PriorityDigits:
        """The priorities, as they are held one after another."""
        return PriorityDigits(values=self.values, weights=self.weights, most=len(self.models))

    def place(self, column: int) -> Place | None:
        """Return where a column is, if it is at a spot."""
        key = self.keys[column]
        return None if key.spot is None else Place(key.spot, key.way)

    def takes(self, round_: Round, column: int) -> list[tuple[int, int, int, int]]:
        """Return node, GPUs, milli-CPUs and MiB of each part of a column at a spot."""
        key, amounts = self.keys[column], round_.amounts
        if key.way is not None:
            part_of = {part.gpus: part for part in self.models.ways_of(key.group[0])[key.way].parts}
            return [(node, *part_of[gpus]) for node, gpus in key.spot or ()]
        cpus, memory = amounts.needs_of(key.group)
        return [(node, gpus, gpus * cpus, gpus * memory) for node, gpus in key.spot or ()]


@last_recalled
def _columns(round_: Round, rules: JointRules) -> JointColumns:
    models = models_of(round_, rules)
    worth = worth_of(round_, models, rules)
    ways = _Ways(round_, State.of(Case(round_=round_, models=models, worth=worth, rules=rules)))
    level, best = levels_of(round_), most_of_each(models, worth, rules, len(round_.resources))
    keys, values = list[Key](), list[list[int]]()
    classes = int(level.max(initial=0)) + 1
    for group in _groups(round_, models, rules):
        for key, stays in ways.of(group):
            each = group_values(models, worth, rules, group, key.gpus, key.way, goes_on=stays)
            keys.append(key)
            values.append(
                [sum(v for v, job in zip(each, group, strict=True) if level[job] == c) for c in range(classes)]
            )
        if len(keys) > MOST_COLUMNS:
            found = f"more than {MOST_COLUMNS:,} groups with their GPUs"
            raise RefusalError("joint", found, "fewer jobs, group=2 or shares=powers, or the heuristic")
    taken = [_amounts(round_, models, key) for key in keys]
    cpus, memory = np.array(taken, dtype=np.int64).reshape(-1, 2).T
    return JointColumns(
        keys=tuple(keys),
        values=tuple(np.array(values, dtype=np.int64).reshape(-1, classes).T),
        weights=level_weights(level, best),
        entries=(
            np.array([at for at, key in enumerate(keys) for _ in key.group], dtype=np.int64),
            np.array([member for key in keys for member in key.group], dtype=np.int64),
        ),
        gpus=np.array([key.gpus for key in keys], dtype=np.int64),
        cpus=cpus,
        memory=memory,
        shares=NodeShares.of(round_, keys),
        models=models,
        worth=worth,
    )


def _amounts(round_: Round, models: Models, key: Key) -> tuple[int, int]:
    if key.way is not None:
        parts = models.ways_of(key.group[0])[key.way].parts
        return sum(part.milli for part in parts), sum(part.mib for part in parts)
    amounts = round_.amounts
    cpus, memory = amounts.needs_of(key.group)
    return key.gpus * cpus, key.gpus * memory


def _groups(round_: Round, models: Models, rules: JointRules) -> Iterator[Group]:
    """Yield every group that may share."""
    sharers = np.flatnonzero(models.shares[models.kind]).tolist()
    most = rules.most_jobs(len(round_.resources))
    elastic = models.period[models.kind[sharers]] > 0
    each = int(elastic.all(axis=0).sum()) if len(sharers) else 0  # counts that all of them can have
    if sum(comb(len(sharers), size) for size in range(2, most + 1)) * max(1, each) > MOST_COLUMNS:
        found = f"groups of {len(sharers)} jobs"
        raise RefusalError("joint", found, f"at most {MOST_COLUMNS:,}; fewer jobs, group=2, or the heuristic")
    yield from ((job,) for job in range(len(models)))
    for size in range(2, most + 1):
        yield from combinations(sharers, size)


class _Ways:
    """All that groups can have: GPUs or a plan, anywhere they may start, or where they go on as they are."""

    def __init__(self, round_: Round, state: State) -> None:
        self._round, self._state, self._models = round_, state, state.case.models
        self._regions, self._gpus = Regions.of(round_), round_.amounts.G.tolist()

    def of(self, group: Group) -> Iterator[tuple[Key, bool]]:
        """Yield the columns of a group, and whether it goes on as it is."""
        home = self._home(group)
        if self._models.runs_by_plans(group[0]):
            yield from self._by_plans(group, home)
            return
        able = (self._models.period[self._models.kind[list(group)]] > 0).all(axis=0)
        for size in np.flatnonzero(able).tolist():
            for region in self._regions.of_group(group):
                if size <= self._has(region):
                    yield Key(group, size, None, None, region), False
            if home is not None and home.gpus == size:
                yield Key(group, size, None, home.parts, EVERY_NODE), True

    def _home(self, group: Group) -> Place | None:
        """Return where a group goes on as it is."""
        state = self._state
        held = state.held[group[0]]
        home = None if held is None else state.at_home(group, held)
        return home if home is not None and state.goes_on(group, home) else None

    def _by_plans(self, group: Group, home: Place | None) -> Iterator[tuple[Key, bool]]:
        for number, way in enumerate(self._models.ways_of(group[0])):
            for region in self._regions.of_plan(group[0], way.types):
                nodes = [node for node in range(len(self._gpus)) if region >> node & 1 and self._holds(node, way, -1)]
                if len(nodes) < len(way.parts):
                    continue
                if comb(len(nodes), len(way.parts)) > MOST_SPOTS:
                    yield Key(group, way.gpus, number, None, region), False
                    continue
                for spot in self._spots(way, nodes):
                    yield Key(group, way.gpus, number, spot, EVERY_NODE), False
            if home is not None and self._is_home(group[0], home, way):
                yield Key(group, way.gpus, number, home.parts, EVERY_NODE), True

    def _is_home(self, job: int, home: Place, way: PlanWay) -> bool:
        """Return whether a job that goes on where it is may do so by a plan: CPUs and memory may be others."""
        now = self._models.ways_of(job)[home.way or 0]
        return (way.name, way.split, way.types) == (now.name, now.split, now.types)

    def _spots(self, way: PlanWay, nodes: list[int]) -> Iterator[Spot]:
        """Yield every way to put the parts of a plan on nodes, the larger ones where they fit."""
        larger = sum(part.gpus > way.parts[-1].gpus for part in way.parts)
        for chosen in combinations(nodes, len(way.parts)):
            for wide in combinations(chosen, larger):
                if all(self._holds(node, way, 0) for node in wide):
                    sizes = {node: way.parts[0].gpus if node in wide else way.parts[-1].gpus for node in chosen}
                    yield tuple(sizes.items())

    def _holds(self, node: int, way: PlanWay, place: int) -> bool:
        """Return whether the empty node has room for a part of a plan."""
        part, amounts = way.parts[place], self._round.amounts
        return bool(part.gpus <= self._gpus[node] and part.milli <= amounts.C[node] and part.mib <= amounts.M[node])

    def _has(self, region: Region) -> int:
        return sum(gpus for node, gpus in enumerate(self._gpus) if region >> node & 1)
