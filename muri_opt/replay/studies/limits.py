"""What no schedule can do better, for the workloads of a study."""

from __future__ import annotations

from collections.abc import Iterable

from muri_opt.replay.bounds import LowerBound, lower_bound
from muri_opt.replay.run import OWN
from muri_opt.replay.studies.cluster_text import cluster_from
from muri_opt.replay.studies.runs import StudyRun
from muri_opt.replay.workloads.files import read_workload
from muri_opt.systems import policy_from

Key = tuple[str, str]
"""The texts of a workload and of a cluster."""


def limits_of(runs: Iterable[StudyRun]) -> dict[Key, tuple[LowerBound, ...]]:
    """Return the lower bounds of every workload and cluster: of any schedule, and of those that share no GPUs.

    The second is there where jobs have stages and could share. Published clocks count by rules of their own; of runs
    on them nothing is said. Nor do the bounds hold for the policies :func:`outside_bounds`.
    """
    found: dict[Key, tuple[LowerBound, ...]] = {}
    for run in runs:
        key = (run.workload, run.cluster)
        if run.clock != OWN or key in found:
            continue
        workload, cluster = read_workload(run.workload), cluster_from(run.cluster)
        shares = any(job.stage_seconds for job in workload.jobs)
        found[key] = tuple(
            lower_bound(workload, cluster, sharing=way) for way in ((True, False) if shares else (True,))
        )
    return found


def outside_bounds(runs: Iterable[StudyRun]) -> tuple[str, ...]:
    """Return the policies, as text, that let jobs use a resource of GPUs at the same time: bounds do not hold for them.

    >>> outside_bounds([StudyRun(workload="-", policy=text, cluster="1x1") for text in ("fifo", "muri-s:run=free")])
    ('muri-s:run=free',)
    """
    every = dict.fromkeys(run.policy for run in runs if run.clock == OWN)
    return tuple(text for text in every if not policy_from(text).has_one_job_per_resource)
