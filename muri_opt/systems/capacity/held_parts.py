"""What running jobs hold now, as nodes with GPUs of them: a job has few of very many nodes."""

from __future__ import annotations

from muri_opt.rounds import Round
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.memoise import recalled

Parts = list[tuple[int, int]]
"""Nodes, each with GPUs of it."""


@recalled
def held_parts(round_: Round) -> list[Parts | None]:
    """Return the nodes and GPUs of each job, in the order of the nodes; ``None`` where it runs on none, or lost one.

    >>> held_parts(shipped_round("toy/three-fragments"))[0]
    [(0, 4)]
    """
    index, found = round_.cluster.node_index, list[Parts | None]()
    losses = "node.state" in round_.used_fields
    for place, job in enumerate(round_.jobs):
        if job.state != "running" or not job.placement or (losses and is_lost(round_, place)):
            found.append(None)
        else:
            found.append(sorted((index[node], gpus) for node, gpus in job.placement.items() if gpus))
    return found
