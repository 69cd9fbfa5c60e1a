"""On the stored rounds the joint program, its columns so restricted, has the optima of the other chapters.

*Sharing* and *grouping*: the columns are given what the other chapter says that a job is worth with so many GPUs, or a
group, those that go on as they are included. The optimum is that of the file, by every policy that it has one of.

*Gangs* and *planning*: nothing runs there, and nothing is guaranteed, as the chapters differ in what that is worth.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from pathlib import Path

import numpy as np
import pytest
from by_policy import formulation_of
from msgspec.structs import replace

from muri_opt import Assignment, Decision, Limits, RefusalError, policy_from, read_round, solve_round
from muri_opt.solve.exact import optimise
from muri_opt.solve.solvers import backend_named
from muri_opt.studies.library import load_round, read_best
from muri_opt.studies.library.best import best_path
from muri_opt.systems.joint.program.columns import JointColumns
from muri_opt.systems.orders import priority_order
from muri_opt.verify import chapter_of

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
SHARED = stored("small/elastic-*", "toy/three-elastic", "paper/afs-*", "worst/afs-*", "worst/optimus-*")
GROUPED = stored("small/interleaving-*", "toy/eight-stages", "paper/muri-*", "worst/muri-*")
LARGE = stored(*(f"traces/afs-{size}" for size in (10, 30, 100, 300)), "traces/muri-10", "traces/muri-30")
LARGE += stored("traces/muri-100")
"""Of more jobs there are more groups than the program lists, or their values are larger than solvers count."""
PROGRAMS = {"sharing": "joint-s:group=1", "grouping": "joint-s:group=4"}
FEW = 3
"""Policies of a stored round that the quick suite compares."""


@pytest.mark.parametrize("path", SHARED + GROUPED, ids=ids(SHARED + GROUPED))
def test_jobs_alone_with_curves_are_sharing_and_groups_of_fixed_gpus_are_grouping(path):
    has_the_optima(path, slice(0, FEW))


@pytest.mark.slow
@pytest.mark.parametrize("path", SHARED + GROUPED, ids=ids(SHARED + GROUPED))
def test_they_are_by_all_other_policies_too(path):
    has_the_optima(path, slice(FEW, None))


@pytest.mark.slow
@pytest.mark.parametrize("path", LARGE, ids=ids(LARGE))
def test_large_rounds_are_sharing_and_grouping(path):
    has_the_optima(path, slice(None))


def has_the_optima(path, which):
    """Check that the joint program has some of the proved optima of a stored round."""
    round_ = load_round(path)
    optima = [(policy_from(known.policy), known) for known in read_best(best_path(path)).optima if known.proved]
    for policy, known in [one for one in optima if is_a_case(one[0])][which]:
        program = formulation_of(PROGRAMS[policy.chapter])
        values = values_by(chapter_of(round_, policy.rules), round_, JointColumns.of(round_, program.rules))
        model = program.build(round_)
        beside = np.zeros(model.column_count - len(values), dtype=np.int64)  # where groups are on the nodes
        weighted = replaced(model, objective=np.append(values, beside))
        assert optimum_of(weighted) == known.value, known.policy


def optimum_of(model):
    """Return the optimum by HiGHS, or by CP-SAT where values are larger than HiGHS counts."""
    try:
        return backend_named("highs").solve(model, UNHURRIED, None).value
    except RefusalError:
        return backend_named("cp-sat").solve(model, UNHURRIED, None).value


def is_a_case(policy):
    """Return whether the joint program has the columns of a policy; the authors of Muri group more jobs than stages."""
    return policy.chapter in PROGRAMS and "preset=authors" not in policy.spec


def values_by(chapter, round_, columns):
    """Return what another chapter says that each column is worth; what it does not know is worth nothing."""
    values = np.zeros(len(columns.keys), dtype=np.int64)
    for size in {len(key.group) for key in columns.keys}:  # a chapter tells groups of a size in their order
        places = [place for place, key in enumerate(columns.keys) if len(key.group) == size]
        told = [value for _, value in chapter.parts(Decision(assignments=tuple(as_said(round_, columns, places))))]
        assert len(told) in (0, len(places))
        values[places[: len(told)]] = told
    return values


def as_said(round_, columns, places):
    """Yield columns as assignments: at home, or anywhere else, for which any other name of a node does."""
    nodes = round_.cluster.nodes
    for key in map(columns.keys.__getitem__, places):
        gpus = {"elsewhere": key.gpus} if key.spot is None else {nodes[node].id: has for node, has in key.spot}
        yield Assignment(jobs=tuple(round_.jobs[job].id for job in key.group), gpus=gpus)


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
