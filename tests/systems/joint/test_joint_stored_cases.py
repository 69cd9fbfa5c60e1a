"""On the stored rounds the joint program, its columns so restricted, has the optima of *gangs* and *planning*.

Nothing runs in them, and nothing is guaranteed: the chapters differ in what that is worth. What is compared is made of
the decisions, so that the values of the chapters need not be the same.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from pathlib import Path

import numpy as np
import pytest
from by_policy import formulation_of
from msgspec.structs import replace

from muri_opt import Limits, policy_from, read_round, solve_round
from muri_opt.solve.exact import optimise
from muri_opt.solve.solvers import backend_named
from muri_opt.systems.joint.program_columns import JointColumns
from muri_opt.systems.orders import priority_order

ROOT = Path(__file__).resolve().parents[3] / "instances"
UNHURRIED = Limits(seconds=None)
PLAIN = {"state": "waiting", "placement": None, "plan": None, "guarantee": None, "tenant": None}


def stored(*names):
    found = (path for name in names for path in ROOT.glob(f"{name}.json"))
    return sorted(path for path in found if not path.stem.endswith(".best"))


def ids(paths):
    return [f"{path.parent.name}-{path.stem}" for path in paths]


GANGS = stored("small/gangs-*", "small/tenants-*", "toy/*gangs*", "paper/tiresias-60-jobs*")
PLANS = stored("small/plans-*", "small/configurations-*", "toy/five-plans*", "paper/rubick*", "worst/rubick*")


@pytest.mark.parametrize("path", GANGS, ids=ids(GANGS))
def test_jobs_alone_on_the_gpus_they_ask_for_are_gangs(path):
    round_ = read_round(path)
    plain = {"state": "waiting", "placement": None, "cpus": None, "memory_gib": None}
    jobs = tuple(
        replace(job, **plain, stage_seconds=None, scaling=None, iteration_seconds=1.0, remaining_iterations=1)
        for job in round_.jobs
    )
    round_ = replace(round_, jobs=tuple(job for job in jobs if job.gpus))
    rank = {job: place for place, job in enumerate(priority_order(round_, "fifo"))}
    worth = [job.gpus * (len(round_.jobs) - rank[place]) for place, job in enumerate(round_.jobs)]
    program = formulation_of("joint-s:group=1")
    model = program.build(round_)
    alone = [key.group[0] for key in JointColumns.of(round_, program.rules).keys]
    weighted = replaced(model, objective=np.array([worth[job] for job in alone], dtype=np.int64))
    found = backend_named("highs").solve(weighted, UNHURRIED, None)
    assert found.value == solve_round(round_, "fifo:objective=weighted,restarts=ignore", "auto", UNHURRIED).value


@pytest.mark.parametrize("path", PLANS, ids=ids(PLANS))
def test_jobs_that_run_by_plans_are_planning(path):
    round_ = read_round(path)
    jobs = [replace(job, **PLAIN, remaining_iterations=1) for job in round_.jobs]
    jobs = [replace(job, plans=tuple(plan for plan in job.plans if plan.gpus)) for job in jobs]
    round_ = replace(round_, jobs=tuple(job for job in jobs if job.plans), cluster=replace(round_.cluster, tenants=()))
    sums = []
    for policy in ("joint-s:kappa=0", "rubick:reference=best"):
        chosen = policy_from(policy)
        answer = optimise(round_, formulation_of(chosen), "highs", UNHURRIED, None)
        sums.append(sum(speed(round_, one) for one in answer.decision.assignments))
    assert sums[0] == pytest.approx(sums[1], rel=1e-5)


def speed(round_, one):
    """Return how fast a job runs, as a part of its best."""
    job = round_.jobs[round_.job_index[one.jobs[0]]]
    shape = one.plan, sum(one.gpus.values()), len(one.gpus)
    here = max(plan.throughput for plan in job.plans if (plan.name, plan.gpus, plan.nodes) == shape)
    return here / max(plan.throughput for plan in job.plans)
