"""Drawn rounds with only such running jobs as can be: one that cannot be where it was drawn waits."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from muri_opt import Cluster, InputError, Job
from muri_opt.rounds.running_jobs import check_running


def settled(cluster: Cluster, jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Return the jobs, those that cannot be beside the running ones before them waiting."""
    found: list[Job] = []
    for job in jobs:
        try:
            check_running(cluster, (*found, job))
        except InputError:
            found.append(msgspec.structs.replace(job, state="waiting", placement=None))
        else:
            found.append(job)
    return tuple(found)
