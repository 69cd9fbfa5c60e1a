"""The benchmark of the matching compares like with like: every way it measures finds pairs of the same weight."""

import numpy as np

from benchmarks import matching
from muri_opt import Job
from muri_opt.systems.muri import grouping


def test_more_jobs_than_are_matched_at_once_weigh_the_same_job_by_job_and_type_by_type(monkeypatch):
    monkeypatch.setattr(grouping, "MOST_EXACT", 60)
    monkeypatch.setattr(grouping, "BLOCK", 12)
    kinds = np.random.default_rng(2).integers(0, 7, 150)
    rows = matching.stage_times(7, "uniform")[kinds] / 1_000_000
    jobs = [Job(id=f"j{at}", gpus=1, stage_seconds=tuple(row)) for at, row in enumerate(rows.tolist())]
    grouping._match.cache_clear()
    _, by_job = matching.grouped(jobs[::-1], many=151)
    _, by_type = matching.grouped(jobs, many=0)
    grouping._match.cache_clear()
    assert by_job.rounds[0] == by_type.rounds[0]
    assert by_job.rounds[0][0].pairs == 75
