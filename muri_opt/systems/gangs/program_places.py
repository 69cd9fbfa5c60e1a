"""The places of the chapter *gangs*: nodes, with those that only count GPUs merged into one pool."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints
from muri_opt.systems.capacity import Leftover, best_fit
from muri_opt.systems.capacity.staying import staying_jobs
from muri_opt.systems.orders import TiresiasOrder, priority_order


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenPart:
    """What is decided: the jobs in order but those that stay where they are, and the amounts that those leave."""

    order: Ints
    stays: dict[int, Ints]
    amounts: Amounts

    @classmethod
    def of(cls, round_: Round, by: str | TiresiasOrder, *, preempt: bool) -> OpenPart:
        """Return the part of a round that is open; with ``preempt`` that is all of it."""
        order, amounts = priority_order(round_, by), round_.amounts
        stays = {} if preempt else staying_jobs(round_, order)
        if stays:
            left = Leftover.beside(round_, stays)
            amounts = replace(
                amounts,
                G=left.gpus,
                C=_left_of(amounts.C, left.cpus),
                M=_left_of(amounts.M, left.memory),
                U=_left_of(amounts.U, left.quota),
            )
        line = np.array([job for job in order if job not in stays], dtype=np.int64)
        return cls(order=line, stays=stays, amounts=amounts)

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Which jobs are open and could run if no other open one did."""
        fits = fits_alone(self.amounts)
        fits[list(self.stays)] = False
        return fits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """Capacities of the places, the (job, place) pairs that can occur, and which place each node belongs to.

    ``fits[j]`` is false for a job that could not run even alone: larger than the cluster or its tenant's quota.

    A node whose CPUs and memory can never bind (they cover its GPUs for the neediest job) only counts GPUs. A gang that
    may spread over any nodes cannot tell such nodes apart, so all of them are one place.
    """

    of_node: Ints
    G: Ints
    C: Ints
    M: Ints
    pairs: Ints
    most: Ints
    fits: NDArray[np.bool_]

    @classmethod
    def of(cls, amounts: Amounts, *, pool: bool, whole: bool = False, fits: NDArray[np.bool_] | None = None) -> Places:
        """Return the places of a round; ``pool`` merges the nodes that only count GPUs.

        ``fits`` says which jobs have columns, by default those that could run alone. ``whole`` keeps a gang that fits
        on one node off the nodes that hold only a part of it.
        """
        C = np.where(amounts.G * amounts.c.max(initial=0) <= amounts.C, UNLIMITED, amounts.C)
        M = np.where(amounts.G * amounts.m.max(initial=0) <= amounts.M, UNLIMITED, amounts.M)
        alike = (C == UNLIMITED) & (M == UNLIMITED) & pool
        of_node = np.cumsum(~alike) - 1 + bool(alike.any())
        of_node[alike] = 0
        size = int(of_node.max(initial=-1)) + 1
        G = np.bincount(of_node, weights=amounts.G, minlength=size).astype(np.int64)
        first = np.zeros(size, dtype=np.int64)
        first[of_node[::-1]] = np.arange(len(of_node))[::-1]
        C, M = C[first], M[first]
        room = np.minimum(amounts.g[:, None], G[None, :])
        for need, has in ((amounts.c, C), (amounts.m, M)):
            room = np.minimum(room, _covered(need, has))
        fits = fits_alone(amounts) if fits is None else fits
        possible = (room > 0) & fits[:, None]
        if whole:
            holds = room == amounts.g[:, None]
            possible &= holds | ~holds.any(axis=1, keepdims=True)
        pairs = np.argwhere(possible)
        return cls(of_node=of_node, G=G, C=C, M=M, pairs=pairs, most=room[tuple(pairs.T)], fits=fits)

    def on_nodes(self, amount: Ints, free: Ints, held: Ints | None) -> Ints:
        """Return GPUs per node for GPUs per place; a pool's share goes by best fit, first to the GPUs held now."""
        share = np.zeros(len(self.of_node), dtype=np.int64)
        for place in np.flatnonzero(amount).tolist():
            nodes = np.flatnonzero(self.of_node == place)
            part = best_fit(free[nodes], int(amount[place]), None if held is None else held[nodes])
            if part is None:
                raise ValueError(f"place {place} has fewer than {amount[place]} free GPUs")
            share[nodes] = part
        return share


def fits_alone(amounts: Amounts) -> NDArray[np.bool_]:
    """Return which jobs could run if nothing else did; equal nodes are looked at once."""
    kinds, nodes = np.unique(np.column_stack([amounts.G, amounts.C, amounts.M]), axis=0, return_counts=True)
    room = np.minimum(np.minimum(kinds[:, 0], _covered(amounts.c, kinds[:, 1])), _covered(amounts.m, kinds[:, 2]))
    quota = np.append(amounts.U, UNLIMITED)[amounts.tenant]  # tenant -1, none listed, is the last: no limit
    fits: NDArray[np.bool_] = (room @ nodes >= amounts.g) & (amounts.g <= quota)
    return fits


def _left_of(has: Ints, left: Ints) -> Ints:
    """Return what is left of limits, nothing where more is in use; no limit stays none."""
    return np.where(has == UNLIMITED, UNLIMITED, np.maximum(left, 0))


def _covered(need: Ints, has: Ints) -> Ints:
    """Return for every job and node how many GPUs an amount is enough for; who needs nothing is always covered."""
    return np.where(need[:, None] > 0, has[None, :] // np.maximum(need, 1)[:, None], UNLIMITED)
