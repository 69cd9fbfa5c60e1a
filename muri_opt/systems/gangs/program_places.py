"""The places of the chapter *gangs*: nodes, with those that only count GPUs merged into one pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints
from muri_opt.systems.capacity import Leftover, best_fit, held_gpus
from muri_opt.systems.capacity.node_sets import Demand, NodeSets, node_sets
from muri_opt.systems.capacity.shaped_fit import fit_in_sets
from muri_opt.systems.capacity.staying import pinned_jobs, staying_jobs
from muri_opt.systems.orders import TiresiasOrder, priority_order


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenPart:
    """What is decided: the jobs in order but those that stay where they are, and the amounts that those leave.

    ``held`` has the open jobs that run now, with their GPUs per node; of them, ``must`` go on, here or there. ``sets``
    says where jobs may start, ``None`` if anywhere.
    """

    order: Ints
    stays: dict[int, Ints]
    amounts: Amounts
    sets: NodeSets | None
    held: dict[int, Ints]
    must: Ints

    @classmethod
    def of(cls, round_: Round, by: str | TiresiasOrder, *, preempt: bool) -> OpenPart:
        """Return the part of a round that is open; with ``preempt`` that is all of it."""
        order, amounts, sets = priority_order(round_, by), round_.amounts, node_sets(round_)
        stays = pinned_jobs(round_, movable=False) if preempt else staying_jobs(round_, order)
        if stays:
            left = Leftover.beside(round_, stays)
            amounts = replace(
                amounts,
                G=left.gpus,
                C=_left_of(amounts.C, left.cpus),
                M=_left_of(amounts.M, left.memory),
                U=_left_of(amounts.U, left.quota),
            )
        must = np.array([job for job in pinned_jobs(round_) if job not in stays], dtype=np.int64)
        held: dict[int, Ints] = {}
        if sets is not None:
            down = np.array([node.state == "down" for node in round_.cluster.nodes], dtype=np.bool_)
            amounts = replace(amounts, G=np.where(down, 0, amounts.G), U=_for_all(must, amounts))
            running = {job: now for job in order if (now := held_gpus(round_, job)) is not None}
            held = {job: now for job, now in running.items() if job not in stays and now.sum() == amounts.g[job]}
        line = np.array([job for job in order if job not in stays], dtype=np.int64)
        return cls(order=line, stays=stays, amounts=amounts, sets=sets, held=held, must=must)

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Which jobs are open and could run if no other open one did."""
        fits = fits_alone(self.amounts)
        if self.sets is not None:
            fits &= self._fit_in_sets(self.sets)
        fits[list(self.stays)] = False
        return fits

    @property
    def shaped(self) -> bool:
        """Whether it matters to some job on how many nodes it is."""
        return self.sets is not None and any(demand.shaped for demand in self.sets.demands)

    @property
    def scale(self) -> int:
        """How often all else counts beside the open jobs inside a unit that they prefer: once more than there are."""
        wishes = {} if self.sets is None else self.sets.wishes
        return 1 + len([job for job in wishes if job not in self.stays])

    def inside(self, shares: Mapping[int, Ints]) -> int:
        """Return how many of the jobs with GPUs per node are inside a unit that they prefer."""
        if self.sets is None:
            return 0
        return sum(self.sets.is_inside(job, share) for job, share in shares.items() if job in self.sets.wishes)

    def demands(self, some: NDArray[np.bool_]) -> Iterator[tuple[int, Demand]]:
        """Yield some of the jobs with what they ask of nodes; nobody where all may start anywhere."""
        if self.sets is not None:
            for job in np.flatnonzero(some).tolist():
                yield job, self.sets.of(job)

    def _fit_in_sets(self, sets: NodeSets) -> NDArray[np.bool_]:
        """Return which jobs could go on where they are, or start inside one of their sets of nodes."""
        amounts, known = self.amounts, dict[tuple[int, ...], bool]()
        asked = np.column_stack([amounts.g, amounts.c, amounts.m, sets.kind]).tolist()
        fits = np.zeros(len(asked), dtype=np.bool_)
        for job, key in enumerate(map(tuple, asked)):
            room = amounts.most_gpus([job], amounts.G, amounts.C, amounts.M)
            if key not in known:
                known[key] = fit_in_sets(room, key[0], sets.of(job)) is not None
            now = self.held.get(job)
            fits[job] = known[key] or (now is not None and bool((now <= room).all()))
        return fits

    def only_at_home(self, limit: Ints) -> tuple[Ints, Ints]:
        """Return the jobs that may go on where they are but not start there, and their GPUs per node.

        ``limit`` are the nodes on which each may be at most, unless it must go on.
        """
        found = []
        for job, demand in self.demands(self.fits) if self.held else ():
            used = np.flatnonzero(self.held.get(job, 0))
            starts = not demand.shaped and any(np.isin(used, some).all() for some in demand.sets)
            few = len(used) <= limit[job]
            if len(used) and not (starts and few) and (few or job in self.must):
                found.append(job)
        return self._with_homes(found)

    def all_homes(self, able: NDArray[np.bool_], limit: Ints) -> tuple[Ints, Ints]:
        """Return all jobs among those ``able`` that may go on where they are, and their GPUs per node."""
        return self._with_homes(
            job
            for job, now in sorted(self.held.items())
            if able[job] and (np.count_nonzero(now) <= limit[job] or job in self.must)
        )

    def _with_homes(self, jobs: Iterable[int]) -> tuple[Ints, Ints]:
        found = list(jobs)
        homes = np.array([self.held[job] for job in found], dtype=np.int64)
        return _ints(found), homes.reshape(len(found), len(self.amounts.G))


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
    def of(
        cls,
        amounts: Amounts,
        *,
        pool: bool,
        whole: bool = False,
        fits: NDArray[np.bool_] | None = None,
        sets: NodeSets | None = None,
    ) -> Places:
        """Return the places of a round; ``pool`` merges the nodes that only count GPUs and are the same to all jobs.

        ``fits`` says which jobs have columns, by default those that could run alone. ``whole`` keeps a gang that fits
        on one node off the nodes that hold only a part of it. ``sets`` says where jobs may start.
        """
        C = np.where(amounts.G * amounts.c.max(initial=0) <= amounts.C, UNLIMITED, amounts.C)
        M = np.where(amounts.G * amounts.m.max(initial=0) <= amounts.M, UNLIMITED, amounts.M)
        alike = (C == UNLIMITED) & (M == UNLIMITED) & pool
        looks = (
            np.unique(sets.look[alike], return_inverse=True)[1]
            if sets is not None
            else np.zeros(int(alike.sum()), dtype=np.int64)
        )
        of_node = np.cumsum(~alike) + looks.max(initial=-1)
        of_node[alike] = looks
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
        if sets is not None:
            possible &= sets.may_start()[:, first]
        if whole:
            holds = (room == amounts.g[:, None]) & possible
            spread = np.zeros(len(room), dtype=np.bool_) if sets is None else sets.are_spread()
            possible &= holds | ~holds.any(axis=1, keepdims=True) | spread[:, None]
        pairs = np.argwhere(possible)
        return cls(of_node=of_node, G=G, C=C, M=M, pairs=pairs, most=room[tuple(pairs.T)], fits=fits)

    def of_places(self, shares: Ints) -> Ints:
        """Return GPUs per place for rows of GPUs per node."""
        found = np.zeros((len(shares), len(self.G)), dtype=np.int64)
        if len(shares):
            np.add.at(found.T, self.of_node, shares.T)
        return found

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
    least = amounts.U if amounts.lines is None else _ints([amounts.U[list(line)].min() for line in amounts.lines])
    quota = np.append(least, UNLIMITED)[amounts.tenant]  # tenant -1, none listed, is the last: no limit
    fits: NDArray[np.bool_] = (room @ nodes >= amounts.g) & (amounts.g <= quota)
    return fits


def _for_all(must: Ints, amounts: Amounts) -> Ints:
    """Return the quotas, each large enough for the jobs that must go on."""
    needed = np.zeros_like(amounts.U)
    for job in must.tolist():
        for tenant in amounts.line(int(amounts.tenant[job])):
            needed[tenant] += amounts.g[job]
    return np.maximum(amounts.U, needed)


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)


def _left_of(has: Ints, left: Ints) -> Ints:
    """Return what is left of limits, nothing where more is in use; no limit stays none."""
    return np.where(has == UNLIMITED, UNLIMITED, np.maximum(left, 0))


def _covered(need: Ints, has: Ints) -> Ints:
    """Return for every job and node how many GPUs an amount is enough for; who needs nothing is always covered."""
    return np.where(need[:, None] > 0, has[None, :] // np.maximum(need, 1)[:, None], UNLIMITED)
