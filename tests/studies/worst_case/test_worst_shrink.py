"""Shrinking keeps the gap, leaves out all that can be left out, and shrinking again changes nothing."""

from fractions import Fraction

import pytest

from muri_opt import Cluster, Job, Node, Plan, Round
from muri_opt.errors import RefusalError
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.job import Guarantee
from muri_opt.studies.worst_case import measure_of, shrink
from muri_opt.studies.worst_case.rounds import drawn_round, is_sensible
from muri_opt.studies.worst_case.short_numbers import rank

CASES = {  # measure, arguments of drawn_round(), gap that is kept
    "srtf": ("value", ("gangs", 4, 1, 4, 8), Fraction(1, 2)),
    "philly": ("value", ("philly", 3, 1, 29, 4), Fraction(1, 2)),
    "rubick": ("value", ("plans", 3, 1, 37, 2), Fraction(1, 10)),
    "max-min-elastic": ("completion", ("elastic", 2, 1, 1, 2), Fraction(1, 10)),
}


@pytest.mark.parametrize("policy", CASES)
def test_a_shrunken_round_keeps_the_gap_and_cannot_be_shrunk_again(policy):
    name, drawn, at_least = CASES[policy]
    round_, measure = drawn_round(*drawn), measure_of(name, policy)
    told = []
    small = shrink(round_, measure, at_least, progress=told.append)
    assert small.distance == measure.of(small.round)
    assert small.distance.gap >= at_least
    assert len(small.round.jobs) <= len(round_.jobs)
    assert small.round.cluster.total_gpus <= round_.cluster.total_gpus
    assert is_sensible(small.round)
    assert told[-1] == small.evaluations == len(told) + 1
    again = shrink(small.round, measure, at_least)
    assert (again.round, again.distance) == (small.round, small.distance)


def test_what_is_left_is_two_gangs_of_short_numbers():
    round_ = drawn_round("gangs", 4, 1, 7, 8)
    shrunk = [shrink(round_, measure_of("value", "srtf"), Fraction(2, 5)) for _ in range(2)]
    assert shrunk[0] == shrunk[1]
    small = shrunk[0].round
    assert len(small.jobs) == 2
    assert len(small.cluster.nodes) == 1
    assert all(rank(job.iteration_seconds) <= 2 for job in small.jobs)
    assert {job.id for job in small.jobs} == {"a", "b"}
    assert all(job.submitted is job.cpus is job.tenant is None for job in small.jobs)


@pytest.mark.slow
def test_a_fixed_cluster_is_kept():
    round_ = drawn_round("gangs", 4, 2, 13, 4)
    small = shrink(round_, measure_of("value", "srtf"), Fraction(1, 5), same_cluster=True)
    assert [node.gpus for node in small.round.cluster.nodes] == [4, 4]
    free = shrink(round_, measure_of("value", "srtf"), Fraction(1, 5))
    assert len(free.round.cluster.nodes) == 1
    assert free.round.cluster.total_gpus < 8


def test_a_round_without_the_gap_is_refused():
    round_ = generate("gangs", jobs=3, nodes=2, seed=1)
    with pytest.raises(RefusalError, match=r"a gap of 0\.0000"):
        shrink(round_, measure_of("value", "srtf"), Fraction(1, 10))
    with pytest.raises(RefusalError, match="no proved optimum"):
        shrink(round_, measure_of("value", "muri-s"), Fraction(1, 10))


def test_a_curve_that_falls_may_stay_one_that_falls():
    job = Job(id="a", gpus=1, remaining_iterations=70, scaling={1: 1.0, 2: 9.5, 4: 0.12})
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=(job,))
    small = shrink(round_, measure_of("completion", "afs-l"), Fraction(1, 2))
    assert not is_sensible(small.round)
    assert small.distance.gap >= Fraction(1, 2)
    assert small.round.jobs[0].remaining_iterations == 1


def test_submission_is_counted_from_nought_and_plans_lose_what_they_do_not_need():
    small_plan, large_plan = (Plan(name=f"p{k}", gpus=k, cpus=2, memory_gib=8, throughput=1.0) for k in (1, 2))
    promised = Guarantee(throughput=0.55)
    jobs = (
        Job(id="second", submitted=700.0, gpus=1, plans=(small_plan,), guarantee=promised),
        Job(id="third", submitted=900.0, gpus=1, plans=(small_plan,), guarantee=promised),
        Job(id="first", submitted=500.0, gpus=1, plans=(large_plan,), guarantee=promised),
    )
    round_ = Round(now=1000.0, cluster=Cluster(nodes=(Node(id="x", gpus=2, cpus=64),)), jobs=jobs)
    small = shrink(round_, measure_of("value", "rubick"), Fraction(2, 5)).round
    assert [(job.id, job.submitted) for job in small.jobs] == [("a", 1), ("b", 2), ("c", 0)]
    assert small.now == 0
    assert [job.guarantee.throughput for job in small.jobs] == [1, 1, 1]
    assert all(plan.cpus is plan.memory_gib is None for job in small.jobs for plan in job.plans)
