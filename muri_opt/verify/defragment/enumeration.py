"""Is there any cheaper set of moves? Gone through one by one, as far as a bounded number of steps allows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muri_opt.verify.amounts import Sizes, held_by, minus, times
from muri_opt.verify.defragment.dual_bound import Ground, Mover
from muri_opt.verify.enumeration import Steps, best_of, splits

_STEPS = 12_000

Node = tuple[Sizes, bool, int]
"""What is left of a node, whether it has GPUs and holds no job, and what tells it from others to jobs that ask."""


class _State(NamedTuple):
    """The nodes with the jobs that stay and those that were put back, and who is off its nodes."""

    nodes: tuple[Node, ...]
    moving: frozenset[int] = frozenset()


def cheaper_cost(ground: Ground, gpus: Sequence[int], below: int, *, steps: int = _STEPS) -> int | None:
    """Return the cost of some plan below a cost, ``None`` if there is none; too many steps are an error.

    ``gpus`` are those of the empty nodes.
    """
    empty = [has > 0 and not pinned for has, pinned in zip(gpus, ground.pinned, strict=True)]
    start = _State(tuple(zip(ground.rooms, empty, _marks(ground), strict=True)))
    found = best_of(_Moves(ground=ground, steps=Steps(steps)), start, above=-below, first=True)
    return None if found is None else -found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moves:
    """First who moves, job by job; then the guest is placed, and those that move, the largest first."""

    ground: Ground
    steps: Steps

    def decided(self, job: int, state: _State) -> bool:
        return job > len(self.ground.movers) and not state.moving

    def outcomes(self, job: int, state: _State) -> Iterator[tuple[int, _State]]:
        """Yield what leaves enough nodes empty."""
        for more, after in self._decided(job, state):
            if self.end(after) is not None:
                yield more, after

    def _decided(self, job: int, state: _State) -> Iterator[tuple[int, _State]]:
        ground = self.ground
        if job < len(ground.movers):
            mover = ground.movers[job]
            yield 0, _State(_put(state.nodes, mover, mover.held), state.moving)
            yield -ground.cost(mover), _State(state.nodes, state.moving | {job})
        elif job == len(ground.movers):
            yield from self._placed(ground.guest, ground.wanted, state)
        else:
            largest = max(state.moving, key=lambda place: ground.movers[place].gpus)
            mover = ground.movers[largest]
            yield from self._placed(mover, len(mover.held), _State(state.nodes, state.moving - {largest}))

    def _placed(self, mover: Mover | None, limit: int, state: _State) -> Iterator[tuple[int, _State]]:
        """Yield every way to put a job on at most so many nodes; one without GPUs takes one, nobody takes none."""
        if mover is None or limit == 0:
            yield 0, state
            return
        parts = max(mover.gpus, 1)
        holds = [held_by(room, mover.unit, parts) for room, _, _ in state.nodes]
        for part in [None] if mover.parts is None else mover.parts:
            inside = [most if part is None or node in part else 0 for node, most in enumerate(holds)]
            for share in splits(inside, state.nodes, parts, nodes=limit, steps=self.steps):
                yield 0, _State(_put(state.nodes, mover, share), state.moving)

    def key(self, job: int, state: _State) -> Hashable:
        if job < len(self.ground.movers):
            return state.moving
        moving = [self.ground.movers[place] for place in state.moving]
        alike = [(mover.unit, mover.gpus, len(mover.held), _text(mover.parts)) for mover in moving]
        return (*sorted(alike), *sorted(state.nodes))

    def most(self, job: int, state: _State) -> int:
        return 0

    def end(self, state: _State) -> int | None:
        reached = self.ground.guest is not None or sum(empty for _, empty, _ in state.nodes) >= self.ground.wanted
        return 0 if reached else None


def _put(nodes: Sequence[Node], mover: Mover, share: Mapping[int, int]) -> tuple[Node, ...]:
    """Return the nodes after a job was put on some of them."""
    left = list(nodes)
    for node, gpus in share.items():
        left[node] = (minus(left[node][0], times(mover.unit, max(gpus, 1))), False, left[node][2])
    return tuple(left)


def _marks(ground: Ground) -> list[int]:
    """Return a number for each node: equal for those that are in the same parts of all jobs."""
    jobs = (*ground.movers, *([] if ground.guest is None else [ground.guest]))
    parts = {part for mover in jobs for part in mover.parts or ()}
    known: dict[frozenset[frozenset[int]], int] = {}
    inside = (frozenset(part for part in parts if node in part) for node in range(len(ground.rooms)))
    return [known.setdefault(each, len(known)) for each in inside]


def _text(parts: tuple[frozenset[int], ...] | None) -> str:
    return "" if parts is None else repr(sorted(map(sorted, parts)))
