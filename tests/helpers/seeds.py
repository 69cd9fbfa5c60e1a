"""Seeds of rounds for a comparison with brute force: some in the suite, all others with the slow tests."""

from __future__ import annotations

import pytest


def some_then_all(some: int, every: int) -> pytest.MarkDecorator:
    """Give a test its ``seeds``: the first ``some`` of them in the suite, and in ``make test-all`` the others too."""
    others = pytest.param(range(some, every), id="others", marks=pytest.mark.slow)
    return pytest.mark.parametrize("seeds", [pytest.param(range(some), id="some"), others])


def seed_by_seed(some: int, every: int) -> pytest.MarkDecorator:
    """Give a test one ``seed`` at a time: the first ``some`` in the suite, and in ``make test-all`` the others too."""
    others = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(some, every)]
    return pytest.mark.parametrize("seed", [*range(some), *others])


def chunk_by_chunk(some: int, every: int, size: int) -> pytest.MarkDecorator:
    """Give a test ``size`` of its ``seeds`` at a time: those below ``some`` in the suite, then all below ``every``."""
    chunks = [range(first, first + size) for first in range(0, every, size)]
    marked = [pytest.param(chunk, marks=[pytest.mark.slow] * (chunk.start >= some)) for chunk in chunks]
    return pytest.mark.parametrize("seeds", marked, ids=str)
