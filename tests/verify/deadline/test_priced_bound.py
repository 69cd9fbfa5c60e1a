"""A bound by a price of GPUs is no less than the best choice, and near it where jobs are small beside the cluster."""

from __future__ import annotations

from random import Random

from muri_opt.verify.counting import Pool, counted_best
from muri_opt.verify.deadline.optimum import priced_bound


def drawn_tables(draw: Random, jobs: int, scale: int) -> list[dict[int, int]]:
    """Return values by GPUs of some jobs; a few may not run."""
    return [
        {size: scale * draw.randint(0, 9) + draw.randint(0, 5) for size in range(1, draw.randint(0, 5) + 1)}
        for _ in range(jobs)
    ]


def test_no_choice_is_worth_more_than_the_bound() -> None:
    for seed in range(200):
        draw = Random(f"priced/{seed}")
        tables, total = (
            drawn_tables(draw, draw.randint(0, 9), draw.choice((1, 10**6, 10**30, 10**400))),
            draw.randint(0, 20),
        )
        best = counted_best(total, [Pool(tables, total)], steps=10**9)
        assert best is not None
        assert priced_bound(total, tables) >= best, seed


def test_many_small_jobs_leave_next_to_no_gap() -> None:
    draw = Random("many")
    tables, total = drawn_tables(draw, 800, 1000), 900
    best = counted_best(total, [Pool(tables, total)], steps=10**9)
    assert best is not None
    assert best <= priced_bound(total, tables) <= best + 20_000
