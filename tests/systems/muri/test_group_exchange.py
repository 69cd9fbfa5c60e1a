"""Members exchanged between groups: no job twice, nothing lost, and nearly as good as listing where there are few."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmarks.muri_priced_gap import KINDS, OBJECTIVES, different_jobs
from muri_opt.rounds import Budget, Limits, unlimited
from muri_opt.systems.muri.group_exchange import exchanged
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.program_types import GroupTypes


def types_of(kind: str, jobs: int, objective: str, seed: int) -> GroupTypes:
    rules = GroupRules(order="srsf", largest_group=4, pattern="cyclic", slowdown="none", objective=objective)
    return GroupTypes.of(different_jobs(kind, jobs, seed), rules)


def worth(types: GroupTypes, groups: np.ndarray) -> int:
    """Return what groups are worth together, one after another."""
    total = 0
    for group in groups.tolist():
        jobs = sorted(job for job in group if job >= 0)
        row = np.array([jobs + [-1] * (4 - len(jobs))])
        total += int(types.values(row, np.array([-1]))[0][0]) if jobs else 0
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_groups_are_worth_no_less_and_have_every_job_once(kind: str, objective: str) -> None:
    types = types_of(kind, 44, objective, 2)
    start = np.arange(40).reshape(10, 4)
    found = exchanged(types, start, np.arange(40, 44), unlimited())
    jobs = found[found >= 0]
    assert len(set(jobs.tolist())) == len(jobs)
    assert found.shape == start.shape
    assert worth(types, start) < worth(types, found)
    assert (exchanged(types, start, np.arange(40, 44), unlimited()) == found).all()


@pytest.mark.parametrize("seed", range(5))
def test_two_groups_are_parted_nearly_as_well_as_can_be(seed: int) -> None:
    types = types_of("uniform", 8, "efficiency", seed)
    found = exchanged(types, np.arange(8).reshape(2, 4), np.zeros(0, dtype=np.int64), unlimited())
    others = [[(*some,), (*sorted({*range(8)} - {*some}),)] for some in combinations(range(8), 4)]
    best = max(worth(types, np.array(both)) for both in others)
    assert 0.95 * best <= worth(types, found) <= best


def test_a_spare_job_takes_the_place_of_a_worse_one() -> None:
    types = types_of("dominant", 9, "efficiency", 1)
    start = np.arange(8).reshape(2, 4)
    without, with_spare = (
        worth(types, exchanged(types, start, np.array(spare, dtype=np.int64), unlimited())) for spare in ([], [8])
    )
    assert with_spare >= without


def test_without_any_budget_nothing_changes() -> None:
    types = types_of("uniform", 16, "efficiency", 1)
    start, budget = np.arange(16).reshape(4, 4), Budget(limits=Limits(seconds=None, work=1e-6))
    budget.spend(1.0)
    assert (exchanged(types, start, np.zeros(0, dtype=np.int64), budget) == start).all()
