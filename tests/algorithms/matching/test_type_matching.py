"""A matching of equal vertices equals the matching of all of them written out, and proves itself."""

import numpy as np
import pytest
from seeds import seed_by_seed

from muri_opt import InputError
from muri_opt.algorithms.matching import match_types, max_weight_matching, typed_matching
from muri_opt.verify.certificates.matching import type_matching_breaches


def breaches(weights, counts, found, **changed):
    matching = found.matching
    blossoms = [(blossom.vertices, blossom.dual) for blossom in matching.blossoms]
    parts = {
        "value": found.value,
        "residue": found.residue,
        "matching": (matching.mate, matching.value, matching.vertex_duals, blossoms),
        "copied_pairs": found.copied_pairs,
        "copied_alone": found.copied_alone,
        **changed,
    }
    return type_matching_breaches(np.array(weights), np.array(counts), **parts)


def random_types(draw, most_types, most_vertices, high):
    size = int(draw.integers(1, most_types + 1))
    upper = np.triu(draw.integers(-(high // 4), high, (size, size)))
    return upper + np.triu(upper, 1).T, draw.integers(0, most_vertices + 1, size)


@pytest.mark.parametrize("high", [4, 50, 1000])
@seed_by_seed(3, 8)
@pytest.mark.parametrize("worthwhile", [0, typed_matching.WORTHWHILE])
def test_the_value_is_that_of_the_graph_written_out(monkeypatch, worthwhile, seed, high):
    monkeypatch.setattr(typed_matching, "WORTHWHILE", worthwhile)  # 0: copies even in graphs as small as these
    draw = np.random.default_rng([seed, high])
    for _ in range(12):
        weights, counts = random_types(draw, 6, 12, high)
        kind = np.repeat(np.arange(len(counts)), counts)
        written_out = weights[np.ix_(kind, kind)]
        found = match_types(weights, counts)
        assert found.value == max_weight_matching(written_out).value
        assert breaches(weights, counts, found) == []
        pairs = found.pairs(len(counts))
        assert (pairs.sum(axis=1) + np.diag(pairs) <= counts).all()
        assert int((np.triu(pairs) * np.maximum(weights, 0)).sum()) == found.value


@pytest.mark.parametrize("types", [8, 48])
def test_a_hundred_thousand_vertices_are_proved(types):
    draw = np.random.default_rng(types)
    upper = np.triu(draw.integers(1, 10**6, (types, types)))
    weights, counts = upper + np.triu(upper, 1).T, draw.multinomial(100_000, np.ones(types) / types)
    found = match_types(weights, counts)
    assert breaches(weights, counts, found) == []
    assert len(found.residue) < 2_000


def test_vertices_that_pair_with_nobody_are_copied_alone():
    found = match_types([[0, 3], [3, 0]], [1_000, 10])
    assert (found.value, found.copied_alone[0][1] > 900) == (30, True)
    assert breaches([[0, 3], [3, 0]], [1_000, 10], found) == []


def test_nothing_to_match():
    assert match_types(np.zeros((0, 0), dtype=int), []).value == 0
    assert match_types([[5]], [0]).value == 0


@pytest.mark.parametrize(
    ("weights", "counts", "field"),
    [([[1, 2], [3, 4]], [1, 1], "weights"), ([[1]], [1, 2], "weights"), ([[1]], [-1], "counts")],
)
def test_bad_input_is_refused(weights, counts, field):
    with pytest.raises(InputError) as refused:
        match_types(weights, counts)
    assert refused.value.field == field


WEIGHTS, COUNTS = [[4, 9, 1], [9, 2, 5], [1, 5, 6]], [40, 31, 20]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: {"value": f.value + 1}, "the pairs weigh"),
        (lambda f: {"copied_pairs": f.copied_pairs[1:]}, "add up"),
        (lambda f: {"copied_pairs": [(u, v, times + 1) for u, v, times in f.copied_pairs]}, "add up"),
        (lambda f: {"copied_pairs": [(0, len(f.residue) - 1, 1), *f.copied_pairs]}, "not tight"),
        (lambda _: {"copied_alone": [(0, 1)]}, "not free"),
    ],
)
def test_a_broken_proof_is_named(change, words):
    found = match_types(WEIGHTS, COUNTS)
    assert breaches(WEIGHTS, COUNTS, found) == []
    assert words in " ".join(breaches(WEIGHTS, COUNTS, found, **change(found)))
