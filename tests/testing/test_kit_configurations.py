"""Drawn rounds of servers and workers have what makes their policies decide, and shrink to short names."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings

from muri_opt.rounds import JobConfiguration, configurations_of
from muri_opt.testing import family_rounds, published
from muri_opt.testing.strategies_configurations import configured

ROUNDS = family_rounds("configurations")


def at(job):
    return JobConfiguration.of_name(job.plan)


def is_a_step(job):
    names = {plan.name for plan in job.plans}
    near = (*at(job).additions(switch=True), *at(job).removals(switch=True))
    return any(one.name in names for one in near)


def needs_cpus(round_):
    return sum(job.plans[0].cpus for job in round_.jobs) > sum(node.cpus for node in round_.cluster.nodes)


TRAITS = {
    "CPUs are short": needs_cpus,
    "GPUs are short": lambda round_: sum(job.gpus for job in round_.jobs) > round_.cluster.total_gpus,
    "a node has no GPU": lambda round_: any(node.gpus == 0 for node in round_.cluster.nodes),
    "one is a step from another configuration": lambda round_: any(map(is_a_step, round_.jobs)),
    "one runs on CPUs": lambda round_: any(job.placement and job.gpus == 0 for job in round_.jobs),
    "one runs on GPUs": lambda round_: any(job.placement and job.gpus > 0 for job in round_.jobs),
    "one cannot be predicted": lambda round_: any(job.predictable is False for job in round_.jobs),
    "one is out of patience": lambda round_: any(
        job.state == "waiting" and job.waiting_seconds > 2400 for job in round_.jobs
    ),
}


def test_what_makes_configurations_hard_is_drawn_often():
    seen = Counter()
    steps = Counter()
    decide = published("aiturbo:restarts=ignore")

    @seed(0)
    @settings(max_examples=100, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(ROUNDS)
    def drawn(round_):
        seen.update(name for name, trait in TRAITS.items() if trait(round_))
        for job in round_.jobs:
            assert configurations_of(job)[job.plan].gpus == job.gpus
        given_plans = {one.jobs[0]: one.plan for one in decide(round_).assignments}
        steps.update(given_plans[job.id] != job.plan for job in round_.jobs if job.id in given_plans)

    drawn()
    assert set(seen) == set(TRAITS)
    assert min(seen.values()) >= 5, seen
    assert min(steps[True], steps[False]) >= 25, steps


def test_one_may_run_on_two_nodes():
    spread = find(
        ROUNDS,
        lambda round_: any(len(job.placement or ()) == 2 for job in round_.jobs),
        settings=settings(database=None, max_examples=2000, derandomize=True, phases=[Phase.generate]),
    )
    [held] = [job for job in spread.jobs if len(job.placement or ()) == 2][:1]
    assert at(held).servers == at(held).workers == 2


@pytest.mark.slow
def test_rounds_shrink_to_short_names():
    smallest = find(
        family_rounds("configurations", max_jobs=3, max_nodes=2),
        lambda round_: len(round_.jobs) > 1 and needs_cpus(round_),
        settings=settings(database=None, max_examples=100, derandomize=True),
    )
    assert [(node.gpus, node.cpus) for node in smallest.cluster.nodes] == [(1, 2.0)]
    assert [[plan.name for plan in job.plans] for job in smallest.jobs] == [["cpu-p1-w1"], ["cpu-p1-w1"]]
    assert {job.state for job in smallest.jobs} == {"waiting"}


def test_plans_say_what_their_names_tell():
    plans = configured([(1, 2, 2, 2, 3), (1, 2, 2, 1, 4), (0, 1, 2, 2, 5), (1, 2, 2, 2, 6)])
    told = [(plan.name, plan.gpus, plan.nodes, plan.cpus, plan.throughput) for plan in plans]
    assert told == [("gpu-p2-w2-s1", 2, 2, 4.0, 3.0), ("gpu-p2-w2-s1", 2, 1, 4.0, 4.0), ("cpu-p1-w2", 0, 1, 3.0, 5.0)]
