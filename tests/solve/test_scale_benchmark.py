"""The benchmark of rounds at scale, on rounds of no scale: every policy has a session, and the parts add up."""

from __future__ import annotations

import pytest

from benchmarks import scale
from benchmarks.session_loop import all_jobs
from muri_opt.solve.search import Search
from muri_opt.systems import POLICIES


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_decides_rounds_that_are_drawn_for_it(policy: str) -> None:
    drawn = all_jobs(policy, jobs=6, nodes=2, rounds=2, seed=1)
    assert len(drawn.jobs) == 7
    assert {job.state for job in drawn.jobs} == {"waiting"}
    found = scale.measure(policy, jobs=6, nodes=2, rounds=2, seconds=0.0)
    assert (len(found.wall), found.verified) == (2, True)
    assert set(found.parts) == set(scale.PARTS)
    assert sum(found.parts.values()) <= sum(found.cpu)
    assert len(found.row()) == len(scale.PARTS) + 9


def test_counting_ends_with_the_measurement() -> None:
    plain = Search._checked
    with scale.metered():
        assert Search._checked is not plain
    assert Search._checked is plain
