"""The tree of pairs leaves out no group of four that is above what it pays."""

from __future__ import annotations

from functools import cache, partial
from itertools import permutations

import numpy as np
import pytest

from muri_opt.verify.muri import pair_tree
from muri_opt.verify.muri.pair_tree import PairTree


def _profits(stages: np.ndarray, adds: np.ndarray, pays: np.ndarray) -> dict[tuple[int, ...], float]:
    """Return what every group in every order is worth above the pay of its jobs, as jobs in slots 0, 2, 1 and 3."""
    found = dict[tuple[int, ...], float]()
    for group in permutations(range(len(adds)), 4):
        period = sum(max(stages[job, (slot - at) % 4] for at, job in enumerate(group)) for slot in range(4))
        a, b, c, d = group
        found[a, c, b, d] = float(adds[[*group]].sum() / period - pays[[*group]].sum())
    return found


@cache
def _noisy(noise: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[tuple[int, ...], float]]:
    """Return stages of jobs of three kinds and some noise, what they add and pay, and what every group is worth."""
    rng = np.random.default_rng(noise)
    stages = (rng.integers(1, 300, (3, 4))[rng.integers(0, 3, 11)] + rng.integers(0, noise, (11, 4))).astype(float)
    adds, pays = stages.sum(axis=1) * 1e5, rng.uniform(0, 60_000, 11)
    return stages, adds, pays, _profits(stages, adds, pays)


def _turned(group: tuple[int, ...]) -> tuple[int, ...]:
    """Return the same for all orders that only turn the cycle."""
    a, c, b, d = group
    cycle = (a, b, c, d)
    return min(cycle[by:] + cycle[:by] for by in range(4))


@pytest.mark.parametrize("at_once", [1, 5, 4096])
@pytest.mark.parametrize("noise", [1, 30, 1000])
def test_every_group_above_the_least_is_yielded(noise: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of jobs alike, and of different ones."""
    for name in ("_AT_ONCE", "_MET", "_PROMISING"):
        monkeypatch.setattr(pair_tree, name, at_once)
    stages, adds, pays, profits = _noisy(noise)
    first, second = np.triu_indices(11, 1)
    tree = PairTree([*stages.T], adds, pays, first, second)
    for share in (0.0, 0.5, 0.98):
        least = float(np.quantile([*profits.values()], share))
        if least <= 0:
            continue
        found = {_turned(tuple(group)) for groups in tree.above(partial(float, least)) for group in groups.tolist()}
        assert found >= {_turned(group) for group, profit in profits.items() if profit > least}
        near = least * (1 - 1e-4)
        assert all(profits[a, c, b, d] > near for a, b, c, d in found)


def test_a_least_that_rises_leaves_the_best_group() -> None:
    rng = np.random.default_rng(2)
    stages = rng.integers(1, 300, (11, 4)).astype(float)
    adds, pays = stages.sum(axis=1) * 1e5, rng.uniform(0, 60_000, 11)
    profits = _profits(stages, adds, pays)
    seen = [1.0]
    first, second = np.triu_indices(11, 1)
    for groups in PairTree([*stages.T], adds, pays, first, second).above(lambda: seen[-1]):
        for a, c, b, d in groups.tolist():
            seen.append(max(seen[-1], profits[a, c, b, d] - 1.0))
    assert seen[-1] == max(profits.values()) - 1.0
