"""The matching equals networkx's optimum and proves itself, whatever the graph."""

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from seeds import seed_by_seed

from muri_opt import InputError
from muri_opt.algorithms.matching import ENGINES, max_weight_matching
from muri_opt.verify.certificates.matching import matching_breaches


def breaches(weights, matching, **changed):
    parts = {
        "mate": matching.mate,
        "value": matching.value,
        "vertex_duals": matching.vertex_duals,
        "blossoms": [(blossom.vertices, blossom.dual) for blossom in matching.blossoms],
        **changed,
    }
    return matching_breaches(np.array(weights), **parts)


def best_by_networkx(weights):
    graph = networkx.Graph()
    graph.add_weighted_edges_from(
        (u, v, int(weights[u, v])) for u in range(len(weights)) for v in range(u) if weights[u, v] > 0
    )
    return sum(int(weights[u, v]) for u, v in networkx.max_weight_matching(graph))


def random_graph(draw, kind):
    """Complete, sparse, tied, odd, with negative, zero and equal weights."""
    n = int(draw.integers(1, 15))
    high = {"ties": 3, "small": 10, "complete": 1000, "sparse": 1000, "wide": 10**6, "equal": 1}[kind]
    low = 1 if kind == "complete" else -(high // 3)
    weights = draw.integers(low, high + 1, (n, n))
    if kind == "sparse":
        weights[draw.random((n, n)) < 0.6] = 0
    upper = np.triu(weights, 1)
    return upper + upper.T


@seed_by_seed(4, 10)
@pytest.mark.parametrize("kind", ["ties", "small", "complete", "sparse", "wide", "equal"])
def test_random_graphs_match_networkx_and_prove_themselves(kind, seed):
    draw = np.random.default_rng([seed, len(kind)])
    for _ in range(34):  # 2,040 graphs in all
        weights = random_graph(draw, kind)
        matching = max_weight_matching(weights)
        assert breaches(weights, matching) == []
        assert matching.value == best_by_networkx(weights)


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 9))
    entries = draw(st.lists(st.integers(-2, 12), min_size=n * n, max_size=n * n))
    upper = np.triu(np.array(entries, dtype=np.int64).reshape(n, n), 1)
    return upper + upper.T


@given(graphs())
def test_any_small_graph_is_proved(weights):
    matching = max_weight_matching(weights)
    assert breaches(weights, matching) == []
    assert matching.value == sum(int(weights[u, v]) for u, v in matching.pairs)


@pytest.mark.parametrize("size", [60, 401, 700])
def test_larger_graphs_are_proved(size):
    """Sizes on both sides of the one from which duals of a random half are the start."""
    draw = np.random.default_rng(size)
    upper = np.triu(draw.integers(1, 500, (size, size)), 1)
    weights = upper + upper.T
    matching = max_weight_matching(weights)
    assert breaches(weights, matching) == []
    assert matching.value == max_weight_matching(weights, engine="rustworkx").value


def test_triangles_nested_in_triangles():
    """Blossoms inside blossoms: each corner of a heavy triangle is a heavier triangle."""
    weights = np.zeros((9, 9), dtype=np.int64)
    for corner in range(3):
        for u in range(3):
            for v in range(u):
                weights[3 * corner + u, 3 * corner + v] = weights[3 * corner + v, 3 * corner + u] = 20
    for u, v in ((0, 3), (4, 6), (7, 1)):
        weights[u, v] = weights[v, u] = 12
    matching = max_weight_matching(weights)
    assert breaches(weights, matching) == []
    assert matching.value == best_by_networkx(weights)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same_value(engine):
    weights = random_graph(np.random.default_rng(5), "complete")
    assert max_weight_matching(weights, engine=engine).value == best_by_networkx(weights)


def test_the_same_graph_gives_the_same_matching():
    weights = random_graph(np.random.default_rng(3), "ties")
    first, second = max_weight_matching(weights), max_weight_matching(weights)
    assert first.pairs == second.pairs
    assert first.vertex_duals.tolist() == second.vertex_duals.tolist()


def test_edges_of_no_weight_are_never_used():
    matching = max_weight_matching(np.array([[0, -5, 0], [-5, 0, 0], [0, 0, 0]]))
    assert (matching.pairs, matching.value) == ([], 0)


@pytest.mark.parametrize(
    ("weights", "field"),
    [
        (np.zeros((2, 3), dtype=int), "weights"),
        (np.zeros(4, dtype=int), "weights"),
        (np.array([[0.0, 0.5], [0.5, 0.0]]), "weights"),
        (np.array([[0, 1], [2, 0]]), "weights[0, 1]"),
        (np.array([[0, 1 << 55], [1 << 55, 0]]), "weights"),
    ],
)
def test_bad_weights_are_refused(weights, field):
    with pytest.raises(InputError) as refused:
        max_weight_matching(weights)
    assert refused.value.field == field


def test_an_unknown_engine_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'networkx'"):
        max_weight_matching(np.zeros((2, 2), dtype=int), engine="netwrkx")


WEIGHTS = np.array([[0, 5, 5, 1], [5, 0, 5, 1], [5, 5, 0, 1], [1, 1, 1, 0]])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: {"value": m.value + 1}, "the pairs weigh"),
        (lambda m: {"mate": np.roll(m.mate, 1)}, "partners do not agree"),
        (lambda _: {"mate": np.full(4, -1)}, "the pairs weigh 0"),
        (lambda m: {"vertex_duals": m.vertex_duals + 1}, "the duals total"),
        (lambda m: {"vertex_duals": m.vertex_duals - m.vertex_duals.max()}, "negative"),
        (lambda m: {"vertex_duals": np.zeros_like(m.vertex_duals), "blossoms": []}, "do not cover"),
        (lambda _: {"blossoms": [((0, 1), 1)]}, "even"),
        (lambda _: {"blossoms": [((0, 1, 2), -1)]}, "negative"),
    ],
)
def test_a_broken_proof_is_named(change, words):
    matching = max_weight_matching(WEIGHTS)
    assert breaches(WEIGHTS, matching) == []
    assert words in " ".join(breaches(WEIGHTS, matching, **change(matching)))


def test_a_pair_that_is_no_edge_is_named():
    weights = np.zeros((2, 2), dtype=np.int64)
    matching = max_weight_matching(weights)
    assert "no edge" in " ".join(breaches(weights, matching, mate=np.array([1, 0])))
