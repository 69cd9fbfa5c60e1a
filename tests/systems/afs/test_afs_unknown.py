"""AFS-P: jobs take turns, and extra GPUs go where they are sure to be best, by a coin where they are not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.systems.afs import afs_p_shares

TABLES = st.lists(st.lists(st.integers(1, 6), max_size=5), max_size=6)
"""Speeds with 1, 2, ... GPUs, small enough that gains are equal at times."""


class _Coin:
    """A coin that always falls on one side."""

    def __init__(self, side: int) -> None:
        self.side = side

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        assert (low, high) == (0, 2)
        return np.full(size, self.side)


def arrays(tables: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    cap = np.array([len(table) for table in tables], dtype=np.int64)
    speed = np.zeros((len(tables), 7), dtype=np.int64)
    for place, table in enumerate(tables):
        speed[place, 1 : len(table) + 1] = table
    return speed, cap


def plain_shares(
    tables: list[list[int]], gpus: int, quanta: list[int], keeps: list[int], order: list[int], heads: bool
) -> list[int]:
    """The rule step by step, with a coin that always falls on one side."""
    shares, left = [0] * len(tables), gpus
    able = sorted((job for job in order if tables[job]), key=lambda job: quanta[job])
    others = list(able)
    if len(able) >= gpus:
        for job in able:
            shares[job] = min(keeps[job], len(tables[job]), left)
            left -= shares[job]
        others = [job for job in able if not shares[job]]
    for job in others[:left]:
        shares[job], left = 1, left - 1
    while left:
        best = None
        for job in others:
            if not 0 < shares[job] < len(tables[job]):
                continue
            if best is None or _prefers(tables[best], shares[best], tables[job], shares[job], heads):
                best = job
        if best is None:
            break
        shares[best] += 1
        left -= 1
    return shares


def _prefers(candidate: list[int], held: int, scanned: list[int], share: int, heads: bool) -> bool:
    c, c_more, m, m_more = candidate[held - 1], candidate[held], scanned[share - 1], scanned[share]
    if (m_more - m) * c >= (c_more - c) * m_more:
        return True
    return heads and (c_more - c) * m < (m_more - m) * c_more


@given(st.data(), TABLES, st.integers(0, 20), st.booleans())
@more_examples(400)
def test_the_shares_are_those_of_the_plain_loop(
    data: st.DataObject, tables: list[list[int]], gpus: int, heads: bool
) -> None:
    count = len(tables)
    quanta = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    keeps = data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    order = data.draw(st.permutations(range(count)))
    speed, cap = arrays(tables)
    fields = {"quanta": np.array(quanta, dtype=int), "keeps": np.array(keeps, dtype=int), "order": np.array(order, int)}
    found = afs_p_shares(speed, cap, gpus, **fields, coin=_Coin(int(heads)))
    assert found.tolist() == plain_shares(tables, gpus, quanta, keeps, order, heads)


def plainly_won(speed: np.ndarray, shares: np.ndarray, jobs: np.ndarray, coin: np.random.Generator) -> int:
    """Return the last candidate of a scan in which each one tosses a coin for every job after it that needs one."""
    now, more = speed[jobs, shares[jobs]], speed[jobs, shares[jobs] + 1]
    gain, place = more - now, 0
    while True:
        rest = slice(place + 1, None)
        surely = gain[rest] * now[place] >= gain[place] * more[rest]
        perhaps = ~surely & (gain[place] * now[rest] < gain[rest] * more[place])
        heads = np.zeros_like(perhaps)
        heads[perhaps] = coin.integers(0, 2, size=np.count_nonzero(perhaps)) == 1
        if not (surely | heads).any():
            return int(jobs[place])
        place += 1 + int(np.argmax(surely | heads))


@given(st.integers(1, 40), st.integers(0, 60), st.integers(0, 1 << 20))
@more_examples(100)
def test_every_coin_is_that_of_its_job(count: int, more: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    cap = draw.integers(1, 9, size=count)
    steps = draw.integers(1, 12 + 100 * (seed % 2), size=(count, 9))
    speed = np.where(np.arange(10) <= cap[:, None], np.cumsum(np.pad(steps, ((0, 0), (1, 0))), axis=1), 0)
    none, gpus = np.zeros(count, dtype=np.int64), count + more
    found = afs_p_shares(
        speed, cap, gpus, quanta=none, keeps=none, order=range(count), coin=np.random.default_rng(seed + 1)
    )
    shares, coin = np.ones(count, dtype=np.int64), np.random.default_rng(seed + 1)
    while shares.sum() < gpus and (shares < cap).any():
        shares[plainly_won(speed, shares, np.flatnonzero(shares < cap), coin)] += 1
    assert found.tolist() == shares.tolist()


@given(st.data(), TABLES, st.integers(0, 20), st.integers(0, 9))
@more_examples(200)
def test_gpus_are_neither_lost_nor_made(data: st.DataObject, tables: list[list[int]], gpus: int, seed: int) -> None:
    count = len(tables)
    quanta = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), dtype=np.int64)
    keeps = np.array(data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)), dtype=np.int64)
    speed, cap = arrays(tables)
    one, other = (
        afs_p_shares(speed, cap, gpus, quanta=quanta, keeps=keeps, order=range(count), coin=np.random.default_rng(seed))
        for _ in range(2)
    )
    assert one.tolist() == other.tolist()
    assert (one >= 0).all()
    assert (one <= cap).all()
    able = int((cap > 0).sum())
    assert one.sum() <= gpus
    if able < gpus:
        assert one.sum() == min(gpus, cap.sum())
        assert (one[cap > 0] > 0).all()
    elif not (keeps > 1).any():
        assert one.sum() == gpus
        assert one.max(initial=0) <= 1


def test_a_fair_coin_falls_on_both_sides() -> None:
    speed, cap = arrays([[10, 18, 24]] * 2)
    none = np.zeros(2, dtype=np.int64)
    tossed = [
        afs_p_shares(speed, cap, 3, quanta=none, keeps=none, order=[0, 1], coin=np.random.default_rng(seed)).tolist()
        for seed in range(400)
    ]
    assert {tuple(found) for found in tossed} == {(2, 1), (1, 2)}
    assert 140 < tossed.count([2, 1]) < 260  # within six deviations of a half


def test_the_scan_for_further_gpus_begins_with_the_fewest_quanta() -> None:
    """The third GPU is tossed for in every scan; tails leave it to whoever is scanned first."""
    speed, cap = arrays([[10, 18, 24]] * 2)
    none, order = np.zeros(2, dtype=np.int64), [0, 1]
    for quanta, shares in (([0, 0], [2, 1]), ([1, 0], [1, 2]), ([0, 1], [2, 1])):
        found = afs_p_shares(speed, cap, 3, quanta=np.array(quanta), keeps=none, order=order, coin=_Coin(0))
        assert found.tolist() == shares


def test_a_job_within_its_quantum_gets_no_further_gpu() -> None:
    """Three jobs on four GPUs are fewer, on three they are not: then the first keeps two and one waits."""
    speed, cap = arrays([[10, 20, 30], [10, 11, 12], [10, 11, 12]])
    fields = {"quanta": np.zeros(3, dtype=np.int64), "keeps": np.array([2, 0, 0]), "order": [0, 1, 2]}
    assert afs_p_shares(speed, cap, 4, **fields, coin=_Coin(0)).tolist() == [2, 1, 1]
    assert afs_p_shares(speed, cap, 3, **fields, coin=_Coin(0)).tolist() == [2, 1, 0]
    fields["keeps"] = np.array([1, 0, 0])
    assert afs_p_shares(speed, cap, 3, **fields, coin=_Coin(0)).tolist() == [1, 1, 1]
    speed, cap = arrays([[10, 20, 30], [10, 20, 30], []])
    fields["keeps"] = np.array([1, 0, 0])
    assert afs_p_shares(speed, cap, 2, **fields, coin=_Coin(0)).tolist() == [1, 1, 0]
