"""A priority of its own for each of many jobs: each outweighs all below it, so that values are beyond floats."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from benchmarks.session_loop import all_jobs
from muri_opt import Limits, Round, policy_from, solve_round
from muri_opt.systems import POLICIES

JOBS = 90
HONOUR = [name for name in POLICIES if "job.priority" in policy_from(name).honours]


def ranked(policy: str, jobs: int = JOBS) -> Round:
    """Return a round of waiting jobs that have what a policy needs, in another order of priority than their own."""
    drawn = all_jobs(policy, jobs=jobs, nodes=max(2, jobs // 12), rounds=1, seed=3)
    places = Random(3).sample(range(jobs), jobs)
    return replace(drawn, jobs=tuple(replace(job, priority=at) for job, at in zip(drawn.jobs, places, strict=True)))


def test_most_policies_honour_priorities() -> None:
    assert len(HONOUR) > 15


@pytest.mark.parametrize("policy", HONOUR)
@pytest.mark.parametrize("limits", [Limits(seconds=0.05), Limits(work=0.05)])
def test_every_policy_answers_and_is_checked(policy: str, limits: Limits) -> None:
    result = solve_round(ranked(policy), policy, "auto", limits)
    assert result.certificate.feasible
    assert result.value is not None
    assert result.bound is None or result.bound >= result.value
