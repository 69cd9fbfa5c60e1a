"""What jobs ask of nodes that may not start yet: as if they were not held and their time had come."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.capacity.node_sets import Demand, NodeSets, node_sets


def demand_of(round_: Round, job: int) -> Demand:
    """Return what a job asks of nodes; of one that is kept back what it will ask."""
    return demands_of(round_, [job])[0]


def demands_of(round_: Round, jobs: Sequence[int]) -> list[Demand]:
    """Return the same of many jobs."""
    kept_back: list[bool] = round_.waits_by_order[jobs].tolist()
    anywhere, sets = _anywhere(len(round_.cluster.nodes)), node_sets(round_)
    now = [anywhere] * len(jobs) if sets is None else [sets.demands[kind] for kind in sets.kind[jobs].tolist()]
    if any(kept_back):
        released = _released_sets(round_)
        for at in np.flatnonzero(kept_back).tolist():
            now[at] = anywhere if released is None else released.of(jobs[at])
    return now


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
