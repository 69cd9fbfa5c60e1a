"""Settings for tests that find their faults in few of the examples drawn for them, and so draw many."""

from __future__ import annotations

from hypothesis import settings

QUICK = 16
"""How many examples a test draws in the suite unless it says otherwise; ``make test-all`` draws more."""


def more_examples(count: int) -> settings:
    """Return settings that draw ``count`` examples in ``make test-all``, else a third of them, but at least ``QUICK``.

    Modules of tests are read after the profile was chosen, so that it is known when this is called.
    """
    return settings(max_examples=some_of(max(QUICK, count // 3), count))


def some_of(some: int, every: int) -> int:
    """Return how many examples a check of the kit draws: ``some`` in the suite, ``every`` one in ``make test-all``."""
    return some if settings().max_examples == QUICK else every
