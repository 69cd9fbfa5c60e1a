"""The same choice with the cluster as one large node: a knapsack, whose multipliers are a first idea of the prices."""

from __future__ import annotations

import numpy as np

from muri_opt.instance import Round
from muri_opt.instance.amounts import UNLIMITED, Ints
from muri_opt.knapsack import Options, lagrangian
from muri_opt.plans import PlanOptions


def cluster_options(round_: Round, options: PlanOptions) -> Options:
    """Return the options of a round under what all nodes have together; CPUs or memory count if every node has some.

    Nodes, GPU types and quotas are left aside, so that a bound of these options bounds the round. Of resources that
    every option takes in proportion only one is left.
    """
    amounts = round_.amounts
    use, capacity = [options.q * options.g], [int(amounts.G.sum())]
    for part, has in ((options.c, amounts.C), (options.m, amounts.M)):
        if bool((has < UNLIMITED).all()):
            use.append(options.q * part)
            capacity.append(int(has.sum()))
    every = Options.of(options.job, options.e, np.column_stack(use), np.array(capacity), jobs=len(round_.jobs))
    return every.without_implied()


def job_prices(round_: Round, options: PlanOptions) -> tuple[Ints, int]:
    """Return a price per job for running, as whole numbers over one denominator.

    It is what the job's best option is worth beyond the GPUs, CPUs and memory it takes, at the multipliers of the
    cluster as a whole: with these prices no node earns more than its own GPUs, CPUs and memory cost.
    """
    every = cluster_options(round_, options)
    found = lagrangian(every.only(every.worthwhile()))
    return np.array(found.idle, dtype=np.int64), found.denominator
