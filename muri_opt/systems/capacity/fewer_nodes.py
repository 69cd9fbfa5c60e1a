"""Shares that are placed anew on as few nodes as can be found: best fit leaves some on two that would fit on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.systems.capacity.held_parts import Parts, held_parts
from muri_opt.systems.capacity.shares import flat

Share = tuple[int, int, int]
"""GPUs, with the milli-CPUs and MiB of each of them."""
Room = tuple[int, int, int]
"""What is free on a node: GPUs, milli-CPUs and MiB."""
MOST_SHARES: Final = 200
"""Shares beyond which none is looked for."""
MOST_LOOKS: Final = 20_000
"""Pairs of a share and a node that are looked at before what is known is taken."""


def with_fewer_nodes(round_: Round, placed: Mapping[int, Parts]) -> dict[int, Parts]:
    """Return nodes and GPUs of jobs, those that do not stay where they are on fewer nodes if that is found.

    >>> with_fewer_nodes(shipped_round("toy/three-elastic"), {0: [(0, 2)], 1: [(0, 2)]})
    {0: [(0, 2)], 1: [(0, 2)]}
    """
    held = held_parts(round_)
    moved = [job for job, parts in placed.items() if held[job] is None or sorted(parts) != held[job]]
    if all(len(placed[job]) == 1 for job in moved):
        return dict(placed)
    amounts = round_.amounts
    left = np.array([amounts.G, amounts.C, amounts.M])
    kept = sorted(placed.keys() - {*moved})
    place, node, gpus = flat(placed[job] for job in kept)
    needs = (need[np.array(kept, dtype=np.int64)][place] for need in (amounts.c, amounts.m))
    for row, taken in zip(left, (gpus, *(gpus * need for need in needs)), strict=True):
        np.subtract.at(row, node, taken)
    shares = [(sum(n for _, n in placed[job]), int(amounts.c[job]), int(amounts.m[job])) for job in moved]
    rooms = [(has[0], has[1], has[2]) for has in left.T.tolist()]
    found = on_fewer_nodes(rooms, shares, [placed[job] for job in moved])
    return {**placed, **dict(zip(moved, found, strict=True))}


def on_fewer_nodes(rooms: Sequence[Room], shares: Sequence[Share], known: Sequence[Parts]) -> list[Parts]:
    """Return parts of all shares in these rooms, on fewer nodes in all than those that are known if such are found.

    A search through the nodes that hold a share whole, the largest share first; one that none holds stays where it is
    known to be. It ends after a number of looks, whatever the machine.

    >>> on_fewer_nodes([(6, 0, 0), (4, 0, 0)], [(3, 0, 0), (3, 0, 0), (2, 0, 0), (2, 0, 0)], [
    ...     [(1, 3)], [(0, 3)], [(0, 2)], [(0, 1), (1, 1)]])
    [[(0, 3)], [(0, 3)], [(1, 2)], [(1, 2)]]
    """
    left = [[*room] for room in rooms]
    split = [share for share, parts in enumerate(known) if len(parts) > 1]
    too_large = {share for share in split if not any(_holds(room, shares[share]) for room in left)}
    whole = [share for share in range(len(known)) if share not in too_large]
    if len(too_large) == len(split) or len(whole) * len(rooms) > MOST_LOOKS or len(whole) > MOST_SHARES:
        return [*known]
    for share in too_large:
        for node, gpus in known[share]:
            _take(left[node], shares[share], gpus)
    order = sorted(whole, key=lambda share: (-shares[share][0], share))
    found = _Search(left, [shares[share] for share in order]).run()
    if found is None:
        return [*known]
    after = [*known]
    for share, node in zip(order, found, strict=True):
        after[share] = [(node, shares[share][0])]
    return after


class _Search:
    """One node for each share, depth first, the tightest node first; nodes with the same left are tried once."""

    def __init__(self, left: list[list[int]], shares: Sequence[Share]) -> None:
        self._left, self._shares = left, shares
        self._nodes: list[int] = []
        self._looks = 0

    def run(self) -> list[int] | None:
        """Return the node of each share, or ``None`` where no way was found."""
        return self._nodes if self._place(0) else None

    def _place(self, place: int) -> bool:
        if place == len(self._shares):
            return True
        share = self._shares[place]
        self._looks += len(self._left)
        if self._looks > MOST_LOOKS:
            return False
        able = {tuple(room): node for node, room in reversed([*enumerate(self._left)]) if _holds(room, share)}
        for room, node in sorted(able.items()):
            _take(self._left[node], share, share[0])
            self._nodes.append(node)
            if self._place(place + 1):
                return True
            self._nodes.pop()
            self._left[node][:] = room
        return False


def _holds(room: Sequence[int], share: Share) -> bool:
    gpus, cpus, memory = share
    return gpus <= room[0] and gpus * cpus <= room[1] and gpus * memory <= room[2]


def _take(room: list[int], share: Share, gpus: int) -> None:
    room[0] -= gpus
    room[1] -= gpus * share[1]
    room[2] -= gpus * share[2]
