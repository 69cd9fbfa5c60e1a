"""Draw rounds of a strategy, the same for the same seed, and let Hypothesis make one smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings, strategies as st
from hypothesis.errors import Flaky

from muri_opt.rounds import Round
from muri_opt.testing.left_out import without_limits
from muri_opt.testing.strategies_demands import seeded_demanding_rounds
from muri_opt.testing.strategies_families import full_rounds
from muri_opt.testing.strategies_gangs import seeded_gang_rounds


class FoundError(Exception):
    """Tells Hypothesis that a round is one that is looked for."""


@lru_cache(maxsize=16)
def rounds_of_family(
    family: str,
    examples: int,
    seed_: int,
    fields: frozenset[str] = frozenset(),
    without: frozenset[str] = frozenset(),
) -> tuple[Round, ...]:
    """Return rounds of a family, with some of the fields of format 2 and without some of the limits if told.

    They are kept, as drawing them takes longer than most allocators take to decide them.
    """
    if without:
        themes_alone = family == "gangs" and not fields
        full = (
            seeded_gang_rounds(examples, seed_, without)
            if themes_alone
            else rounds_of_family(family, examples, seed_, fields)
        )
        return tuple(without_limits(round_, without) for round_ in full)
    if fields:
        plain = None if family == "gangs" else rounds_of_family(family, examples, seed_)
        return seeded_demanding_rounds(examples, seed_, fields, plain, lent=family == "tenants")
    if family == "gangs":
        return seeded_gang_rounds(examples, seed_)
    return drawn_rounds(full_rounds(family), examples, seed_)


def drawn_rounds(strategy: st.SearchStrategy[Round], examples: int, seed_: int) -> tuple[Round, ...]:
    """Return rounds of a strategy, in the order in which they are drawn."""
    rounds: list[Round] = []

    def keep(round_: Round) -> None:
        rounds.append(round_)

    show(strategy, keep, (Phase.generate,), examples=examples, seed_=seed_)
    return tuple(rounds)


def show(
    strategy: st.SearchStrategy[Round],
    look: Callable[[Round], None],
    phases: Sequence[Phase],
    *,
    examples: int,
    seed_: int,
) -> None:
    """Show rounds to ``look`` until it raises ``FoundError``, then smaller ones if shrinking is one of the phases."""
    run = settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    try:
        seed(seed_)(run(given(strategy)(look)))()
    except (FoundError, Flaky):
        return
