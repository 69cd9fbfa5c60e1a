"""Who shares GPUs now, by the verifier's own reading."""

from __future__ import annotations

from collections import Counter

from muri_opt.rounds import Job, Round
from muri_opt.verify.amounts import room_of

MOST_TOGETHER = 4
"""Jobs that may have the same GPUs."""


def running_groups(round_: Round) -> list[tuple[Job, ...]]:
    """Return the running jobs, those with the same GPUs together.

    Jobs of one placement share where one of its nodes is too small for all that runs on it side by side.
    """
    used, alike = Counter[str](), dict[tuple[tuple[str, int], ...], list[Job]]()
    for job in round_.jobs:
        if job.state == "running":
            used.update(dict(job.placement or {}))
            alike.setdefault(tuple(sorted((job.placement or {}).items())), []).append(job)
    crowded = {node.id for node in round_.cluster.nodes if used[node.id] > room_of(node).gpus}
    found = list[tuple[Job, ...]]()
    for placement, jobs in alike.items():
        size = MOST_TOGETHER if any(node in crowded for node, _ in placement) else 1
        found += [tuple(jobs[first : first + size]) for first in range(0, len(jobs), size)]
    return found
