"""The same choice with the cluster as one large node: a knapsack, whose multipliers are a first idea of the prices.

The aggregated relaxation: rows ``gpus``, ``cpus`` and ``memory`` of all nodes added up, which leaves a multiple-choice
knapsack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.algorithms.knapsack import Options, lagrangian
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.quota_lines import limited_lines

_NODES = -1
_MOST_KINDS = 40
"""Sets of nodes that are resources of their own; those of GPU types come first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterKnapsack:
    """The options of a round under the capacities of the cluster; resource r is the quota of ``tenant[r]``, if any."""

    options: Options
    tenant: tuple[int, ...]

    @classmethod
    def of(cls, round_: Round, options: PlanOptions) -> ClusterKnapsack:
        """Return the options under GPUs, CPUs and memory of all nodes, of the nodes of each GPU type, and quotas.

        CPUs or memory count where every such node has a limit. Single nodes are left aside, so that a bound of these
        options bounds the round. An option for any GPU type
        counts against all nodes only, one for a type, or for what its job asks for, against those nodes as well. A
        resource that another implies is left out.
        """
        amounts, lines, totals = round_.amounts, limited_lines(round_.amounts), options.totals
        use: list[Ints] = []
        capacity: list[int] = []
        tenant: list[int] = []
        for kind, hosts in enumerate(options.hosts[:_MOST_KINDS]):
            inside = (hosts | ~options.hosts).all(axis=1)
            inside[0] = kind == 0
            here = inside[options.kind]
            for total, has in zip(totals, (amounts.G, amounts.C, amounts.M), strict=True):
                if (has[hosts] < UNLIMITED).all():
                    use.append(np.where(here, total, 0))
                    capacity.append(int(has[hosts].sum()))
                    tenant.append(_NODES)
        owner = np.where(options.guaranteed, amounts.tenant, -1)[options.job]
        for which in np.flatnonzero(amounts.U < UNLIMITED).tolist():
            below = np.array([which in line for line in (*lines, ())], dtype=np.bool_)  # the last is no tenant, -1
            use.append(np.where(below[owner], amounts.g[options.job], 0))
            capacity.append(int(amounts.U[which]))
            tenant.append(which)
        uses = np.array(use, dtype=np.int64).reshape(len(use), len(options)).T
        every = Options.of(options.job, options.e, uses, capacity, jobs=len(round_.jobs))
        kept = every.binding()
        return cls(options=every.under(kept), tenant=tuple(tenant[r] for r in kept))


def cluster_prices(round_: Round, options: PlanOptions, *, sampled: bool = False) -> LinearDuals:
    """Return a price per job for running and per tenant for its quota, found without a solver, or from a sample.

    A job's price is what its best option is worth beyond what it takes, at the multipliers of the cluster as a whole:
    then no node earns more than its own GPUs, CPUs and memory cost.
    """
    knapsack = ClusterKnapsack.of(round_, options)
    some = knapsack.options.worthwhile()
    found = lagrangian(knapsack.options.only(some), sampled=sampled)
    quota = [0] * len(round_.amounts.U)
    for which, price in zip(knapsack.tenant, found.prices, strict=True):
        if which != _NODES:
            quota[which] = price
    multipliers = {"once": tuple(found.idle.tolist()), "quota": tuple(quota)}
    return LinearDuals(denominator=found.denominator, multipliers=multipliers)
