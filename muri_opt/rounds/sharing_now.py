"""Who shares GPUs now."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from muri_opt.rounds.running_jobs import MOST_SHARING

if TYPE_CHECKING:
    from muri_opt.rounds.round import Round


def on_same_gpus(round_: Round) -> list[tuple[int, ...]]:
    """Return the places of the running jobs, those together that share GPUs.

    A round says where jobs run and not which GPUs of a node they have. Jobs with the same placement are taken to share
    where a node could not hold all that runs there side by side.
    """
    held, alike = Counter[str](), dict[tuple[tuple[str, int], ...], list[int]]()
    for place, job in enumerate(round_.jobs):
        if job.state == "running":
            held.update(job.placement or {})
            alike.setdefault(tuple((job.placement or {}).items()), []).append(place)
    has = {node.id: node.gpus for node in round_.cluster.nodes}
    found = list[tuple[int, ...]]()
    for where, places in alike.items():
        most = MOST_SHARING if any(held[node] > has[node] for node, _ in where) else 1
        found += [tuple(places[start : start + most]) for start in range(0, len(places), most)]
    return found


def sharing_now(round_: Round) -> dict[str, set[str]]:
    """Return each running job with those on its GPUs, itself among them."""
    ids = [job.id for job in round_.jobs]
    groups = ({ids[place] for place in group} for group in on_same_gpus(round_))
    return {job: group for group in groups for job in group}
