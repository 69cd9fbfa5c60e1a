"""The best values that GPUs allow by their number, against trying every choice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.verify import counting
from muri_opt.verify.counting import Pool, best_from_each, counted_best, with_one_more

VALUES = st.integers(-(10**12), 10**12)
LARGEST = (1 << 61) - 1


@pytest.mark.parametrize("at_once", [0, 10_000])
@given(best=st.lists(VALUES, min_size=1, max_size=12), table=st.dictionaries(st.integers(0, 14), VALUES, max_size=8))
def test_each_number_of_gpus_has_the_best_of_all_entries(at_once: int, best: list[int], table: dict[int, int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_AT_ONCE", at_once)
        found = with_one_more(np.array(best, dtype=np.int64), table)
    assert found.tolist() == [
        max([value, *(best[gpus - k] + gain for k, gain in table.items() if k <= gpus)])
        for gpus, value in enumerate(best)
    ]


@pytest.mark.parametrize("at_once", [-1, 10_000])
def test_numbers_as_large_as_are_allowed_are_added_without_loss(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_AT_ONCE", at_once)
    before = np.array([0, LARGEST], dtype=np.int64)
    assert with_one_more(before, {0: -LARGEST, 1: LARGEST, 2: LARGEST}).tolist() == [0, LARGEST]
    assert with_one_more(before, {0: LARGEST}).tolist() == [LARGEST, 2 * LARGEST]
    assert before.tolist() == [0, LARGEST]


def choices(tables: Sequence[dict[int, int]]) -> list[tuple[int, int]]:
    """Return GPUs and value of every choice of one entry or none from each table."""
    picks = product(*([(0, 0), *table.items()] for table in tables))
    return [(sum(gpus for gpus, _ in pick), sum(value for _, value in pick)) for pick in picks]


TABLES = st.lists(st.dictionaries(st.integers(0, 5), st.integers(-9, 20), max_size=3), max_size=3)


@given(
    total=st.integers(0, 12),
    pools=st.lists(st.tuples(TABLES, st.integers(0, 12), st.none() | st.integers(0, 9)), max_size=3),
    scale=st.sampled_from([1, 1 << 59, 1 << 80]),
)
def test_counting_equals_trying_every_choice(
    total: int, pools: list[tuple[list[dict[int, int]], int, int | None]], scale: int
) -> None:
    """A pool may have a limit, or GPUs that are worth something each, up to four."""
    best = 0
    for pick in product(*(choices(tables) for tables, _, _ in pools)):
        if sum(gpus for gpus, _ in pick) > total:
            continue
        if all(gpus <= min(most, total) for (gpus, _), (_, most, _) in zip(pick, pools, strict=True)):
            worth = sum(min(gpus, 4) * (each or 0) for (gpus, _), (_, _, each) in zip(pick, pools, strict=True))
            best = max(best, worth + sum(value for _, value in pick))
    asked = [
        Pool(
            [{gpus: value * scale for gpus, value in table.items()} for table in tables],
            min(most, total),
            None if each is None else lambda gpus, each=each: min(gpus, 4) * each * scale,
        )
        for tables, most, each in pools
    ]
    assert counted_best(total, asked, steps=10**9) == best * scale


def test_counting_stops_at_its_steps_and_sooner_with_large_numbers() -> None:
    pool = Pool([{1: 1, 2: 1}, {1: 1}], 10)  # three entries within ten GPUs, then ten by fifteen together
    assert counted_best(15, [pool], steps=180) == 2
    assert counted_best(15, [pool], steps=179) is None
    assert counted_best(10, [pool], steps=30) == 2
    large = Pool([{1: 1 << 70}, {1: 1}], 300_000)
    assert counted_best(300_000, [large], steps=10**9) is None
    assert counted_best(250_000, [large._replace(most=250_000)], steps=10**9) == (1 << 70) + 1


def test_of_one_job_no_sums_are_made() -> None:
    table = {1: 5, 3: 1 << 70, 4: 1 << 80, 2: -1}
    assert counted_best(10**9, [Pool([table], 3)], steps=0) == 1 << 70
    assert counted_best(2, [Pool([table], 10**9)], steps=0) == 5
    assert counted_best(0, [Pool([table], 3)], steps=0) == 0


@given(st.integers(0, 12), TABLES, st.sampled_from([1, 1 << 61, 1 << 80]))
def test_the_rest_of_the_jobs_has_its_best_for_any_gpus(total: int, tables: list[dict[int, int]], scale: int) -> None:
    rests = best_from_each(total, [{gpus: value * scale for gpus, value in table.items()} for table in tables])
    assert len(rests) == len(tables) + 1
    for job, rest in enumerate(rests):
        for free in range(total + 1):
            best = max(value for gpus, value in choices(tables[job:]) if gpus <= free)
            assert rest[min(free, len(rest) - 1)] == best * scale


def test_what_is_too_much_to_count_is_worth_as_much_as_with_any_gpus() -> None:
    tables = [{10**6: 5, 1: 4}, {10**6: 7}, {}]
    assert best_from_each(10**7, tables) == [[12], [7], [0], [0]]


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=60),
    st.dictionaries(st.integers(0, 70), st.integers(-20, 50), max_size=70),
)
def test_sums_of_many_sizes_are_those_of_each(steps: list[int], table: dict[int, int]) -> None:
    best = np.cumsum(np.array(steps, dtype=np.int64))
    plain = [
        max([int(have), *(int(best[gpus - size]) + worth for size, worth in table.items() if size <= gpus)])
        for gpus, have in enumerate(best)
    ]
    assert with_one_more(best, table).tolist() == plain
    assert counting._with_all(best, [table]).tolist() == plain
