"""Figures of a replay, computed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from muri_opt.errors import InputError
from muri_opt.replay import JobOutcomes, Outcome, Timeline
from muri_opt.replay.metrics.comparison import RATIOS, compared
from muri_opt.replay.metrics.jobs import contention, finish_time_fairness, job_table
from muri_opt.replay.metrics.summary import muri_percentile, percentiles, summary, time_integral
from muri_opt.replay.metrics.tenants import by_tenant, evenness


def floats(*values):
    return np.array(values, dtype=np.float64)


def ints(*values):
    return np.array(values, dtype=np.int64)


def outcome(**changes):
    """Three jobs on four GPUs: a runs at once, b waits for it and restarts, c waits for b."""
    jobs = JobOutcomes(
        ids=("a", "b", "c"),
        tenants=("y", None, "x"),
        gpus=ints(2, 4, 1),
        submitted=floats(0, 0, 10),
        started=floats(0, 10, 30),
        ended=floats(10, 30, 40),
        ideal=floats(10, 10, 5),
        held=floats(10, 20, 10),
        gpu_seconds=floats(20, 80, 10),
        fairness=floats(0, 0, 12),
        fragmentation=floats(0, 0, 8),
        capacity=floats(0, 10, 0),
        lost=floats(0, 36, 0),
        failed=floats(0, 0, 9),
        restarts=ints(0, 2, 1),
        preemptions=ints(0, 1, 0),
        migrations=ints(0, 0, 1),
    )
    timeline = Timeline(
        seconds=floats(0, 10, 30, 40),
        busy=ints(2, 4, 1, 0),
        queue=ints(1, 1, 0, 0),
        running=ints(1, 1, 1, 0),
        stages=np.array([[1, 0], [2, 4], [1, 0], [0, 0]], dtype=np.float64),
        nodes=np.zeros((4, 0), dtype=np.int32),
    )
    made = Outcome(
        workload="w",
        policy="fifo",
        clock="own",
        cluster="1x4",
        seed=0,
        total_gpus=4,
        jobs=jobs,
        timeline=timeline,
        rounds=5,
        decision_seconds=0.25,
        resources=("gpu", "network"),
    )
    return replace(made, **changes)


def nothing():
    few = outcome()
    jobs = JobOutcomes(**{name: getattr(few.jobs, name)[:0] for name in few.jobs.__slots__})
    timeline = Timeline(**{name: getattr(few.timeline, name)[:0] for name in few.timeline.__slots__})
    return replace(few, jobs=jobs, timeline=timeline)


def test_the_summary_by_hand():
    found = summary(outcome()).as_dict()
    assert found == pytest.approx(
        {
            "jobs": 3,
            "mean": 70 / 3,
            "p50": 30,
            "p95": 30,
            "p99": 30,
            "p99_muri": 30,
            "makespan": 40,
            "last_end": 40,
            "first_start": 10,
            "waiting": 10,
            "fairness": 4,
            "fragmentation": 8 / 3,
            "capacity": 10 / 3,
            "queue_mean": 30 / 40,
            "queue_most": 1,
            "running_mean": 1,
            "utilisation": 110 / 160,
            "gpu_hours": 110 / 3600,
            "lost_gpu_hours": 0.01,
            "failed_gpu_hours": 0.0025,
            "slowdown_mean": 10 / 3,
            "slowdown_p99": 3 + 0.98 * 3,
            "rho_mean": (1 + 1.5 + 6) / 3,
            "rho_worst": 6,
            "restarts": 3,
            "preemptions": 1,
            "migrations": 1,
            "rounds": 5,
            "decision_seconds": 0.25,
            "counted": 0,
            "settled": 0,
            "utilisation_gpu": 60 / 160,
            "utilisation_network": 80 / 160,
        },
        rel=1e-12,
    )


def test_makespan_begins_with_the_first_submission():
    late = outcome()
    jobs = replace(late.jobs, submitted=late.jobs.submitted + 100, ended=late.jobs.ended + 100)
    timeline = replace(late.timeline, seconds=late.timeline.seconds + 100)
    moved = summary(replace(late, jobs=jobs, timeline=timeline))
    assert (moved.makespan, moved.last_end) == (40, 140)
    assert moved.resource_use == pytest.approx({"gpu": 60 / 160, "network": 80 / 160}, rel=1e-12)


def test_contention_counts_who_is_there():
    assert contention(outcome().jobs) == pytest.approx([2, 2, 5 / 3], rel=1e-12)
    assert finish_time_fairness(outcome()) == pytest.approx([1, 1.5, 6], rel=1e-12)
    # With half of the GPUs an equal share holds one: a and b, with two jobs there, are slowed down twice as much.
    assert finish_time_fairness(outcome(total_gpus=2)) == pytest.approx([0.5, 0.75, 6], rel=1e-12)


def test_a_job_that_takes_no_time_is_alone():
    made = outcome()
    assert contention(replace(made.jobs, submitted=floats(0, 0, 40))).tolist()[2] == 1


def test_percentiles_are_linear_and_muris_is_a_value():
    values = floats(*range(200, 0, -1))
    assert percentiles(values, 50, 95, 99) == pytest.approx([100.5, 190.05, 198.01], rel=1e-12)
    assert muri_percentile(values) == 199  # the value at 198 of 0 to 199
    assert muri_percentile(floats(7)) == 7


def test_no_jobs_have_no_figures():
    found = summary(nothing()).as_dict()
    assert {name for name, value in found.items() if value} == {"rounds", "decision_seconds"}
    assert "utilisation_gpu" not in found
    assert by_tenant(nothing()) == ()
    assert evenness(nothing()) == 1


def test_jobs_without_stages_have_no_use_of_resources():
    made = outcome()
    plain = replace(made, timeline=replace(made.timeline, stages=np.zeros((4, 0))))
    assert summary(plain).resource_use == {}


@pytest.mark.parametrize(
    ("begin", "end", "integral"), [(0, 40, 110), (5, 35, 10 + 80 + 5), (12, 13, 4), (-5, 60, 110), (40, 60, 0)]
)
def test_integrals_are_cut_at_both_ends(begin, end, integral):
    made = outcome().timeline
    assert time_integral(made, made.busy, begin, end) == integral
    # The last value holds for ever: here it is 0, there 1.
    early = replace(made, seconds=made.seconds[:3])
    assert time_integral(early, made.busy[:3], begin, end) == integral + max(0, end - max(begin, 40))


def test_tenants_come_in_order_and_jobs_of_none_last():
    x, y, none = by_tenant(outcome())
    assert (x.tenant, y.tenant, none.tenant) == ("x", "y", None)
    assert (x.jobs, x.mean, x.p99, x.first_start, x.waiting, x.fairness, x.fragmentation) == (1, 30, 30, 20, 20, 12, 8)
    assert (none.capacity, none.lost_gpu_hours, none.restarts, none.preemptions, none.slowdown_mean) == (
        10,
        0.01,
        2,
        1,
        3,
    )
    assert (x.failed_gpu_hours, x.migrations, x.rho_worst) == (0.0025, 1, pytest.approx(6))
    assert [t.share for t in (x, y, none)] == pytest.approx([1 / 11, 2 / 11, 8 / 11], rel=1e-12)
    assert x.as_dict()["tenant"] == "x"
    # Slowdowns 6, 1 and 3.
    assert evenness(outcome()) == pytest.approx(100 / (3 * 46), rel=1e-12)


def test_tenants_that_held_nothing_have_no_share():
    made = outcome()
    idle = replace(made, jobs=replace(made.jobs, gpu_seconds=floats(0, 0, 0)))
    assert [tenant.share for tenant in by_tenant(idle)] == [0, 0, 0]


def test_the_jobs_as_columns():
    table = job_table(outcome())
    assert table["id"] == ["a", "b", "c"]
    assert table["tenant"] == ["y", None, "x"]
    assert table["completion"] == [10, 30, 30]
    assert table["waiting"] == [0, 10, 20]
    assert table["slowdown"] == [1, 3, 6]
    assert {len(column) for column in table.values()} == {3}


def test_ratios_to_the_first():
    made = outcome()
    quick = replace(made, policy="srtf", jobs=replace(made.jobs, ended=floats(10, 30, 25), capacity=floats(0, 0, 0)))
    first, second = compared([made, quick])
    assert (first.policy, second.policy, second.clock, second.seed) == ("fifo", "srtf", "own", 0)
    assert set(first.ratios) == set(RATIOS)
    assert set(first.ratios.values()) == {1}
    assert second.ratios["mean"] == pytest.approx(55 / 70, rel=1e-12)
    assert second.ratios["makespan"] == 0.75
    assert second.ratios["waiting"] == pytest.approx(20 / 30, rel=1e-12)
    assert second.summary == summary(quick)
    none = floats(0, 0, 0)
    waitless = replace(made, jobs=replace(made.jobs, fairness=none, fragmentation=none, capacity=none))
    assert compared([waitless, made])[1].ratios["waiting"] is None
    assert compared([]) == ()


def test_only_replays_of_the_same_jobs_are_compared():
    made = outcome()
    with pytest.raises(InputError, match=r"outcomes\[1\]: found other jobs \('v'\)"):
        compared([made, replace(made, workload="v", jobs=replace(made.jobs, ids=("a", "b", "d")))])
    with pytest.raises(InputError, match=r"outcomes\[1\]\.total_gpus: found 8; allowed: 4"):
        compared([made, outcome(total_gpus=8)])


def test_a_job_without_an_end_is_named():
    made = outcome()
    unfinished = replace(made, jobs=replace(made.jobs, ended=floats(10, np.inf, 40)))
    for figures in (summary, by_tenant, job_table):
        with pytest.raises(InputError, match=r"outcome\.jobs\.ended\[1\] \('b'\): found inf"):
            figures(unfinished)
