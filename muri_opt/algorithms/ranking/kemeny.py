"""Kemeny's order: the least disagreement with all lists, with a proof anybody can check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from muri_opt.algorithms.ranking.borda import borda_order
from muri_opt.algorithms.ranking.cyclic_block import BlockAnswer, Means, solve_block
from muri_opt.algorithms.ranking.decomposition import components
from muri_opt.algorithms.ranking.disagreement import order_cost
from muri_opt.algorithms.ranking.insertion import improved
from muri_opt.algorithms.ranking.rankings import Rankings
from muri_opt.modelling import Ints, Relax, Solve
from muri_opt.rounds import Limits, Reason, Termination


class Block(NamedTuple):
    """Jobs that were ordered on their own, and weights over one denominator of directed triangles among them.

    >>> kemeny_order(Rankings.of([[0, 1], [0, 1]])).proof
    (Block(jobs=(0,), denominator=1, triangles={}), Block(jobs=(1,), denominator=1, triangles={}))
    """

    jobs: tuple[int, ...]
    denominator: int
    triangles: dict[tuple[int, int, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kemeny:
    """An order of all jobs, its disagreement with the lists, what no order can be below, and the proof.

    ``proof`` has blocks that together are all jobs: pairs of different blocks cost what they must, and inside a block
    its triangles bound the rest; a block of few jobs needs none, since its orders can be gone through.

    >>> found = kemeny_order(Rankings.of([[0, 1, 2], [1, 0, 2], [0, 2, 1]]))
    >>> found.value, found.bound
    (2, 2)
    """

    order: tuple[int, ...]
    value: int
    bound: int
    proof: tuple[Block, ...]
    termination: Termination


def kemeny_order(
    rankings: Rankings, solve: Solve | None = None, limits: Limits | None = None, *, relax: Relax | None = None
) -> Kemeny:
    """Return an order of least disagreement, proved, unless a limit ends the search earlier.

    ``solve`` is the ``solve`` of a backend; ``relax`` solves linear relaxations and makes large cases quick and their
    proofs checkable. Without either, blocks beyond 16 jobs get a good order and the bound of a greedy packing.

    >>> kemeny_order(Rankings.of([[0, 1, 2], [1, 0, 2], [0, 2, 1]])).order
    (0, 1, 2)
    """
    before, agreed = rankings.before, rankings.agreed
    start = improved(before, np.array(borda_order(rankings, average=True), dtype=np.int64))
    means = Means.of(solve, relax, limits or Limits())
    least = np.minimum(before, before.T)
    bound = order_cost(least, start)
    orders, proof, limits_hit, said = [], [], [], []
    for jobs in components(before, start):
        pairs = np.ix_(jobs, jobs)
        answer = solve_block(before[pairs], agreed[pairs], means)
        orders.append(jobs[answer.order])
        proof.append(_block(jobs, answer))
        bound += answer.bound - order_cost(least, jobs)
        if answer.bound < order_cost(before, orders[-1]):
            limits_hit.append(answer.limit)
        said += [f"{len(jobs)} jobs: {answer.detail}"] if len(jobs) > 1 else []
    order = np.concatenate([np.zeros(0, dtype=np.int64), *orders])
    value = order_cost(before, order)
    return Kemeny(
        order=tuple(order.tolist()),
        value=value,
        bound=bound,
        proof=tuple(proof),
        termination=Termination(
            reason=Reason.FEASIBLE if limits_hit else Reason.OPTIMAL,
            limit=limits_hit[0] if limits_hit else None,
            detail="; ".join(said) or "every majority can be followed",
        ),
    )


def _block(jobs: Ints, answer: BlockAnswer) -> Block:
    packing = answer.packing
    if packing is None:
        return Block(jobs=tuple(jobs.tolist()), denominator=1, triangles={})
    corners = map(tuple, jobs[packing.triangles].tolist())
    return Block(
        jobs=tuple(jobs.tolist()),
        denominator=packing.denominator,
        triangles=dict(zip(corners, packing.weights.tolist(), strict=True)),
    )
