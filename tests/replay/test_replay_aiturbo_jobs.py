"""The published table of AITurbo's jobs as a workload: GPUs of all workers, speeds up to the most of a type."""

from __future__ import annotations

import pytest

from benchmarks import aiturbo_jobs

HEAD = "Job type,Running time,Ps,Worker,GPU,Throughput,Predictability"
ROWS = (
    "1,600,1,2,2,40,0",  # four GPUs
    "1,300,1,1,8,80,1",  # the most of its type
    "2,900,2,1,1,10,0",
    "2,50,1,1,0,5,0",  # on CPUs only
    "3,1200,,3,1,30,1",  # its servers are not told
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([HEAD, *ROWS]) + "\n")
    return path


def test_jobs_have_the_gpus_of_all_workers_and_scale_to_the_most_of_their_type(table):
    rows = aiturbo_jobs.read(table)
    work = aiturbo_jobs.workload(rows, jobs=100, load=2.0, seed=0)
    found = {job.remaining_iterations: (job.gpus, job.scaling, job.predictable) for job in work.jobs}
    assert found == {
        600: (4, {1: 1.0, 8: 8.0}, True),
        300: (8, {1: 1.0, 8: 8.0}, False),
        900: (1, {1: 1.0}, True),
        1200: (3, {1: 1.0, 3: 3.0}, False),
    }
    moments = [job.submitted for job in work.jobs]
    assert moments == sorted(moments)
    work.check_fits(aiturbo_jobs.cluster())


def test_a_sample_is_the_same_for_the_same_seed_and_has_no_job_twice(table):
    rows = aiturbo_jobs.read(table)
    first, again, other = (aiturbo_jobs.workload(rows, jobs=3, load=1.0, seed=seed) for seed in (1, 1, 2))
    assert first.jobs == again.jobs != other.jobs
    assert len({job.remaining_iterations for job in first.jobs}) == 3


def test_the_table_compares_every_policy_with_the_first(table, capsys):
    aiturbo_jobs.main([str(table), "--jobs", "4", "--seeds", "2", "--policies", "aiturbo", "joint-s"])
    *_, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("| `aiturbo` |")
    assert "1.00 (1.00 to 1.00)" in first
    assert second.startswith("| `joint-s` |")
