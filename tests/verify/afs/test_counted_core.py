"""Counting what prices leave open gives what counting everything gives."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.rounds.generate.families import generate
from muri_opt.verify.afs import dual_bound
from muri_opt.verify.afs.counted_core import core_best
from muri_opt.verify.afs.value import Elastic
from muri_opt.verify.counting import Pool, counted_best

TABLES = st.lists(
    st.dictionaries(st.integers(1, 6), st.integers(-3, 30) | st.integers(0, 6).map(lambda k: 10 * k), max_size=5),
    max_size=8,
)


@given(TABLES, st.integers(0, 14))
@more_examples(400)
def test_the_best_of_what_is_open_is_the_best_of_all(tables: list[dict[int, int]], gpus: int) -> None:
    found = core_best(gpus, tables, steps=10**6)
    expected = counted_best(gpus, [Pool(tables, gpus)], steps=10**6)
    assert found == expected or (found is None and not any(v > 0 and k <= gpus for t in tables for k, v in t.items()))


@pytest.mark.parametrize("objective", ["speed", "jobs-then-speed", "time"])
def test_of_many_jobs_few_are_open(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = generate("elastic", jobs=150, nodes=20, seed=3)
    values = Elastic(objective=objective, by_node=False, horizon=600_000_000).values(round_)
    plain = dual_bound.counted_bound(round_, values)
    work = 160 * sum(map(len, values))
    assert core_best(160, values, steps=work // 4) == plain
    monkeypatch.setattr(dual_bound, "MANY_STEPS", work // 4)
    assert dual_bound.counted_bound(round_, [*values]) == plain


def test_numbers_that_are_too_large_are_left_to_others() -> None:
    assert core_best(4, [{4: 1 << 59}], steps=100) is None
    assert core_best(4, [{1: 1 << 60}, {1: 1 << 60}], steps=100) is None
    assert core_best(4, [{1: 1 << 60}], steps=100) == 1 << 60
    assert core_best(4, [{1: 5}, {1: 5}], steps=0) == 10
