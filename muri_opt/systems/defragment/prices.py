"""A bound from prices: jobs that leave are paid for, jobs that enter pay, and every node does what is best for it.

Jobs that leave enter somewhere, so in sum the prices change nothing, and what all nodes do for themselves costs no more
than any plan. Prices are whole numbers over a denominator and the sums exact: bad prices give a weak bound only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.running_jobs import Start

_MOST_STATES = 2000
"""Contents of a node, by what they use, up to which CPUs and memory are looked at, too."""

Use = tuple[int, int, int]
Flow = tuple[tuple[int, int], ...]
State = dict[Use, tuple[int, Flow, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a job of each type, a GPU of each spread job and a GPU of the waiting job is worth, over a denominator."""

    denominator: int
    goods: tuple[int, ...]
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What nodes of a kind may do: cost, goods that enter on balance, and, if chosen, GPUs of the waiting job."""

    kind: int
    chosen: bool
    share: int
    cost: int
    flow: Flow


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """What prices prove, times their denominator, and what every kind of node does at them."""

    prices: Prices
    scaled: int
    columns: tuple[Column, ...]

    @property
    def bound(self) -> int:
        """What no plan costs less than."""
        return -(-self.scaled // self.prices.denominator)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Nodes that cannot be told apart: room, movable jobs per type, and GPUs and cost of leaving of spread jobs.

    ``takes`` are the goods that may enter.
    """

    nodes: int
    able: bool
    room: Use
    present: dict[int, int]
    parts: dict[int, tuple[int, int]]
    most: int
    takes: frozenset[int]


class Pricing:
    """The nodes of a start, ready to be asked at any prices.

    Goods are the types of jobs, then the spread jobs, counted in GPUs. The cost of a spread job is charged by GPUs to
    the nodes it leaves, and the one for the job to the first of them.
    """

    def __init__(self, start: Start, goal: Goal) -> None:
        self.goal = goal
        self.types = len(start.types)
        spread = list(start.spread)
        self.size: list[list[int]] = [*start.types.tolist(), *start.unit[spread].tolist()]
        self.total: list[int] = [*start.count.sum(axis=1).tolist(), *start.size[spread, 0].tolist()]
        self.cost = [gpus * start.weight + 1 for gpus in start.types[:, 0].tolist()]
        self.asked = 0 if goal.job is None else int(start.size[goal.job, 0])
        self.unit = [0, 0, 0] if goal.job is None else start.unit[goal.job].tolist()
        self.may = [*map(start.type_may, range(self.types)), *map(start.may, spread)]
        self.kinds = [self._kind(start, nodes) for nodes in start.kinds()]

    def _kind(self, start: Start, nodes: list[int]) -> _Kind:
        s = nodes[0]
        binds = [True, *(start.may_bind(s, resource, self.goal.job) for resource in (1, 2))]
        free, cpus, memory = (int(has) if bind else 1 << 60 for has, bind in zip(start.room[s], binds, strict=True))
        parts = {}
        for i, j in enumerate(start.spread):
            if s in start.held[j]:
                gpus = start.held[j][s]
                parts[self.types + i] = (gpus, gpus * start.weight + (s == next(iter(start.held[j]))))
        return _Kind(
            nodes=len(nodes),
            able=bool(self.goal.able[s]),
            room=(free, cpus, memory),
            present={int(t): int(start.count[t, s]) for t in np.flatnonzero(start.count[:, s])},
            parts=parts,
            most=int(self.goal.most[s]),
            takes=frozenset(good for good, may in enumerate(self.may) if may[s]),
        )

    def staying(self) -> list[Column]:
        """Return the columns of nodes at which nothing happens."""
        return [Column(kind=k, chosen=False, share=0, cost=0, flow=()) for k in range(len(self.kinds))]

    def at(self, prices: Prices) -> Priced:
        """Return what the prices prove."""
        scaled = prices.waiting * self.asked
        extra: list[tuple[int, int]] = []
        columns: list[Column] = []
        for k, kind in enumerate(self.kinds):
            states = self._states(kind, prices)
            unchosen = self._best(k, kind, states, 0, chosen=False)
            value = self._value(unchosen, prices)
            scaled += kind.nodes * value
            columns.append(unchosen)
            if kind.able:
                found = min(self._choices(k, kind, states), key=lambda column: self._value(column, prices))
                columns.append(found)
                extra.append((self._value(found, prices) - value, kind.nodes))
        missing = self.goal.chosen
        for more, nodes in sorted(extra):
            taken = min(missing, nodes)
            scaled, missing = scaled + taken * more, missing - taken
        return Priced(prices=prices, scaled=scaled, columns=tuple(columns))

    def _value(self, column: Column, prices: Prices) -> int:
        paid = sum(prices.goods[good] * amount for good, amount in column.flow)
        return prices.denominator * column.cost + paid - prices.waiting * column.share

    def _choices(self, k: int, kind: _Kind, states: State) -> Iterator[Column]:
        """Yield what a chosen node may do: be empty, or hold some GPUs of the waiting job."""
        if self.goal.job is None:
            cost = sum(self.cost[t] * number for t, number in kind.present.items())
            cost += sum(leaving for _, leaving in kind.parts.values())
            gone = [*kind.present.items(), *((good, gpus) for good, (gpus, _) in kind.parts.items())]
            yield Column(kind=k, chosen=True, share=0, cost=cost, flow=tuple((good, -amount) for good, amount in gone))
            return
        for share in range(self.goal.least, kind.most + 1):
            yield self._best(k, kind, states, share, chosen=True)

    def _best(self, k: int, kind: _Kind, states: State, share: int, *, chosen: bool) -> Column:
        """Return the cheapest content of a node beside a share of the waiting job."""
        room = [has - share * each for has, each in zip(kind.room, self.unit, strict=True)]
        fitting = (
            state for use, state in states.items() if all(amount <= has for amount, has in zip(use, room, strict=True))
        )
        _, flow, cost = min(fitting)
        return Column(kind=k, chosen=chosen, share=share, cost=cost, flow=flow)

    def _states(self, kind: _Kind, prices: Prices) -> State:
        """Return for every use of a node its cheapest content: value at the prices, goods that enter, cost."""
        states = self._combined(kind, prices, 3)
        return self._combined(kind, prices, 1) or {} if states is None else states

    def _combined(self, kind: _Kind, prices: Prices, resources: int) -> State | None:
        """Return the states, CPUs and memory left aside if one resource is looked at; ``None`` if they are many."""
        states: State = {(0, 0, 0): (0, (), 0)}
        for good, size in enumerate(self.size):
            options = list(self._options(kind, good, prices))
            if len(options) == 1 and not options[0][0] and not options[0][1]:
                continue
            after: State = {}
            each = (size[0], *(amount if resources > 1 else 0 for amount in size[1:]))
            for use, (value, flow, cost) in states.items():
                for kept, entering, price, paid in options:
                    used = (use[0] + kept * each[0], use[1] + kept * each[1], use[2] + kept * each[2])
                    if used[0] > kind.room[0] or used[1] > kind.room[1] or used[2] > kind.room[2]:
                        continue
                    found = (value + price, (*flow, (good, entering)) if entering else flow, cost + paid)
                    if used not in after or found < after[used]:
                        after[used] = found
            states = after
            if resources > 1 and len(states) > _MOST_STATES:
                return None
        return states

    def _options(self, kind: _Kind, good: int, prices: Prices) -> Iterator[tuple[int, int, int, int]]:
        """Yield how much of a good may be on a node in the end, how much enters, its value at the prices, its cost.

        Only goods with a negative price enter a node that is asked what is best for it.
        """
        price, scale = prices.goods[good], prices.denominator
        enters = price < 0 and good in kind.takes
        if good in kind.parts:
            gpus, cost = kind.parts[good]
            yield gpus, 0, 0, 0
            for entering in range(self.total[good] + 1 if enters else 1):
                yield entering, entering - gpus, scale * cost + price * (entering - gpus), cost
            return
        here = kind.present.get(good, 0)
        for kept in range(here + 1):
            cost = (here - kept) * self.cost[good] if good < self.types else 0
            yield kept, kept - here, scale * cost + price * (kept - here), cost
        for kept in range(here + 1, self.total[good] + 1 if enters else here + 1):
            yield kept, kept - here, price * (kept - here), 0
