"""The cheapest jobs to take from one node so that enough of it is free: a small exact search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MOST_STEPS: Final = 20_000
"""Steps of one search; nodes of 8 GPUs need a few dozen. After that many the best found so far is taken."""

MOST_ITEMS: Final = 200
"""Jobs on one node up to which the search is made; of more, the cheapest are taken until they free enough."""

Amount = tuple[int, int, int]
"""GPUs, milli-CPUs and MiB."""
Cost = tuple[int, int]
Cover = tuple[Cost, tuple[int, ...]]
"""What it costs to take jobs away, and which jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A job on the node: what it would free there, what taking it costs, and what its tenant loses.

    The cost is ``dear`` first, and ``cheap`` between equals.
    """

    job: int
    frees: Amount
    dear: int
    cheap: int
    tenant: int
    gpus: int

    @property
    def kind(self) -> tuple[Amount, int, int, int, int]:
        """All that the search sees of the job: of equal ones it takes the first."""
        return (self.frees, self.dear, self.cheap, self.tenant, self.gpus)


def cheapest_cover(
    items: Sequence[Item], need: Amount, spare: Mapping[int, int], most: Cost | None = None
) -> Cover | None:
    """Return the least cost, and the jobs, that free ``need``; ``None`` if none does for less than ``most``.

    Jobs of tenant v taken together have at most ``spare[v]`` GPUs; a tenant not named loses whatever it takes.
    """
    ordered = in_search_order(items)
    if len(ordered) > MOST_ITEMS:
        return _greedy(ordered, need, dict(spare), most)
    return _Search(ordered, spare).best(need, most)


def in_search_order(items: Sequence[Item]) -> list[Item]:
    """Return the items as the search goes through them: of equally cheap sets it finds the first by this order."""
    return sorted(items, key=lambda item: (item.dear, -item.frees[0], item.cheap, item.kind, item.job))


def _greedy(items: Sequence[Item], need: Amount, spare: dict[int, int], most: Cost | None) -> Cover | None:
    cost, taken = (0, 0), []
    for item in items:
        if max(need) <= 0:
            break
        if spare.get(item.tenant, item.gpus) >= item.gpus:
            if item.tenant in spare:
                spare[item.tenant] -= item.gpus
            need = (need[0] - item.frees[0], need[1] - item.frees[1], need[2] - item.frees[2])
            cost = (cost[0] + item.dear, cost[1] + item.cheap)
            taken.append(item.job)
    if max(need) > 0 or (most is not None and cost >= most):
        return None
    return cost, tuple(taken)


class _Search:
    """Depth first over the items, each taken or left; of equal items the later ones only after the earlier."""

    def __init__(self, items: Sequence[Item], spare: Mapping[int, int]) -> None:
        self._items, self._spare = items, dict(spare)
        self._rest: list[Amount] = [(0, 0, 0)]
        self._free_of_charge = [0]
        for item in reversed(items):
            gpus, cpus, memory = self._rest[-1]
            self._rest.append((gpus + item.frees[0], cpus + item.frees[1], memory + item.frees[2]))
            self._free_of_charge.append(self._free_of_charge[-1] + (item.frees[0] if item.dear == 0 else 0))
        self._rest.reverse()
        self._free_of_charge.reverse()
        self._found: Cover | None = None
        self._most: Cost | None = None
        self._steps = 0

    def best(self, need: Amount, most: Cost | None) -> Cover | None:
        self._most = most
        self._step(0, need, (0, 0), ())
        return self._found

    def _step(self, at: int, need: Amount, cost: Cost, taken: tuple[int, ...]) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            return
        # A GPU of a running job costs at least one; those of the others are free.
        least = (cost[0] + max(0, need[0] - self._free_of_charge[at]), cost[1])
        if self._most is not None and least >= self._most:
            return
        if max(need) <= 0:
            self._found, self._most = (cost, taken), cost
            return
        rest = self._rest[at]
        if rest[0] < need[0] or rest[1] < need[1] or rest[2] < need[2]:
            return
        item = self._items[at]
        spare = self._spare.get(item.tenant)
        if spare is None or spare >= item.gpus:
            if spare is not None:
                self._spare[item.tenant] = spare - item.gpus
            left = (need[0] - item.frees[0], need[1] - item.frees[1], need[2] - item.frees[2])
            self._step(at + 1, left, (cost[0] + item.dear, cost[1] + item.cheap), (*taken, item.job))
            if spare is not None:
                self._spare[item.tenant] = spare
        after = at + 1
        while after < len(self._items) and self._items[after].kind == item.kind:
            after += 1
        self._step(after, need, cost, taken)
