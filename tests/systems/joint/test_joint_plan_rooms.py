"""Plans looked at many at once find room where each by itself does."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from benchmarks.what_binds import BINDING, bound_by
from muri_opt import Cluster, Job, Node, Plan, Round, policy_from
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity.room_sets import RoomSets
from muri_opt.systems.joint.jobs.models import Models, models_of
from muri_opt.systems.joint.jobs.plan_ways import PlanShape
from muri_opt.systems.joint.nodes.plan_rooms import plan_rooms
from muri_opt.systems.joint.nodes.plans_in_turn import PlansInTurn
from muri_opt.systems.joint.nodes.quota_left import QuotaLeft
from muri_opt.systems.joint.nodes.regions import Regions
from muri_opt.systems.joint.rules import JointRules

BOUND = ["nothing", *(one for one in BINDING if "labels" in one or "types" in one or "CPUs" in one)]


def plan_round(draw: Random, binding: str) -> Round:
    """Return a round of jobs with plans on one to five nodes, whose parts may be of two sizes, and some without."""
    nodes = tuple(Node(id=f"n{s}", gpus=draw.randint(0, 8)) for s in range(draw.randint(1, 12)))
    jobs = []
    for place in range(draw.randint(1, 20)):
        said = {"id": f"j{place}", "gpus": draw.randint(1, 4), "remaining_iterations": 9, "iteration_seconds": 1.0}
        plans = [
            Plan(
                name=f"p{at}",
                gpus=(gpus := draw.randint(1, 12)),
                nodes=draw.randint(1, min(5, gpus)),
                throughput=draw.uniform(1, 9),
                cpus=draw.choice([None, round(draw.uniform(0, 40), 2)]),
                memory_gib=draw.choice([None, None, round(draw.uniform(0, 300), 2)]),
            )
            for at in range(draw.randint(1, 4))
        ]
        jobs.append(Job(**said, plans=tuple(plans) if draw.random() < 0.8 else None))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=tuple(jobs))
    return round_ if binding == "nothing" else bound_by(binding, round_, draw)


def with_taken(round_: Round, draw: Random) -> FreeCapacity:
    """Return what nodes have left where some of each was taken."""
    free = FreeCapacity(round_.amounts)
    for has in free.left:
        has -= np.array([draw.randint(0, int(min(most, 9_000))) for most in has.tolist()])
    return free


def shapes_of(models: Models, job: int) -> list[PlanShape]:
    plans = models.plans_of(job)
    return [plans.shape(number) for number in range(len(plans.names))]


def fits_alone(round_: Round, models: Models, free: FreeCapacity, job: int) -> list[bool]:
    """Return which plans of a job find room, each looked at by itself."""
    regions = Regions.of(round_)
    return [
        any(
            RoomSets(*free.left.tolist()).fit_parts(shape.parts, region) is not None
            for region in regions.of_plan(job, shape.types)
        )
        for shape in shapes_of(models, job)
    ]


@pytest.mark.parametrize("binding", BOUND)
def test_plans_find_room_together_where_each_does_alone(binding: str) -> None:
    draw, found = Random(binding), [0, 0]
    rules = JointRules.of(policy_from("joint-s").rules)
    for _ in range(12):
        round_ = plan_round(draw, binding)
        models = models_of(round_, rules)
        rooms, free = plan_rooms(models, round_), with_taken(round_, draw)
        jobs = draw.sample(range(len(round_.jobs)), draw.randint(1, len(round_.jobs)))
        expected = [fits_alone(round_, models, free, job) for job in jobs]
        assert rooms.found((free.gpus, free.cpus, free.memory), jobs) == expected
        for well in expected:
            found[any(well)] += 1
    assert min(found) > 3


@pytest.mark.parametrize("binding", BOUND)
def test_jobs_in_turn_run_by_the_first_plan_that_finds_room(binding: str) -> None:
    draw, rules, waited = Random(binding), JointRules.of(policy_from("joint-s").rules), 0
    for _ in range(8):
        round_ = plan_round(draw, binding)
        models = models_of(round_, rules)
        free = with_taken(round_, draw)
        rooms, other = RoomSets(*free.left.tolist()), RoomSets(*free.left.tolist())
        line = [job for job in range(len(round_.jobs)) if models.runs_by_plans(job)]
        turns = PlansInTurn(round_, models)
        turns.expect(line)
        for job in line:
            most = draw.randint(0, 12)
            found = turns.fit(rooms, job, most, QuotaLeft(round_.amounts))
            shapes, regions = shapes_of(models, job), Regions.of(round_)
            each = (
                (number, parts)
                for number, shape in enumerate(shapes)
                if shape.gpus <= most
                for region in regions.of_plan(job, shape.types)
                if (parts := other.fit_parts(shape.parts, region)) is not None
            )
            expected = next(each, None)
            assert (found is None) == (expected is None)
            waited += found is None
            if found is not None and expected is not None:
                assert found == (expected[0], [node for node, _ in expected[1]])
                rooms.take_parts(shapes[found[0]].parts, found[1])
                other.take_parts(shapes[found[0]].parts, found[1])
    assert waited > 3


def test_a_part_of_no_gpus_is_no_matter() -> None:
    """A plan that needs no GPU is none that a joint round knows."""
    plans = (Plan(name="cpu", gpus=0, throughput=9.0, cpus=1.0), Plan(name="gpu", gpus=1, throughput=1.0))
    job = Job(id="a", gpus=1, remaining_iterations=9, plans=plans)
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=1),)), jobs=(job, replace(job, id="b")))
    models = models_of(round_, JointRules.of(policy_from("joint-s").rules))
    amounts = round_.amounts
    assert plan_rooms(models, round_).found((amounts.G, amounts.C, amounts.M), [0, 1]) == [[True], [True]]
