"""Rounds after public traces follow the published figures, and are the same for the same arguments."""

from collections import Counter

import pytest

from muri_opt import InputError, solve_round
from muri_opt.rounds.generate import FAMILIES, PUBLISHED, draw_round, generate_published
from muri_opt.rounds.generate.published import job_mixes as mixes
from muri_opt.rounds.generate.published.model_tables import AFS_CURVES, MURI_STAGES, RUBICK_TIMES

POLICIES = {
    "tiresias-trace": "tiresias",
    "muri-trace": "muri-s",
    "afs-trace": "afs-l",
    "deadline-trace": "deadline",
    "joint-trace": "joint-s",
    "rubick-trace": "rubick",
    "aiturbo-trace": "aiturbo",
    "philly-trace": "philly",
}
families = pytest.mark.parametrize("family", PUBLISHED)


@families
def test_the_same_arguments_give_the_same_round_and_another_seed_another(family):
    first, again, other = (generate_published(family, jobs=20, nodes=3, seed=seed) for seed in (7, 7, 8))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert (len(first.jobs), len(first.cluster.nodes)) == (20, 3)
    assert len({job.id for job in first.jobs}) == 20


@families
def test_the_policy_of_a_family_decides_its_rounds(family):
    round_ = generate_published(family, jobs=24, nodes=3, seed=2)
    result = solve_round(round_, POLICIES[family], "heuristic")
    assert result.certificate.violations == ()
    assert result.decision.assignments


@families
@pytest.mark.parametrize("jobs", [0, 1])
def test_few_jobs_on_one_node_are_a_round_too(family, jobs):
    assert len(generate_published(family, jobs=jobs, nodes=1).jobs) == jobs


@families
def test_some_jobs_run_and_some_wait(family):
    states = Counter(job.state for job in generate_published(family, jobs=60, nodes=6, seed=1).jobs)
    assert min(states["running"], states["waiting"]) >= 5


def parts(found, kinds):
    """Return how far the most different part of what was found is from the published one."""
    total, drawn = sum(kinds.values()), sum(found.values())
    assert set(found) <= set(kinds)
    return max(abs(found[kind] / drawn - number / total) for kind, number in kinds.items())


@pytest.mark.parametrize(
    ("family", "sizes"),
    [("tiresias-trace", mixes.TIRESIAS_SIZES), ("philly-trace", mixes.PHILLY_RUNNING)],
)
def test_sizes_are_drawn_as_often_as_published(family, sizes):
    round_ = generate_published(family, jobs=4000, nodes=400, seed=3)
    assert parts(Counter(job.gpus for job in round_.jobs), sizes) < 0.025


def test_virtual_clusters_have_jobs_and_quotas_as_published():
    round_ = generate_published("philly-trace", jobs=4000, nodes=400, seed=3)
    times = {name: time for name, (time, _) in mixes.PHILLY_TENANTS.items()}
    assert parts(Counter(job.tenant for job in round_.jobs), times) < 0.025
    quotas = {tenant.id: tenant.quota_gpus / 3200 for tenant in round_.cluster.tenants}
    assert all(abs(quotas[name] - used / 1001) < 0.001 for name, (_, used) in mixes.PHILLY_TENANTS.items())


def test_stage_times_speed_ups_and_plans_are_the_measured_ones():
    for job in generate_published("muri-trace", jobs=50, nodes=5, seed=1).jobs:
        alone, *stages = MURI_STAGES[job.gpus][job.model]
        assert (job.iteration_seconds, job.stage_seconds) == (alone / 1000, tuple(time / 1000 for time in stages))
    for job in generate_published("afs-trace", jobs=50, nodes=5, seed=1).jobs:
        assert dict(job.scaling) in [dict(curve) for curve in AFS_CURVES.values()]
        assert job.gpus in job.scaling
    for job in generate_published("rubick-trace", jobs=50, nodes=5, seed=1).jobs:
        batch, times = RUBICK_TIMES[job.model]
        measured = {(gpus, nodes): round(batch / seconds, 3) for (_, gpus, nodes), seconds in times.items()}
        assert {(plan.gpus, plan.nodes): plan.throughput for plan in job.plans} == measured
        assert job.plan in {plan.name for plan in job.plans if plan.gpus == job.gpus}


def test_deadlines_are_so_many_times_the_time_left():
    round_ = generate_published("deadline-trace", jobs=200, nodes=20, seed=5)
    left = [job.remaining_iterations * job.iteration_seconds for job in round_.jobs]
    factors = [(job.deadline - round_.now) / time for job, time in zip(round_.jobs, left, strict=True)]
    assert 0.49 < min(factors) < 0.6
    assert 1.4 < max(factors) < 1.51


def test_unpredictable_jobs_do_not_say_what_is_left():
    jobs = generate_published("aiturbo-trace", jobs=400, nodes=40, seed=1).jobs
    unknown = [job for job in jobs if not job.predictable]
    assert all((job.remaining_iterations is None) == (not job.predictable) for job in jobs)
    assert 0.1 < len(unknown) / len(jobs) < 0.2


def test_any_family_is_drawn_by_its_name():
    assert not set(FAMILIES) & set(PUBLISHED)
    assert draw_round("gangs", jobs=3, nodes=1, demands=True).name.endswith("-demands")
    assert draw_round("muri-trace", jobs=3, nodes=1).name.startswith("muri-trace/")
    with pytest.raises(InputError, match="demands: found asked for of 'muri-trace'"):
        draw_round("muri-trace", jobs=3, nodes=1, demands=True)
    for call in (draw_round, generate_published):
        with pytest.raises(InputError, match="did you mean 'muri-trace'"):
            call("muri-trac", jobs=3, nodes=1)
