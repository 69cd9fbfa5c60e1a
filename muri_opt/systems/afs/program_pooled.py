"""Chapter *sharing* where shares may be anywhere: only GPUs, CPUs, memory and quotas are counted.

Letters as in the chapter: jobs j, GPU counts k a job may have; x_jk whether job j runs with k GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder, Values
from muri_opt.rounds import Decision, LinearDuals, Round
from muri_opt.systems.afs.decision import pooled_decision
from muri_opt.systems.afs.node_sizes import share_sizes
from muri_opt.systems.afs.present_shares import PresentShares
from muri_opt.systems.afs.program_columns import ShareTable
from muri_opt.systems.afs.program_dp import best_shares
from muri_opt.systems.afs.share_values import ShareValues
from muri_opt.systems.capacity import place_parts
from muri_opt.systems.capacity.fewer_nodes import with_fewer_nodes
from muri_opt.systems.curves import Curves
from muri_opt.systems.pooled_limits import Uses, add_limits, row_prices, whole_prices
from muri_opt.systems.program import Formulation

LARGEST_PRODUCT = 1 << 62
_STEPS = 4
"""Steps of the search for a price after which shares are left out that no job buys any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledSharing(Formulation):
    """Give every elastic job one number of GPUs, or none, so that the values add up to the most."""

    objective: str
    packing: str
    horizon: int | None

    chapter: ClassVar[str] = "sharing"
    has_direct: ClassVar[bool] = True

    def build(self, round_: Round) -> Model:
        """Return the program: at most one share per job, shares within the GPUs, CPUs, memory and quotas."""
        table, amounts = self._table(round_), round_.amounts
        builder = ModelBuilder("sharing")
        x = builder.add_columns("x", np.column_stack([table.jobs, table.gpus]))
        jobs = np.arange(len(round_.jobs))
        builder.add_rows("once", jobs, entries=(table.jobs, x, np.ones_like(x)), sense="<=", rhs=1)
        uses = Uses(
            columns=x,
            cpus=amounts.c[table.jobs] * table.gpus,
            memory=amounts.m[table.jobs] * table.gpus,
            tenant=amounts.tenant[table.jobs],
            held=table.gpus,
        )
        add_limits(builder, round_, x, table.gpus, uses)
        return builder.finish(maximise=True, columns=x, coefficients=table.value)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: the shares placed, each cut to the next smaller one where a node is in the way."""
        table = self._table(round_)
        shares = np.zeros(len(round_.jobs), dtype=np.int64)
        taken = np.flatnonzero(values)
        shares[table.jobs[taken]] = table.gpus[taken]
        sizes = share_sizes(round_.cluster, self.packing)
        worth = None
        if self.horizon is not None:
            each = ShareValues.of(round_, self.objective, self.packing, self.horizon)
            worth = partial(each.of_placed, PresentShares.of(round_))
        placed = place_parts(round_, shares, sizes, by_node=self.packing == "node", worth=worth)
        if self.packing == "any":
            placed = with_fewer_nodes(round_, placed)
        return pooled_decision(round_, Curves.of(round_.jobs, round_.cluster.total_gpus), placed)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the columns of a decision: 1 for the share of every running job."""
        table = self._table(round_)
        shares = np.zeros(len(round_.jobs), dtype=np.int64)
        for assignment in decision.assignments:
            shares[round_.job_index[assignment.jobs[0]]] = sum(assignment.gpus.values())
        return np.asarray(shares[table.jobs] == table.gpus, dtype=np.int64)

    def direct(self, round_: Round) -> Ints | None:
        """Return the best columns by dynamic programming, CPUs and memory left aside; ``None`` for large rounds."""
        return best_shares(round_, self._table(round_))

    @property
    def has_duals(self) -> bool:
        """The linear relaxation has prices for everything that is limited."""
        return True

    def quick_duals(self, round_: Round) -> LinearDuals | None:
        """Return the price of a GPU at which the bound from GPUs alone is least, by bisection.

        At price p the bound is the sum over jobs of max_k (e_jk - k p, 0), plus p for every GPU: convex in p, and it
        falls as long as the jobs would buy more GPUs than there are. ``None`` where numbers are too large for that.
        """
        table, total = self._table(round_), round_.cluster.total_gpus
        if int(table.value.max(initial=0)) * max(1, total) >= LARGEST_PRODUCT:
            return None
        return LinearDuals(denominator=1, multipliers={"gpus": (_price(table, total),)})

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals:
        """Return the prices of GPUs, CPUs, memory and quotas from the duals of the linear relaxation."""
        prices = row_prices(round_, model, np.maximum(0.0, row_duals))
        return whole_prices({label: price for label, price in prices.items() if label != "once"}, always=("gpus",))

    def _table(self, round_: Round) -> ShareTable:
        return ShareTable.of(round_, self.objective, self.packing, self.horizon)


def _price(table: ShareTable, total: int) -> int:
    """Return the least price, of at least 1, at which jobs buy no more GPUs than there are; 0 if they do for nothing.

    No job buys more at a higher price. So what a job buys between two prices is one of the shares from what it buys at
    the higher one to what it buys at the lower one, and the others are left out from time to time.
    """
    job, gpus, value = table.jobs, table.gpus, table.value
    count = int(job.max(initial=-1)) + 1
    free = _bought(count, job, gpus, value, 0)
    if free.sum() <= total:
        return 0
    low, high, least, most = 0, 1 + int(value.max(initial=0)), np.zeros(count, dtype=np.int64), free
    steps = 0
    while high - low > 1:
        price, steps = (low + high) // 2, steps + 1
        bought = _bought(count, job, gpus, value, price)
        if bought.sum() > total:
            low, most = price, bought
        else:
            high, least = price, bought
        if steps % _STEPS == 0:
            near = (gpus >= least[job]) & (gpus <= most[job])
            job, gpus, value = job[near], gpus[near], value[near]
    return high


def _bought(count: int, job: Ints, gpus: Ints, value: Ints, price: int) -> Ints:
    """Return how many GPUs each job would buy of these shares at a price, the fewest of what is equally good."""
    found, gain = np.zeros(count, dtype=np.int64), value - price * gpus
    if len(gain):
        start = np.flatnonzero(np.diff(job, prepend=-1))
        best = np.repeat(np.maximum.reduceat(gain, start), np.diff(start, append=len(gain)))
        rows = np.flatnonzero((gain == best) & (gain > 0))[::-1]  # the last written, the fewest GPUs, stays
        found[job[rows]] = gpus[rows]
    return found
