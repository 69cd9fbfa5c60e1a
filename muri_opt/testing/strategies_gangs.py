"""Rounds of gangs that say all that such a round can say: as a strategy of Hypothesis, or a seeded sequence.

The strategy shrinks to few jobs and nodes (``j0``, ``n0``) with small whole numbers and few fields. The sequence is the
same with every version of Hypothesis, differs from round to round, and takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from muri_opt.rounds import Round
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.testing.gang_building import THEMES, Draft, Pick, gang_round, job_draft

_BLOCK: Final = 4096
TURNS: Final = ("gpus", "cpus", "memory", "quotas", "cpus", "memory", "quotas", "all")
"""The themes of a sequence: most of all those where one thing alone is short."""
MOST_JOBS: Final = (4, 8)
"""Few jobs come closer to a limit, many to each other; in turn."""


@st.composite
def gang_rounds(draw: st.DrawFn, *, max_jobs: int = 5, theme: str | None = None) -> Round:
    """Draw a round of up to ``max_jobs`` gangs, as ``gang_round`` builds it.

    In every round something is short: GPUs, quotas, CPUs, memory, or all of them. ``theme`` says which.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(gang_rounds(max_jobs=3))
    ... def holds(round_):
    ...     assert len(round_.jobs) <= 3
    >>> holds()
    """
    return gang_round(_drawn(draw), max_jobs=max_jobs, theme=theme)


@st.composite
def gang_drafts(draw: st.DrawFn) -> Draft:
    """Draw what ``gang_job`` makes a waiting job of."""
    pick = _drawn(draw)
    return job_draft(pick, pick(THEMES))


def seeded_gang_rounds(examples: int, seed: int, left_out: Collection[str] = ()) -> tuple[Round, ...]:
    """Return rounds of all themes in turn, but for those that are left out; the first has no jobs."""
    pick = seeded_picks(seed)
    turns = [theme for theme in TURNS if theme not in left_out]
    rounds = []
    for place in range(examples):
        turn, at = divmod(place, len(turns))
        most = MOST_JOBS[turn % len(MOST_JOBS)] if place else 0
        rounds.append(gang_round(pick, max_jobs=most, theme=turns[at]))
    return tuple(rounds)


def _drawn(draw: st.DrawFn) -> Pick:
    return lambda options: options[draw(_index(len(options)))]


@cache
def _index(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def seeded_picks(seed: int) -> Pick:
    """Return choices that are the same on every machine for the same seed."""
    numbers = _uniform(Draws(seed))

    def pick(options: Sequence[Any]) -> Any:
        return options[int(next(numbers) * len(options))]

    return pick


def _uniform(draws: Draws) -> Iterator[float]:
    while True:
        yield from draws.uniform(_BLOCK).tolist()
