"""The places of the chapter *deadline*: nodes, those that only count GPUs merged, and who may have GPUs of which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.deadline.choices import Choices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """What places have, which of them each node is in, and the (job, place) ``pairs`` with the ``most`` GPUs of each.

    Nodes whose CPUs and memory cannot run short, and that are the same to all jobs, are one place. ``sets`` are the
    (job, set) of jobs that may start in one of several sets of nodes, ``in_set`` the one that each pair is in, or -1.
    """

    of_node: Ints
    G: Ints
    C: Ints
    M: Ints
    pairs: Ints
    most: Ints
    sets: Ints
    in_set: Ints

    @classmethod
    def of(cls, round_: Round, choices: Choices) -> Places:
        """Return the places of a round."""
        amounts = round_.amounts
        scarce = (amounts.G * amounts.c.max(initial=0) > amounts.C) | (amounts.G * amounts.m.max(initial=0) > amounts.M)
        held = sum(choices.held.values(), np.zeros_like(amounts.G))
        scarce |= held > amounts.G  # jobs that share GPUs now cannot all stay
        look = np.zeros_like(amounts.G) if choices.sets is None else choices.sets.look
        alone = np.where(scarce, 1 + np.arange(len(scarce)), 0)
        _, first, of_node = np.unique(np.column_stack([alone, look]), axis=0, return_index=True, return_inverse=True)
        of_node = of_node.reshape(-1)
        G = np.zeros(len(first), dtype=np.int64)
        np.add.at(G, of_node, amounts.G)
        C = np.where(scarce[first], amounts.C[first], UNLIMITED)
        M = np.where(scarce[first], amounts.M[first], UNLIMITED)
        want = np.zeros(len(round_.jobs), dtype=np.int64)
        away = ~choices.home
        np.maximum.at(want, choices.job[away], choices.gpus[away])
        room = np.minimum(want[:, None], G[None, :])
        for need, has in ((amounts.c, C), (amounts.m, M)):
            room = np.where(need[:, None] > 0, np.minimum(room, has[None, :] // np.maximum(need, 1)[:, None]), room)
        if choices.sets is not None:
            room = room * choices.sets.may_start()[:, first]
        pairs = np.argwhere(room > 0)
        sets, in_set = _sets_of(choices, pairs, of_node)
        return cls(of_node=of_node, G=G, C=C, M=M, pairs=pairs, most=room[tuple(pairs.T)], sets=sets, in_set=in_set)


def _sets_of(choices: Choices, pairs: Ints, of_node: Ints) -> tuple[Ints, Ints]:
    """Return the sets of jobs that have several, and in which of them each pair is."""
    sets: list[tuple[int, int]] = []
    in_set = np.full(len(pairs), -1)
    first = np.searchsorted(pairs[:, 0], np.arange(int(pairs[:, 0].max(initial=-1)) + 2))
    for job in np.unique(pairs[:, 0]).tolist() if choices.sets is not None else ():
        demand = choices.sets.of(job) if choices.sets is not None else None
        if demand is None or len(demand.sets) < 2:
            continue
        of_place = {int(of_node[s]): k for k, some in enumerate(demand.sets) for s in some.tolist()}
        for pair in range(first[job], first[job + 1]):
            in_set[pair] = len(sets) + of_place[int(pairs[pair, 1])]
        sets += [(job, k) for k in range(len(demand.sets))]
    return np.array(sets, dtype=np.int64).reshape(-1, 2), in_set
