"""What the verifier works out for all jobs, groups or nodes of a joint round at once, against a look at each."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from joint_rounds import joint_round, large_joint_round, mixed_joint_round
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt import Cluster, InputError, Job, Node, Plan, Round, policy_from
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.amounts import NO_LIMIT, Need, Room
from muri_opt.verify.chapters import chapter_of
from muri_opt.verify.demands import Asked
from muri_opt.verify.joint.plan_rooms import PlanRooms
from muri_opt.verify.joint.plans import allowed_plans
from muri_opt.verify.joint.rules import SETTINGS, Joint
from muri_opt.verify.joint.timed_groups import timed_groups
from muri_opt.verify.joint.ways import NANO, ways_of
from muri_opt.verify.settings import chosen

SPECS = ("joint-s", "joint-l:group=4,slowdown=muri", "joint-s:sharing=stretch", "joint-s:shares=powers")


def workers_and_decisions(spec, seeds):
    policy = policy_from(spec)
    for seed in seeds:
        rounds = [joint_round(seed, most_jobs=9), large_joint_round(seed, jobs=40, nodes=3)]
        with suppress(InputError):  # a running job makes it impossible
            rounds.append(mixed_joint_round(seed))
        for round_ in rounds:
            with suppress(InputError):
                yield chapter_of(round_, policy.rules)._workers, policy.decide(round_, 0)


@pytest.mark.parametrize("spec", SPECS)
@some_then_all(5, 12)
def test_groups_take_as_long_as_each_does_by_itself(seeds, spec):
    seen = 0
    for workers, decision in workers_and_decisions(spec, seeds):
        index = workers.round_.job_index
        turned = tuple(replace(one, order=one.order[::-1]) for one in decision.assignments)
        for orders in (decision, replace(decision, assignments=turned)):
            timed = timed_groups(workers, orders)
            for place, one in enumerate(orders.assignments):
                assert (place in timed) == (len(one.jobs) > 1)
                if place in timed:
                    seen += 1
                    members, gpus = [index[job] for job in one.jobs], sum(one.gpus.values())
                    least, own = workers.period(members, gpus), workers.period(members, gpus, one.order)
                    slowed = [workers.slowed(period, len(members)) for period in timed[place]]
                    assert slowed == [least, own]
    assert seen > 20


def test_groups_without_sense_are_not_timed():
    jobs = tuple(
        Job(id=f"j{k}", gpus=1, remaining_iterations=9, iteration_seconds=1.0, stage_seconds=(0.5, 0.5)) for k in (0, 1)
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=1),)), jobs=jobs, resources=("cpu", "gpu"))
    policy = policy_from("joint-s")
    workers, decision = chapter_of(round_, policy.rules)._workers, policy.decide(round_, 0)
    (group,) = decision.assignments
    assert [*timed_groups(workers, decision)] == [0]
    for wrong in (
        replace(group, jobs=("j0", "unknown")),
        replace(group, jobs=("j0", "j1", "j0"), order=(0, 1, 2)),
        replace(group, order=(0, 0)),
        replace(group, gpus={"n": 2}),
    ):
        assert not timed_groups(workers, replace(decision, assignments=(wrong,)))


@pytest.mark.parametrize("spec", SPECS)
def test_ways_of_jobs_that_are_read_at_once(spec):
    rules = Joint.of(chosen(SETTINGS, policy_from(spec).rules))
    drawn, jobs = random.Random(spec), []
    for number in range(60):
        counts = sorted({1, *drawn.sample(range(2, 70), drawn.randint(0, 4))})
        seconds = drawn.choice((None, drawn.uniform(1e-6, 10), 10 ** drawn.uniform(1, 9)))
        scaling = drawn.choice((None, {count: drawn.uniform(0.1, 1) * count for count in counts}))
        gpus = drawn.choice(counts) if scaling else drawn.randint(1, 9)
        stages = drawn.choice((None, tuple(drawn.uniform(0.1, 1) for _ in range(3))))
        told = {"iteration_seconds": seconds, "scaling": scaling, "stage_seconds": stages}
        jobs.append(Job(id=f"j{number}", gpus=gpus, **told))
    for job, ways in zip(jobs, ways_of(jobs, rules), strict=True):
        if job.scaling is None:
            alone = job.iteration_seconds
            stages = sum(round(time * 1e6) * 1000 for time in job.stage_seconds or ())
            expected = {job.gpus: stages or NANO if alone is None else round(alone * 1e6) * 1000}
        else:
            curve = Curve.of(job)
            times = {count: -(-1000 * curve.unit // speed) for count, speed in curve.speeds.items()}
            expected = {count: time for count, time in times.items() if not rules.powers or count.bit_count() == 1}
        assert dict(ways.by_gpus) == expected
        assert dict(zip(ways.gpus.tolist(), ways.time.tolist(), strict=True)) == expected
        assert (ways.shortest, ways.longest) == (min(expected.values()), max(expected.values()))
        few = ways.within(5)
        assert dict(few.by_gpus) == {count: time for count, time in expected.items() if count <= 5}
        assert (few.stages, few.base, few.plans) == (ways.stages, ways.base, ways.plans)


def plain_room(rooms, places, piece):
    return sum(
        has.gpus >= piece[0]
        and (has.milli is None or has.milli >= piece[1])
        and (has.mebibytes is None or has.mebibytes >= piece[2])
        for has in (rooms[place] for place in places)
    )


def test_rooms_of_parts_against_a_look_at_each_node():
    seen = set()
    for seed in range(40):
        drawn = random.Random(seed)
        types = [drawn.choice(("a", "b", None)) for _ in range(9)]
        nodes = tuple(Node(id=f"n{at}", gpus=8, gpu_type=kind) for at, kind in enumerate(types))
        rooms = [
            Room(drawn.randint(0, 8), drawn.choice((None, drawn.randint(0, 40))), drawn.choice((None, 0, 30)))
            for _ in nodes
        ]
        plans = tuple(
            Plan(
                name=f"p{at}",
                gpus=gpus,
                nodes=drawn.randint(1, min(4, gpus)),
                throughput=1.0 + at,
                cpus=drawn.choice((None, 0.02)),
                gpu_types=drawn.choice((None, ("a",), ("a", "b"))),
            )
            for at, gpus in enumerate((1, 3, 5, 8, 16))
        )
        job = Job(id="j", gpus=1, plans=plans, memory_gib=drawn.choice((0.0, 0.01)))
        counted = PlanRooms(Round(cluster=Cluster(nodes=nodes), jobs=(job,)), rooms)
        parts = tuple(tuple(range(start, start + 3)) for start in (0, 3, 6)), (tuple(range(9)),), ()
        for where in (*parts, *parts):  # the second time they are known
            asked = Asked(parts=where, fewest=1, most=NO_LIMIT, even=False, home=None, must=False)
            for one in allowed_plans(job):
                able = [[at for at in part if one.plan.types is None or types[at] in one.plan.types] for part in where]
                larger = 0 if one.wide is None else one.plan.gpus % one.plan.nodes
                expected = any(
                    plain_room(rooms, part, one.piece) >= one.plan.nodes
                    and (not larger or plain_room(rooms, part, one.wide) >= larger)
                    for part in able
                )
                assert counted.can_start_by(where, one) == expected
                seen.add((expected, larger > 0))
            for need in (Need(drawn.randint(1, 30), milli, mib) for milli in (0, 7) for mib in (0, 10)):
                expected = any(sum(rooms[at].holds(need) for at in part) >= need.gpus for part in where)
                assert counted.can_start(asked, need) == expected
            assert counted.gpus(where) == sum(rooms[at].gpus for at in {at for part in where for at in part})
    assert len(seen) == 4
