"""Best values by number of GPUs, against trying every entry of a table for every number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muri_opt.verify import counting
from muri_opt.verify.counting import with_one_more

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
