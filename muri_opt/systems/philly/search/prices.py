"""What is weighed against what, prices that split a round into its nodes, and the part of a bound that is no node's.

Lagrangian relaxation of the rows ``once`` and ``quota`` of the chapter *placement*: the bound is what these pay, plus
what fixed jobs are worth, plus the best of every node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.systems.philly.search.gang_classes import NO_QUOTA, GangClasses, quota_tenant
from muri_opt.systems.philly.search.node_classes import Rooms

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a GPU within a quota adds, what a GPU that is not preempted keeps, and how much all other worth counts."""

    quota: int
    kept: int
    worth: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prices:
    """What each GPU of a kind of gangs pays for having a place, and what a tenant's GPU within its quota is worth."""

    once: Floats
    quota: Floats

    def plus(self, other: Prices, times: float) -> Prices:
        """Return these prices and so many times the others."""
        return Prices(once=self.once + times * other.once, quota=self.quota + times * other.quota)

    def between(self, other: Prices, share: float) -> Prices:
        """Return prices of which a share is this one's, and the rest the other's."""
        rest = 1 - share
        return Prices(once=share * self.once + rest * other.once, quota=share * self.quota + rest * other.quota)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """All that is decided about: kinds of gangs, classes of nodes, quotas, and what is fixed.

    ``fixed[v]`` are the GPUs of tenant v that stay whatever is decided, the last entry those without a quota, and
    ``fixed_worth`` what they are worth. All removable jobs have ``removable`` GPUs; to restart all costs ``cost``.
    """

    asks: GangClasses
    rooms: Rooms
    quota: Ints
    limited: NDArray[np.bool_]
    fixed: Ints
    fixed_worth: int
    removable: int
    cost: int

    @classmethod
    def of(cls, round_: Round, status: JobStatus) -> Ground:
        """Return the ground of a round."""
        amounts = round_.amounts
        asks = GangClasses.of(round_, status)
        rooms = Rooms.of(round_, status, asks)
        fixed = np.zeros(len(amounts.U) + 1, dtype=np.int64)
        np.add.at(fixed, quota_tenant(round_)[status.fixed], amounts.g[status.fixed])
        np.add.at(fixed, rooms.stayers.tenant, rooms.stayers.units)
        gone = status.running & ~status.fixed
        kept = int((rooms.stayers.worth * rooms.stayers.units).sum())
        limited = amounts.U < UNLIMITED
        return cls(
            asks=asks,
            rooms=rooms,
            quota=np.where(limited, amounts.U, 0),
            limited=limited,
            fixed=fixed,
            fixed_worth=int(status.values.kept[status.fixed].sum()) + kept,
            removable=int(amounts.g[gone].sum()) - int(rooms.stayers.units.sum()),
            cost=int(status.values.restart[gone].sum()),
        )

    def premium(self, weights: Weights, prices: Prices, tenant: Ints) -> Floats:
        """Return what a GPU of a tenant adds for its quota at these prices."""
        every: Floats = np.append(prices.quota, float(weights.quota))[tenant]
        return every

    def apart_from_nodes(self, weights: Weights, prices: Prices) -> float:
        """Return the part of the bound that does not depend on what nodes can hold."""
        asks = self.asks
        unused = float(((weights.quota - prices.quota) * self.quota)[self.limited].sum())
        stays = float(self.fixed[NO_QUOTA]) * weights.quota + float(self.fixed[:-1] @ prices.quota)
        gone = weights.kept * self.removable + weights.worth * self.cost
        return unused + stays + weights.worth * self.fixed_worth - gone + float((asks.count * asks.g) @ prices.once)
