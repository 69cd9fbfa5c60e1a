"""Groups priced on demand: wide looks find what listing finds, and prices of clusters come close to the true ones."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from muri_opt import Cluster, Job, Node, Round
from muri_opt.rounds import unlimited
from muri_opt.solve.solvers import relaxation
from muri_opt.systems.muri.coarse_prices import CLUSTERS, coarse_columns
from muri_opt.systems.muri.group_pricing import Charges, GroupPricing
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.program import GroupingFormulation
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_types import GroupTypes

OBJECTIVES = ("efficiency", "progress", "completion")


def rules_of(objective: str) -> GroupRules:
    return GroupRules(order="srsf", largest_group=4, pattern="cyclic", slowdown="none", objective=objective)


def drawn(kind: str, jobs: int, seed: int) -> Round:
    """Return different jobs of one GPU each: uniform stages, one far longer than the others, or models with jitter."""
    rng: Any = np.random.default_rng(seed)
    stages = rng.integers(1, 1000, (jobs, 4))
    if kind == "dominant":
        stages = rng.integers(1, 200, (jobs, 4))
        stages[np.arange(jobs), rng.integers(0, 4, jobs)] = rng.integers(400, 1000, jobs)
    if kind == "models":
        models = rng.integers(1, 1000, (8, 4))
        stages = np.maximum(1, models[rng.integers(0, 8, jobs)] * rng.uniform(0.9, 1.1, (jobs, 4)))
    made = tuple(
        Job(
            id=f"j{place}",
            gpus=1,
            stage_seconds=tuple((times / 1000).tolist()),
            iteration_seconds=float(times.sum() / 1000),
            remaining_iterations=int(rng.integers(1, 10_000)),
        )
        for place, times in enumerate(stages.astype(int))
    )
    nodes = (Node(id="n0", gpus=max(1, jobs * 24 // 100)),)
    return Round(cluster=Cluster(nodes=nodes), jobs=made, resources=("storage", "cpu", "gpu", "network"))


def listed(types: GroupTypes) -> np.ndarray:
    """Return all groups of different types of two and more."""
    count = len(types.g)
    parts = [np.array([*combinations(range(count), size)], dtype=np.int64) for size in (2, 3, 4)]
    return np.concatenate([np.pad(part, ((0, 0), (0, 4 - part.shape[1])), constant_values=-1) for part in parts])


def charges_of(types: GroupTypes, once: np.ndarray, gpu: float) -> Charges:
    return Charges(job=once[types.first_job], per_gpu=np.zeros(len(types.g)), gpu=gpu)


@pytest.mark.parametrize("kind", ["uniform", "dominant", "models"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_wide_look_finds_the_group_that_is_most_above_its_price(kind: str, objective: str) -> None:
    """At the prices of the relaxation, lowered for some jobs."""
    round_ = drawn(kind, 18, 3)
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
        seen = GroupPricing(types, types.able(round_)).look(charges, wide=True)
        assert profit.max() > 0
        assert seen.profit.max() == profit.max()


@pytest.mark.parametrize("kind", ["uniform", "dominant", "models"])
def test_prices_of_clusters_bound_a_round_closely(kind: str) -> None:
    """With each price risen to cover its groups they bound the round within a tenth of the relaxation."""
    round_ = drawn(kind, 30, 1)
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
