"""Rows and runs that differ are told apart, also where the numbers that stand for them are equal."""

from __future__ import annotations

from itertools import chain
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import muri_opt.rounds.unlike
from muri_opt.rounds.unlike import unlike_rows, unlike_runs

NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(2**62), 2**62))


@pytest.fixture(params=[muri_opt.rounds.unlike._MIXING, 0], ids=["told", "all alike at first"])
def _mixing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(muri_opt.rounds.unlike, "_MIXING", request.param)


@pytest.mark.usefixtures("_mixing")
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 1)), min_size=1, max_size=20))
def test_each_row_is_like_the_first_of_its_own(rows: list[tuple[int, int, int]]) -> None:
    first, alike = unlike_rows(np.array(rows, dtype=np.int64))
    assert first[alike].tolist() == [rows.index(row) for row in rows]


@pytest.mark.usefixtures("_mixing")
@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=4), min_size=1, max_size=20), st.randoms())
def test_each_run_is_like_the_first_of_its_own(runs: list[list[int]], draw: Random) -> None:
    runs = [*runs, *(runs[: len(runs) // 2])]
    ends = np.cumsum([len(run) for run in runs])
    starts = ends - [len(run) for run in runs]
    first, alike = unlike_runs(np.array([*chain.from_iterable(runs)], dtype=np.int64), starts, ends)
    assert first[alike].tolist() == [runs.index(run) for run in runs]
    line = list(range(len(runs)))
    draw.shuffle(line)  # runs need not be in the order of their values
    first, alike = unlike_runs(np.array([*chain.from_iterable(runs)], dtype=np.int64), starts[line], ends[line])
    shuffled = [runs[at] for at in line]
    assert first[alike].tolist() == [shuffled.index(run) for run in shuffled]
