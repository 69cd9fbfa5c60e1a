"""With columns so restricted the joint program has the optima of *sharing* and of *grouping*.

With ``kappa=0`` a second of work is worth the same for every job. Alone, jobs that speed up by the same factor in all
then count their speed-up, as ``objective=speed-up`` of *sharing* does. With their GPUs fixed, jobs count the part of a
period in which their stages run, which is the efficiency of *grouping*.
"""

from __future__ import annotations

from random import Random

import pytest

from muri_opt import Cluster, Job, Limits, Node, Round, solve_round

STAGES = ("storage", "gpu", "network")
UNHURRIED = Limits(seconds=None)


def optimum(round_, policy):
    result = solve_round(round_, policy, "auto", UNHURRIED)
    assert result.value == result.bound
    return result.decision


@pytest.mark.parametrize("seed", range(4))
def test_jobs_alone_with_curves_are_sharing(seed):
    rng = Random(seed)
    jobs = tuple(
        Job(
            id=f"j{at}",
            gpus=1,
            iteration_seconds=1.0,
            remaining_iterations=10,
            scaling={1: 1.0, 2: round(rng.uniform(1.2, 1.9), 2), 3: round(rng.uniform(1.9, 2.4), 2), 4: 2.5},
        )
        for at in range(4)
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=7),)), jobs=jobs, resources=STAGES)
    curves = {job.id: job.scaling for job in jobs}
    joint, shares = (
        sum(curves[one.jobs[0]][sum(one.gpus.values())] for one in optimum(round_, policy).assignments)
        for policy in ("joint-s:group=1,kappa=0,restarts=ignore", "afs-p:objective=speed-up,restarts=ignore")
    )
    assert joint == pytest.approx(shares, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_fixed_gpus_and_groups_are_grouping(seed):
    rng = Random(seed)
    stages = [tuple(round(rng.uniform(0.05, 0.9), 2) for _ in STAGES) for _ in range(6)]
    jobs = tuple(
        Job(id=f"j{at}", gpus=1, remaining_iterations=10, stage_seconds=some, iteration_seconds=round(sum(some), 2))
        for at, some in enumerate(stages)
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=jobs, resources=STAGES)
    alone = {job.id: sum(job.stage_seconds) for job in jobs}
    joint, groups = (
        sum(alone[job] / one.period_seconds for one in optimum(round_, policy).assignments for job in one.jobs)
        for policy in (
            "joint-s:kappa=0,restarts=ignore",
            "muri-s:pattern=cyclic,objective=efficiency,group=3,restarts=ignore",
        )
    )
    assert joint == pytest.approx(groups, abs=1e-4)
