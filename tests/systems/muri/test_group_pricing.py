"""Groups priced on demand: full looks find what listing finds, and prices of clusters come close to the true ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmarks.muri_priced_gap import KINDS, OBJECTIVES, different_jobs, gap_of
from muri_opt.rounds import Budget, Limits, Round, unlimited
from muri_opt.solve.solvers import relaxation
from muri_opt.systems.muri import group_looks, pair_meetings, program_master
from muri_opt.systems.muri.coarse_prices import CLUSTERS, coarse_columns
from muri_opt.systems.muri.group_looks import Reach
from muri_opt.systems.muri.group_pricing import Charges, GroupPricing
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.program import GroupingFormulation
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_master import GRANTS, Master, Prices
from muri_opt.systems.muri.program_types import GroupTypes


def rules_of(objective: str) -> GroupRules:
    return GroupRules(order="srsf", largest_group=4, pattern="cyclic", slowdown="none", objective=objective)


def listed(types: GroupTypes) -> np.ndarray:
    """Return all groups of different types of two and more."""
    count = len(types.g)
    parts = [np.array([*combinations(range(count), size)], dtype=np.int64) for size in (2, 3, 4)]
    return np.concatenate([np.pad(part, ((0, 0), (0, 4 - part.shape[1])), constant_values=-1) for part in parts])


def charges_of(types: GroupTypes, once: np.ndarray, gpu: float) -> Charges:
    return Charges(job=once[types.first_job], per_gpu=np.zeros(len(types.g)), gpu=gpu)


@pytest.mark.parametrize("at_once", [20, 4096])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_full_look_finds_the_group_that_is_most_above_its_price(
    kind: str, objective: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the prices of the relaxation, lowered for some jobs."""
    monkeypatch.setattr(pair_meetings, "_AT_ONCE", at_once)
    monkeypatch.setattr(pair_meetings, "_TOGETHER", at_once)
    round_ = different_jobs(kind, 18, 3)
    program = GroupingFormulation(rules=rules_of(objective))
    columns = GroupColumns.of(round_, program.rules)
    types, model = columns.types, program.build(round_)
    relaxed = relaxation(model, unlimited())
    assert relaxed is not None
    prices = program.prices_over(round_, columns, model, relaxed.duals)
    rng = np.random.default_rng(5)
    for _ in range(4):
        charges = charges_of(types, prices["once"] * rng.uniform(0.9, 1.0, 18), float(prices["gpus"][0]))
        groups = listed(types)
        profit = types.values(groups, np.full(len(groups), -1))[0] - charges.of(types, groups)
        seen = GroupPricing(types, types.able(round_)).look(charges, Reach.FULL, unlimited())
        assert profit.max() > 0
        assert seen.profit.max() == profit.max()


@pytest.mark.parametrize("seed", range(4))
def test_a_full_look_finds_the_three_jobs_that_are_most_above_their_price(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any prices, and however few pairs a wide look takes."""
    monkeypatch.setattr(group_looks, "WIDE_PARTS", 1)
    count = 60
    round_ = different_jobs("dominant", count, seed)
    types = GroupTypes.of(round_, rules_of("efficiency"))
    threes = np.array([*combinations(range(count), 3)], dtype=np.int64)
    groups = np.pad(threes, ((0, 0), (0, 1)), constant_values=-1)
    once = np.random.default_rng(seed).uniform(0, 1e5, count)
    values = types.values(groups, np.full(len(groups), -1))[0]
    profit = values - charges_of(types, once, 0.0).of(types, groups)
    charges = charges_of(types, once, 0.99 * float(profit.max()))
    seen = GroupPricing(types, types.able(round_)).look(charges, Reach.FULL, unlimited())
    of_three = (seen.groups >= 0).sum(axis=1) == 3
    assert seen.profit[of_three].max() == (values - charges.of(types, groups)).max()


@pytest.mark.parametrize("kind", KINDS)
def test_prices_of_clusters_bound_a_round_closely(kind: str) -> None:
    """With each price risen to cover its groups they bound the round within a tenth of the relaxation."""
    round_ = different_jobs(kind, 30, 1)
    program = GroupingFormulation(rules=rules_of("efficiency"))
    columns = GroupColumns.of(round_, program.rules)
    exact, coarse = program.build(round_), coarse_columns(round_, columns.types)
    assert len(coarse.types.g) <= CLUSTERS
    assert coarse.types.count.sum() == 30
    model = program.model_over(round_, coarse)
    small, whole = relaxation(model, unlimited()), relaxation(exact, unlimited())
    assert small is not None
    assert whole is not None
    prices = program.prices_over(round_, coarse, model, small.duals)
    charges = charges_of(columns.types, prices["once"], float(prices["gpus"][0]))
    short = (columns.value - charges.of(columns.types, columns.groups)).max()
    gpus = round_.cluster.total_gpus
    bound = prices["once"].sum() + gpus * (prices["gpus"][0] + max(0.0, short))
    assert float(exact.objective @ whole.values) <= bound <= 1.1 * float(exact.objective @ whole.values)


def priced_and_listed(round_: Round, objective: str) -> tuple[Prices, float, float]:
    """Return prices found on demand, the relaxation over all groups, and by how much one is above its price at most."""
    program = GroupingFormulation(rules=rules_of(objective))
    columns = GroupColumns.of(round_, program.rules)
    model = program.build(round_)
    relaxed = relaxation(model, unlimited())
    assert relaxed is not None
    master = Master(program, round_, columns.types, relaxation)
    jobs = np.arange(len(round_.jobs))[:, None]
    master.take(np.pad(jobs, ((0, 0), (0, 3)), constant_values=-1))
    prices = master.priced(Budget(limits=Limits(seconds=None, work=5)))
    charges = charges_of(columns.types, prices["once"], float(prices["gpus"][0]))
    short = (columns.value - charges.of(columns.types, columns.groups)).max()
    return prices, float(model.objective @ relaxed.values), float(short)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_prices_cover_every_group_and_come_close_to_the_relaxation(kind: str, objective: str) -> None:
    """Also those that were never looked at, but for next to nothing."""
    round_ = different_jobs(kind, 18, 4)
    prices, best, short = priced_and_listed(round_, objective)
    gpus = round_.cluster.total_gpus
    bound = prices["once"].sum() + gpus * (prices["gpus"][0] + max(0.0, short))
    assert 0.9999 * best <= bound <= 1.004 * best


@pytest.mark.parametrize("kind", KINDS)
def test_where_full_looks_are_too_much_work_dearer_gpus_cover_what_is_left_out(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is looser by what GPUs are dearer at most, but no group is above its price."""
    monkeypatch.setattr(program_master, "FULL_PART", 1e-9)
    round_ = different_jobs(kind, 18, 4)
    prices, best, short = priced_and_listed(round_, "efficiency")
    assert short <= 1e-4 * best / round_.cluster.total_gpus
    bound = prices["once"].sum() + round_.cluster.total_gpus * prices["gpus"][0]
    assert (1 + GRANTS[1]) * best <= bound <= (1 + 1.1 * GRANTS[-1]) * best


@pytest.mark.parametrize("kind", KINDS)
def test_the_work_of_a_full_look_is_told_by_some_pairs(kind: str) -> None:
    """At prices that hardly a group is above."""
    round_ = different_jobs(kind, 70, 2)
    types = GroupTypes.of(round_, rules_of("efficiency"))
    pricing = GroupPricing(types, types.able(round_))
    charges = charges_of(types, np.full(70, 80_000.0), 550_000.0)
    told = pricing.full_work(charges, unlimited())
    pricing.look(charges, Reach.FULL, unlimited())
    assert 0.7 * pricing.spent <= told <= 1.3 * pricing.spent


def test_a_full_look_that_ends_too_early_says_so() -> None:
    round_ = different_jobs("uniform", 30, 2)
    types = GroupTypes.of(round_, rules_of("efficiency"))
    pricing = GroupPricing(types, types.able(round_))
    charges = charges_of(types, np.full(30, 80_000.0), 500_000.0)
    pricing.look(charges, Reach.FULL, unlimited())
    assert pricing.complete
    pricing.look(charges, Reach.FULL, Budget(limits=Limits(seconds=None, work=1e-9)))
    assert not pricing.complete


def test_a_full_look_that_finds_too_many_groups_goes_on_with_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_looks, "MOST_FOUND", 50)
    round_ = different_jobs("models", 40, 2)
    types = GroupTypes.of(round_, rules_of("efficiency"))
    pricing = GroupPricing(types, types.able(round_))
    charges = charges_of(types, np.full(40, 60_000.0), 300_000.0)
    some = pricing.look(charges, Reach.FULL, unlimited())
    monkeypatch.setattr(group_looks, "MOST_FOUND", 10**9)
    another = GroupPricing(types, types.able(round_))
    every = another.look(charges, Reach.FULL, unlimited())
    assert (pricing.complete, another.complete) == (False, True)
    assert some.profit.max() == every.profit.max()
    assert len(some.groups) < len(every.groups)


def test_the_gap_of_a_large_round_is_told() -> None:
    """Sixty different jobs have more groups than are listed."""
    told = gap_of(different_jobs("uniform", 60, 11), "muri-s:objective=efficiency", Limits(work=3.0)).split()
    value, bound = (int(one.replace(",", "")) for one in told[:2])
    assert value <= bound <= 1.02 * value
