"""Seeds of rounds for a comparison with brute force: some in the suite, all others with the slow tests."""

from __future__ import annotations

import pytest


def some_then_all(some: int, every: int) -> pytest.MarkDecorator:
    """Give a test its ``seeds``: the first ``some`` of them in the suite, and in ``make test-all`` the others too."""
    others = pytest.param(range(some, every), id="others", marks=pytest.mark.slow)
    return pytest.mark.parametrize("seeds", [pytest.param(range(some), id="some"), others])
