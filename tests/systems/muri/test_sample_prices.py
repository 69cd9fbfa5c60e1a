"""Prices from a sample: each job is stood for, linear prices are told exactly, and the bound is close."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.muri_priced_gap import KINDS, different_jobs
from muri_opt.rounds import Budget, Limits, unlimited
from muri_opt.solve.solvers import relaxation
from muri_opt.systems.muri import sample_prices
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.program import GroupingFormulation
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_master import Master
from muri_opt.systems.muri.program_types import GroupTypes

RULES = GroupRules(order="srsf", largest_group=4, pattern="cyclic", slowdown="none", objective="efficiency")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_stands_for_all_jobs(kind: str) -> None:
    round_ = different_jobs(kind, 500, 1)
    types = GroupTypes.of(round_, RULES)
    small, chosen = sample_prices.sample_of(round_, types)
    assert len(chosen) == len(small.g) == sample_prices.SAMPLED
    assert small.count.sum() == 500
    assert set(small.count.tolist()) <= {2, 3}
    assert (small.stages == types.stages[chosen]).all()
    assert (small.type_of[types.first_job[chosen]] == np.arange(len(chosen))).all()


def test_prices_that_are_linear_in_stage_times_are_told() -> None:
    round_ = different_jobs("models", 500, 1)
    types = GroupTypes.of(round_, RULES)
    chosen = sample_prices.sample_of(round_, types)[1]
    linear = 1_000.0 + types.stages @ np.array([0.03, 0.01, 0.02, 0.05])
    told = sample_prices.spread(types, types.able(round_), chosen, linear[chosen])
    assert np.abs(told - linear).max() <= 0.02 * linear.std()


def test_few_jobs_have_no_sample() -> None:
    round_ = different_jobs("models", 20, 1)
    master = Master(GroupingFormulation(rules=RULES), round_, GroupTypes.of(round_, RULES), relaxation)
    assert sample_prices.sample_prices(master, unlimited()) is None


@pytest.mark.parametrize("kind", KINDS)
def test_prices_that_begin_with_a_sample_cover_every_group(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_prices, "MANY", 10)
    monkeypatch.setattr(sample_prices, "SAMPLED", 12)
    round_ = different_jobs(kind, 24, 4)
    program = GroupingFormulation(rules=RULES)
    columns, model = GroupColumns.of(round_, program.rules), program.build(round_)
    whole = relaxation(model, unlimited())
    assert whole is not None
    best = float(model.objective @ whole.values)
    master = Master(program, round_, columns.types, relaxation)
    master.take(np.pad(np.arange(24)[:, None], ((0, 0), (0, 3)), constant_values=-1))
    budget = Budget(limits=Limits(seconds=None, work=20))
    master.first = sample_prices.sample_prices(master, budget.share(0.3))
    assert master.first is not None
    prices = master.priced(budget)
    paid = np.where(columns.groups >= 0, prices["once"][columns.types.first_job][columns.groups], 0.0).sum(axis=1)
    short = float((columns.value - paid - prices["gpus"][0] * columns.gpus).max())
    bound = prices["once"].sum() + round_.cluster.total_gpus * (prices["gpus"][0] + max(0.0, short))
    assert 0.9999 * best <= bound <= 1.02 * best
