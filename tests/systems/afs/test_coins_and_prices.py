"""Coins that are kept are those of their seed, and a price found among fewer shares is the one of all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.systems.afs import coin_scans, seeded_coin
from muri_opt.systems.afs.coin_scans import CoinScans
from muri_opt.systems.afs.program_columns import ShareTable
from muri_opt.systems.afs.program_pooled import _bought, _price
from muri_opt.systems.afs.seeded_coin import SeededCoin

TABLES = st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=5), min_size=1, max_size=6)


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 3))
def test_kept_coins_are_those_of_the_seed(sizes: list[int], seed: int) -> None:
    before, seeded_coin.MOST_KEPT = seeded_coin.MOST_KEPT, 64  # beyond these they are tossed anew
    try:
        seeded_coin._tossed.cache_clear()
        for _ in range(2):
            mine, plain = SeededCoin(seed), np.random.default_rng(seed)
            for size in sizes:
                assert mine.integers(0, 2, size=size).tolist() == plain.integers(0, 2, size=size).tolist()
    finally:
        seeded_coin.MOST_KEPT = before
        seeded_coin._tossed.cache_clear()


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(-2, 9)), min_size=1, max_size=12))
def test_ratios_tell_where_a_coin_decides(jobs: list[tuple[int, int]]) -> None:
    now, gain = (np.array(column, dtype=np.int64) for column in zip(*jobs, strict=True))
    speed = np.stack([np.zeros_like(now), now, now + gain], axis=1)
    scans = CoinScans(speed, np.ones(len(now), dtype=np.int64), np.random.default_rng(0))
    every = np.arange(len(now))
    open_ = scans._is_open(every[:, None], every) & (every > every[:, None])
    assert scans._tosses.tolist() == np.count_nonzero(open_, axis=1).tolist()
    ratio = coin_scans._ratios(now, gain)
    assert ratio is None or gain.min() > 0


@given(TABLES, st.integers(1, 12))
def test_the_price_is_the_least_at_which_jobs_buy_no_more_than_there_is(tables: list[list[int]], total: int) -> None:
    job = np.array([place for place, mine in enumerate(tables) for _ in mine], dtype=np.int64)
    gpus = np.array([size for mine in tables for size in range(1, len(mine) + 1)], dtype=np.int64)
    value = np.array([worth for mine in tables for worth in mine], dtype=np.int64)
    table = ShareTable(jobs=job, gpus=gpus, value=value, moved=value)
    price = _price(table, total)
    bought = [int(_bought(len(tables), job, gpus, value, each).sum()) for each in range(62)]
    assert price == next(each for each, sold in enumerate(bought) if sold <= total)
