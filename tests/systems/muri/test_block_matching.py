"""Many different groups are matched in blocks: as pairs, nearly as heavy; up to a thousand they are matched at once."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import gang

from muri_opt import Job
from muri_opt.algorithms import max_weight_matching
from muri_opt.systems.muri import PAPER, group_jobs, grouping as module
from muri_opt.systems.muri.grouping import MOST_EXACT, _match
from muri_opt.systems.muri.pair_weights import PairWeights


def jobs_of(count: int, seed: int) -> list[Job]:
    draw = np.random.default_rng(seed)
    times = draw.integers(1, 2_000, (count, 4)) / 1000
    return [gang(j, 1, stage_seconds=tuple(row), iteration_seconds=None) for j, row in enumerate(times.tolist())]


def stages_of(jobs: list[Job]) -> tuple[bytes, ...]:
    rows = (np.rint(np.array(job.stage_seconds) * 1_000_000).astype(np.int64) for job in jobs)
    return tuple(row.tobytes() for row in rows)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Match more than 60 groups in blocks of 20."""
    monkeypatch.setattr(module, "MOST_EXACT", 60)
    monkeypatch.setattr(module, "BLOCK", 20)
    _match.cache_clear()


def test_a_thousand_groups_are_matched_at_once() -> None:
    assert MOST_EXACT == 1000


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("small")
def test_blocks_lose_little(seed: int) -> None:
    members = stages_of(jobs_of(200, seed))
    weights = PairWeights().of(members, 4, PAPER)
    np.fill_diagonal(weights, 0)
    exact = max_weight_matching(weights).value
    mate, found = _match(members, 4, PAPER)
    _match.cache_clear()
    paired = np.flatnonzero(mate >= 0)
    assert (mate[mate[paired]] == paired).all()
    assert found[paired].tolist() == weights[paired, mate[paired]].tolist()
    assert 0.95 * exact < int(found.sum()) // 2 <= exact
    assert len(paired) == 200


@pytest.mark.usefixtures("small")
def test_groups_of_blocks_fit_the_gpus() -> None:
    jobs = jobs_of(150, 7)
    found = group_jobs(jobs, 40)
    _match.cache_clear()
    assert sorted(job for group in found for job in group) == list(range(150))
    assert len(found) == 40
    assert max(map(len, found)) <= 4
    assert found.rounds[0][0].nodes == 150


@pytest.mark.usefixtures("small")
def test_sixty_groups_are_matched_at_once() -> None:
    members = stages_of(jobs_of(60, 3))
    weights = PairWeights().of(members, 4, PAPER)
    np.fill_diagonal(weights, 0)
    _, found = _match(members, 4, PAPER)
    _match.cache_clear()
    assert int(found.sum()) // 2 == max_weight_matching(weights).value
