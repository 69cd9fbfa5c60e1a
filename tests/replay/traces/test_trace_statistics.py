"""Statistics of a trace, computed by hand."""

import pytest
from trace_writers import FLAT, attempt, csv_text, philly_job, philly_text

from muri_opt.replay.traces import EXAMPLES, Times, parse_trace, statistics
from muri_opt.replay.traces.statistics import Size, TenantUse


def test_durations_sizes_and_tenants():
    rows = [(f"2017-10-09 07:00:{k:02}", 3600 * k, 1, 3600 * k, "a") for k in range(1, 11)]
    rows += [("2017-10-09 08:00:00", 36_000, 8, 288_000, "b"), ("2017-10-09 08:00:00", 7200, 16, 115_200, "")]
    found = statistics(parse_trace(csv_text(FLAT, rows)))
    assert (found.jobs, found.gpu_hours, found.without_duration) == (12, 55 + 80 + 32, 0)
    one = Times(jobs=10, median=19_800, mean=19_800, p90=32_400, p99=36_000, most=36_000)
    assert found.durations_by_size == {
        "1": one,
        "2-4": None,
        "5-8": Times(jobs=1, median=36_000, mean=36_000, p90=36_000, p99=36_000, most=36_000),
        ">8": Times(jobs=1, median=7200, mean=7200, p90=7200, p99=7200, most=7200),
    }
    assert (found.durations.jobs, found.durations.median, found.durations.mean) == (12, 19_800, 3600 * 67 / 12)
    assert found.sizes == (
        Size(gpus=1, jobs=10, share=10 / 12, gpu_time_share=55 / 167),
        Size(gpus=8, jobs=1, share=1 / 12, gpu_time_share=80 / 167),
        Size(gpus=16, jobs=1, share=1 / 12, gpu_time_share=32 / 167),
    )
    assert found.tenants == (
        TenantUse(tenant="b", jobs=1, gpu_hours=80),
        TenantUse(tenant="a", jobs=10, gpu_hours=55),
        TenantUse(tenant=None, jobs=1, gpu_hours=32),
    )
    assert (found.queueing_delays, found.statuses) == (None, {"unknown": 12})


def test_gpu_hours_are_those_of_the_attempts_and_durations_have_the_pauses():
    log = philly_text(
        philly_job(attempts=[attempt(100, 3700, {"m1": 2}), attempt(7300, 10_900, {"m1": 2})]),
        philly_job(jobid="a2", attempts=[attempt(300, None, {"m1": 4})]),
    )
    found = statistics(parse_trace(log))
    assert (found.gpu_hours, found.without_duration) == (4, 1)
    assert found.durations == Times(jobs=1, median=10_800, mean=10_800, p90=10_800, p99=10_800, most=10_800)
    assert found.queueing_delays == Times(jobs=2, median=200, mean=200, p90=300, p99=300, most=300)
    assert found.statuses == {"passed": 1, "running": 1}


@pytest.mark.parametrize("name", ["philly", "philly-csv"])
def test_both_forms_of_the_example_hold_the_same_gpu_time(name):
    assert statistics(parse_trace(EXAMPLES[name])).gpu_hours == pytest.approx(
        (57_600 + 50_400 + 120 + 86_400 + 7200) / 3600
    )


def test_an_empty_trace():
    found = statistics(parse_trace("[]"))
    assert (found.jobs, found.gpu_hours, found.sizes, found.tenants, found.durations) == (0, 0, (), (), None)
    assert statistics(parse_trace(csv_text(FLAT, [("2017-10-09 07:00:00", 0, 1, 0, "a")]))).sizes[0].gpu_time_share == 0
