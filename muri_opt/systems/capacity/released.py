"""What jobs ask of nodes that may not start yet: as if they were not held and their time had come."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.capacity.node_sets import Demand, NodeSets, node_sets


def demand_of(round_: Round, job: int) -> Demand:
    """Return what a job asks of nodes; of one that is kept back what it will ask."""
    sets = _released_sets(round_) if round_.waits_by_order[job] else node_sets(round_)
    return _anywhere(len(round_.cluster.nodes)) if sets is None else sets.of(job)


@recalled
def _released_sets(round_: Round) -> NodeSets | None:
    jobs = (
        replace(job, held=None, not_before=None) if waits else job
        for job, waits in zip(round_.jobs, round_.waits_by_order, strict=True)
    )
    return node_sets(replace(round_, jobs=tuple(jobs)))


@lru_cache(maxsize=16)
def _anywhere(nodes: int) -> Demand:
    return Demand(sets=(np.arange(nodes),) if nodes else (), least=1, most=None, even=False)
