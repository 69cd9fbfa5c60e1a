"""Graphs matched together have the value of each alone, and each matching proves itself."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import seed_by_seed

from muri_opt.algorithms import max_weight_matching
from muri_opt.algorithms.matching import many_graphs, match_each
from muri_opt.errors import InputError
from muri_opt.verify.certificates.matching import matching_breaches


def graph(draw: np.random.Generator, vertices: int, most: int) -> np.ndarray:
    weights = np.triu(draw.integers(0, most + 1, (vertices, vertices)), 1)
    weights[draw.random(weights.shape) < draw.choice([0.0, 0.4, 0.9])] = 0
    return weights + weights.T


@pytest.mark.parametrize("most", [1, 5, 1_000, 10**9])
@seed_by_seed(5, 12)
def test_graphs_together_are_matched_as_each_alone(seed: int, most: int) -> None:
    draw = np.random.default_rng(seed)
    sizes = [0, 1, 1, *[int(draw.integers(2, 30))] * 6, 3, *[48] * 3, 7]
    graphs = [graph(draw, size, most) for size in sizes]
    found = [*match_each(graphs)]
    assert len(found) == len(graphs)
    for one, weights in zip(found, graphs, strict=True):
        blossoms = [(blossom.vertices, blossom.dual) for blossom in one.blossoms]
        proof = {"mate": one.mate, "value": one.value, "vertex_duals": one.vertex_duals, "blossoms": blossoms}
        assert matching_breaches(weights, **proof) == []
        assert one.value == max_weight_matching(weights).value


def test_large_graphs_are_matched_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_graphs, "SMALL", 5)
    graphs = [graph(np.random.default_rng(seed), 12, 100) for seed in range(3)]
    assert [one.value for one in match_each(graphs)] == [max_weight_matching(weights).value for weights in graphs]


def test_weights_whose_sums_are_not_exact_are_refused() -> None:
    weights = np.array([[0, 1 << 50], [1 << 50, 0]])
    with pytest.raises(InputError, match="for 2 vertices"):
        next(match_each([weights, weights]))
