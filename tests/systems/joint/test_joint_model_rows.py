"""The models of many jobs read at once: what each says by itself, in arrays, whatever the numbers."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from joint_rounds import large_joint_round
from msgspec.structs import replace

from muri_opt import Guarantee, Job, Plan, policy_from
from muri_opt.errors import InputError
from muri_opt.systems.joint.jobs.job_model import model_of
from muri_opt.systems.joint.jobs.model_rows import numbers_of, row_of, rows_of
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.plan_ways import ranked_plans
from muri_opt.systems.joint.jobs.plans_at_once import plan_rows_of
from muri_opt.verify import broken_rules

LONG = 2e9
"""Seconds: the longest time that a round can say."""


def drawn_rate(draw: Random) -> float:
    usual = draw.uniform(0.01, 100)
    return draw.choice([usual, usual, round(usual, 2), 10 ** draw.uniform(-12, 12), 10 ** draw.uniform(-300, 0)])


def drawn_job(draw: Random, number: int) -> Job:
    said = {}
    if draw.random() < 0.7:
        counts = sorted({draw.choice([1, 1, 1, 2]), *(draw.choice([2, 3, 4, 7, 8, 16, 64]) for _ in range(4))})
        base, power = drawn_rate(draw), draw.uniform(0.3, 1.1)
        said["scaling"] = {gpus: min(1e12, base * gpus**power) for gpus in counts}
    if draw.random() < 0.6:
        times = [0.0, 0.25, round(draw.uniform(0, 2), 6), round(10 ** draw.uniform(-6, 9), 6)]
        said["stage_seconds"] = tuple(draw.choice(times) for _ in range(3))
    if draw.random() < 0.6:
        said["iteration_seconds"] = draw.choice([0.0, 1e-6, 0.5, 90.0, round(draw.uniform(0.001, 9), 6), LONG])
    return Job(id=f"j{number}", gpus=draw.choice([0, 1, 1, 2, 3, 8, 100]), **said)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("powers", [True, False])
def test_rows_are_those_of_the_models_of_single_jobs(full, powers):
    draw, together = Random(f"{full} {powers}"), 0
    for _ in range(15):
        jobs = [drawn_job(draw, number) for number in range(draw.choice([1, 5, 80]))]
        for job, row in zip(jobs, rows_of(jobs, full=full, powers=powers), strict=True):
            if row is None:
                continue
            assert numbers_of(row) == numbers_of(row_of(model_of(job, full=full, powers=powers)))
            together += 1
    assert together > 100


def usual_job(name: str, **said) -> Job:
    return Job(id=name, **{"gpus": 1, "stage_seconds": (0.1, 0.2, 0.3), "scaling": {1: 1.0, 4: 2.5}, **said})


def test_usual_jobs_are_all_read_together():
    draw = Random(5)
    jobs = [
        usual_job(
            str(at), iteration_seconds=draw.choice([None, 0.7, 120.0]), scaling={1: draw.uniform(0.01, 9), 64: 9.5}
        )
        for at in range(200)
    ]
    jobs += [Job(id=f"f{at}", gpus=at + 1, iteration_seconds=1.0) for at in range(8)]
    assert None not in rows_of(jobs, full=True, powers=False)


def drawn_planned_job(draw: Random, number: int) -> Job:
    plans = []
    for _ in range(draw.randint(0, 6)):
        gpus = draw.choice([0, 1, 2, 3, 4, 8, 9])
        nodes = draw.randint(1, max(1, gpus)) if draw.random() < 0.5 or not gpus else 1
        needs = {"cpus": draw.choice([0.5, 3.0, 7.001]), "memory_gib": 10.5} if draw.random() < 0.4 else {}
        types = draw.choice([{}, {}, {"gpu_type": "a"}, {"gpu_types": ("a", "b")}])
        rate = draw.choice([1.0, 2.0, 3.0, draw.uniform(0.1, 9), min(1e12, 10 ** draw.uniform(-12, 12)), 1e-300])
        plans.append(Plan(name=draw.choice("pqrstuvwxyz"), gpus=gpus, nodes=nodes, throughput=rate, **needs, **types))
    asks = {"cpus": draw.choice([1.0, 3.3]), "memory_gib": 7.25} if draw.random() < 0.4 else {}
    promised = Guarantee(throughput=draw.choice([1.0, 2.0])) if draw.random() < 0.3 else None
    return Job(id=f"j{number}", gpus=draw.choice([0, 1, 3]), plans=tuple(plans), guarantee=promised, **asks)


def test_plans_read_at_once_are_those_of_single_jobs():
    draw, together = Random(8), 0
    for _ in range(40):
        jobs = [drawn_planned_job(draw, number) for number in range(draw.choice([1, 5, 80]))]
        for job, read in zip(jobs, plan_rows_of(jobs), strict=True):
            if read is None:
                continue
            row, plans = read
            assert plans == ranked_plans(job)
            assert numbers_of(row) == numbers_of(row_of(model_of(job, full=True, powers=False)))
            assert [way.parts for way in plans.ways] == [
                plans.shape(number).parts for number in range(len(plans.names))
            ]
            together += 1
    assert together > 300


def test_usual_plans_are_all_read_together():
    draw = Random(9)
    jobs = [
        Job(
            id=str(at),
            gpus=1,
            plans=tuple(Plan(name=f"p{gpus}", gpus=gpus, throughput=10 ** draw.uniform(-5, 9)) for gpus in (1, 2, 4)),
        )
        for at in range(200)
    ]
    assert None not in plan_rows_of(jobs)
    assert plan_rows_of([]) == []


@pytest.mark.parametrize("said", [{"iteration_seconds": LONG}, {"scaling": {1: 1e-200, 4: 3e-200}}])
def test_numbers_that_a_word_has_no_room_for_are_exact(said):
    jobs = [usual_job("a"), usual_job("large", **said), Job(id="b", gpus=2, iteration_seconds=0.5)]
    models = Models.read(jobs, 4, full=True, powers=False)
    for at, job in enumerate(jobs):
        model = model_of(job, full=True, powers=False)
        assert models.model(models.kinds[at]) == model
        assert tuple(models.period[models.kinds[at]].tolist()) == (*model.period, 0, 0, 0)[:5]
        if model.stages is not None:
            for gpus in (1, 2, 3, 4):
                on = models.stages_on(models.kind[[at]], np.array([gpus]))
                assert tuple(on[0].tolist()) == model.stages_on(gpus)


def test_stages_on_more_or_fewer_gpus_are_those_of_the_model():
    models = Models.read(large_joint_round(3, jobs=200, nodes=8).jobs, 64, full=True, powers=False)
    for kind in np.flatnonzero(models.shares).tolist():
        sizes = np.flatnonzero(models.period[kind])
        on = models.stages_on(np.full(len(sizes), kind), sizes)
        assert [tuple(row) for row in on.tolist()] == [models.model(kind).stages_on(size) for size in sizes.tolist()]


def test_jobs_of_one_model_have_one_row_however_they_say_it():
    jobs = [
        usual_job("a"),
        usual_job("b", scaling={1: 1.0, 2: 4 / 3, 4: 2.5}),
        usual_job("c"),
        Job(id="d", gpus=2, iteration_seconds=0.5),
        Job(id="e", gpus=2, plans=(Plan(name="p", gpus=2, throughput=2.0),)),
        Job(id="f", gpus=2, plans=(Plan(name="q", gpus=2, throughput=2.0),)),
        Job(id="g", gpus=1, plans=(Plan(name="p", gpus=2, throughput=2.0),)),
    ]
    models = Models.read(jobs, 8, full=True, powers=False)
    assert models.kinds == [0, 1, 0, 2, 3, 4, 3]
    assert [len(models.ways_of(at)) for at in range(len(jobs))] == [0, 0, 0, 0, 1, 1, 1]
    assert models.least.tolist() == [1, 1, 2, 2, 2]


def test_a_job_that_asks_for_more_than_the_cluster_has_is_ranked_by_what_it_asks_for():
    models = Models.read([Job(id="a", gpus=9, iteration_seconds=2.0)], 4, full=True, powers=False)
    assert (models.least.tolist(), models.first.tolist()) == ([9], [2 * 10**9])
    assert not models.period.any()


@pytest.mark.parametrize("first", [{"gpus": 0}, {"plans": (Plan(name="cpu", gpus=0, throughput=1.0),)}])
def test_of_several_jobs_that_are_refused_the_first_is_told(first):
    jobs = [
        usual_job("well"),
        usual_job("bad", **first),
        usual_job("worse", scaling={2: 1.0}),
        usual_job("zero", gpus=0),
    ]
    with pytest.raises(InputError, match=r"jobs\[1\] \('bad'\)"):
        Models.read(jobs, 8, full=True, powers=False)


@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
def test_a_round_with_a_very_long_iteration_is_decided_like_any_other(policy):
    round_ = large_joint_round(5, jobs=60, nodes=4)
    jobs = (*round_.jobs[:-1], replace(round_.jobs[-1], scaling=None, plans=None, iteration_seconds=LONG))
    long, one = replace(round_, jobs=jobs), policy_from(policy)
    assert not broken_rules(long, one.rules, one.decide(long, 0))
