"""Where elastic shares may be in a round that says more than amounts: inside a set of nodes, in a shape, or at home."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from muri_opt.rounds import INFORMATION, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.shape import NodeRange
from muri_opt.systems.afs.present_shares import PresentShares
from muri_opt.systems.capacity import Leftover, held_gpus
from muri_opt.systems.capacity.node_sets import Demand, node_sets
from muri_opt.systems.capacity.shaped_fit import fit_in_sets

Shares = dict[int, Ints]
"""GPUs per node of jobs that run."""


def counts_gpus_only(round_: Round) -> bool:
    """Return whether a share may be anywhere, no job goes before others, and no tenant is part of another."""
    return INFORMATION.issuperset(round_.used_fields)


class ShareFit:
    """The places that shares of a round's jobs may have; ``sizes`` are the GPU counts of shares, ascending.

    A share that a job has not now is inside one of the job's sets of nodes and in the shape it asks for; ``by_node``
    puts it on one node, or on as many as it fills. What runs may keep its share where it is, whatever is asked of a
    start.
    """

    def __init__(self, round_: Round, sizes: Ints, *, by_node: bool) -> None:
        self._round, self._sizes, self.by_node = round_, sizes, by_node
        self._sets = node_sets(round_)
        nodes = np.arange(len(round_.cluster.nodes))
        self._anywhere = Demand(sets=(nodes,) if len(nodes) else (), least=1, most=None, even=False)
        self._node_gpus = max(1, int(round_.amounts.G.max(initial=1)))
        self._legal: dict[tuple[int, int | None, bool], Ints] = {}

    def demand(self, job: int) -> Demand:
        """Return what a job asks of nodes."""
        return self._anywhere if self._sets is None else self._sets.of(job)

    @property
    def shaped(self) -> bool:
        """Whether it matters to some job on how many nodes its share is."""
        return self.by_node or (self._sets is not None and any(demand.shaped for demand in self._sets.demands))

    def legal(self, job: int, cap: int) -> Ints:
        """Return the GPU counts up to ``cap`` of shares with which a job may start."""
        demand = self.demand(job)
        key = demand.least, demand.most, demand.even
        if key not in self._legal:
            shape = NodeRange(least=demand.least, most=demand.most)
            able = [k for k in self._sizes.tolist() if len(shape.counts(k, even=demand.even))]
            self._legal[key] = np.array(able, dtype=np.int64) if demand.shaped else self._sizes
        found = self._legal[key]
        return found[: np.searchsorted(found, cap, side="right")]

    def home(self, job: int, cap: int) -> Ints | None:
        """Return the GPUs per node that a running job may keep, or ``None``."""
        now = held_gpus(self._round, job)
        if now is None or not 1 <= now.sum() <= cap or now.sum() not in self._sizes:
            return None
        amounts = self._round.amounts
        room = amounts.most_gpus([job], amounts.G, amounts.C, amounts.M)
        few = np.count_nonzero(now) <= self.most_nodes(int(now.sum()))
        return now if few and (now <= room).all() else None

    def most_nodes(self, gpus: int) -> int:
        """Return on how many nodes a share may be, whatever its job asks."""
        return max(1, gpus // self._node_gpus) if self.by_node else len(self._round.cluster.nodes)

    def find(self, room: Ints, job: int, gpus: int, sets: tuple[Ints, ...] | None = None) -> Ints | None:
        """Return GPUs per node for a share that starts where ``room`` is, or ``None``; inside some of its ``sets``."""
        demand = self.demand(job)
        if sets is not None:
            demand = Demand(sets=sets, least=demand.least, most=demand.most, even=demand.even)
        return fit_in_sets(room, gpus, demand, self.most_nodes(gpus) if self.by_node else None)

    def place_whole(self, shares: Mapping[int, int], first: Iterable[int]) -> Shares | None:
        """Return places of all shares, of GPUs by job; ``None`` where that is not found.

        Jobs that keep their share stay where they are, then those ``first`` are placed first.
        """
        asks = np.zeros(len(self._round.jobs), dtype=np.int64)
        asks[list(shares)] = list(shares.values())
        left, placed = Leftover(self._round, asks), Shares()
        homes = {job: now for job, gpus in shares.items() if (now := self._kept(job, gpus)) is not None}
        for job in dict.fromkeys([*homes, *first]):
            room = left.room(job)
            share = homes.get(job)
            if share is None or (share > room).any():
                share = self.find(room, job, shares[job])
            if share is None or not left.within_quota(job):
                return None
            left.take(share, job)
            placed[job] = share
        return placed

    def _kept(self, job: int, gpus: int) -> Ints | None:
        now = self.home(job, gpus)
        return now if now is not None and now.sum() == gpus else None


def homes_of(round_: Round, fit: ShareFit, cap: Ints) -> Shares | None:
    """Return GPUs per node of all jobs that run, as they are; ``None`` where one of them may not go on so.

    ``cap`` are the GPUs that each job can use.
    """
    asks, homes = np.zeros(len(round_.jobs), dtype=np.int64), Shares()
    left = Leftover(round_, asks)
    for job in np.flatnonzero(PresentShares.of(round_).held).tolist():
        home = fit.home(job, int(cap[job]))
        if home is None:
            return None
        asks[job] = home.sum()
        if (home > left.room(job)).any() or not left.within_quota(job):
            return None
        left.take(home, job)
        homes[job] = home
    return homes
