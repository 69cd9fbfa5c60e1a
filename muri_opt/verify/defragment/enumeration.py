"""Is there any cheaper set of moves? Gone through one by one, as far as a bounded number of steps allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from muri_opt.verify.defragment.dual_bound import Ground, Mover, Triple, minus, times

_STEPS = 30_000

Node = tuple[Triple, bool]
"""What is left of a node, and whether it has GPUs and holds no job."""


class OutOfStepsError(Exception):
    """There are too many plans to look at."""


def cheaper_cost(ground: Ground, gpus: Sequence[int], below: int, *, steps: int = _STEPS) -> int | None:
    """Return the cost of some plan below a cost, ``None`` if there is none; too many steps are an error.

    ``gpus`` are those of the empty nodes.
    """
    search = _Search(ground=ground, gpus=gpus, below=below, steps=steps)
    try:
        return search.run(0, 0, ())
    except RecursionError:
        raise OutOfStepsError from None


@dataclass(slots=True, kw_only=True)
class _Search:
    """Depth-first over who moves; a set of movers counts if they can be placed so that the goal is reached."""

    ground: Ground
    gpus: Sequence[int]
    below: int
    steps: int
    dead: set[tuple[int, tuple[Node, ...]]] = field(default_factory=set)
    moving: list[Mover] = field(default_factory=list)

    def run(self, place: int, cost: int, chosen: tuple[int, ...]) -> int | None:
        self._step()
        movers = self.ground.movers
        if cost >= self.below:
            return None
        if place == len(movers):
            return cost if self._works(chosen) else None
        found = self.run(place + 1, cost, chosen)
        if found is not None:
            return found
        return self.run(place + 1, cost + self.ground.cost(movers[place]), (*chosen, place))

    def _works(self, chosen: tuple[int, ...]) -> bool:
        """Return whether the chosen jobs, taken off their nodes, can be put back so that the goal is reached."""
        ground = self.ground
        rooms = list(ground.rooms)
        empty = [has > 0 and not pinned for has, pinned in zip(self.gpus, ground.pinned, strict=True)]
        for place, mover in enumerate(ground.movers):
            if place not in chosen:
                for s, gpus in mover.held.items():
                    rooms[s] = minus(rooms[s], times(mover.unit, max(gpus, 1)))
                    empty[s] = False
        nodes = tuple(zip(rooms, empty, strict=True))
        guests = [] if ground.guest is None else [ground.guest]
        self.moving = [*guests, *sorted((ground.movers[place] for place in chosen), key=lambda m: -m.gpus)]
        self.dead = set()
        return self._placed(0, nodes)

    def _placed(self, place: int, nodes: tuple[Node, ...]) -> bool:
        ground = self.ground
        if ground.guest is None and sum(empty for _, empty in nodes) < ground.wanted:
            return False
        if place == len(self.moving):
            return True
        mover = self.moving[place]
        limit = ground.wanted if mover is ground.guest else len(mover.held)
        key = (place, tuple(sorted(nodes)))
        if key in self.dead:
            return False
        for after in self._splits(key[1], mover, mover.gpus, limit, ()):
            if self._placed(place + 1, after):
                return True
        self.dead.add(key)
        return False

    def _splits(
        self, nodes: tuple[Node, ...], mover: Mover, missing: int, limit: int, done: tuple[Node, ...]
    ) -> Iterator[tuple[Node, ...]]:
        """Yield the nodes after every way to put a job on at most so many of them; a job without GPUs takes one."""
        self._step()
        if missing == 0 and (mover.gpus or limit == 0):
            yield (*done, *nodes)
            return
        if not nodes or limit == 0:
            return
        room, others = nodes[0], nodes[1:]
        yield from self._splits(others, mover, missing, limit, (*done, room))
        shares = (mover.gpus,) if limit == 1 and missing == mover.gpus else range(1, missing + 1)
        for gpus in shares:
            rest = minus(room[0], times(mover.unit, max(gpus, 1)))
            if min(rest) < 0:
                break
            yield from self._splits(others, mover, missing - gpus, limit - 1, (*done, (rest, False)))

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OutOfStepsError
