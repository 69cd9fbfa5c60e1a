"""Max-min, Optimus and elastic SRTF: by hand, and against plain loops."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.systems.afs import NEVER, max_min_shares, optimus_shares, srtf_shares


def test_max_min_by_hand():
    cap = np.array([1, 4, 2, 4])
    assert max_min_shares(cap, 6, order=[0, 1, 2, 3]).tolist() == [1, 2, 2, 1]
    assert max_min_shares(cap, 6, order=[3, 2, 1, 0]).tolist() == [1, 1, 2, 2]
    assert max_min_shares(cap, 9, order=[0, 1, 2, 3]).tolist() == [1, 3, 2, 3]
    assert max_min_shares(cap, 99, order=[0, 1, 2, 3]).tolist() == [1, 4, 2, 4]
    assert max_min_shares(cap, 0, order=[0, 1, 2, 3]).tolist() == [0, 0, 0, 0]
    assert max_min_shares(np.array([], dtype=np.int64), 3, order=[]).tolist() == []


def test_optimus_by_hand():
    """10 s and 30 s on one GPU: the second GPU of the long job saves 14 s, its third 5 s, that of the short one 4 s."""
    time = np.array([[NEVER, 10, 6, 5], [NEVER, 30, 16, 11]])
    cap = np.array([3, 3])
    shares = [optimus_shares(cap, time, gpus).tolist() for gpus in range(8)]
    assert shares == [[0, 0], [1, 0], [1, 1], [1, 2], [1, 3], [2, 3], [3, 3], [3, 3]]


def test_optimus_keeps_gpus_that_save_nothing():
    assert optimus_shares(np.array([3]), np.array([[NEVER, 10, 11, 1]]), 3).tolist() == [1]


def test_srtf_serves_who_then_ends_first():
    """On all it can use the second job ends after 4, though on one GPU the first is shorter."""
    time = np.array([[NEVER, 5, NEVER, NEVER], [NEVER, 12, 6, 4]])
    assert srtf_shares(np.array([1, 3]), time, 3).tolist() == [0, 3]
    assert srtf_shares(np.array([1, 3]), time, 4).tolist() == [1, 3]
    assert srtf_shares(np.array([1, 3]), time, 2).tolist() == [1, 1]
    assert srtf_shares(np.array([1, 3]), time, 0).tolist() == [0, 0]


@st.composite
def tables(draw):
    jobs, most = draw(st.integers(0, 5)), draw(st.integers(1, 5))
    cap = [draw(st.integers(0, most)) for _ in range(jobs)]
    time = np.full((jobs, most + 1), NEVER)
    for j in range(jobs):
        time[j, 1 : cap[j] + 1] = draw(st.lists(st.integers(0, 9), min_size=cap[j], max_size=cap[j]))
    return np.array(cap, dtype=np.int64), time, draw(st.integers(0, 12)), draw(st.permutations(range(jobs)))


@given(tables())
def test_max_min_is_a_round_robin(table):
    cap, _, gpus, order = table
    shares, left = np.zeros(len(cap), dtype=int), gpus
    while left and (shares < cap).any():
        for job in order:
            if left and shares[job] < cap[job]:
                shares[job] += 1
                left -= 1
    assert max_min_shares(cap, gpus, order=order).tolist() == shares.tolist()


@given(tables())
def test_optimus_gives_where_most_is_saved(table):
    cap, time, gpus, _ = table
    shares = [0] * len(cap)
    for _ in range(gpus):
        idle = [j for j in range(len(cap)) if not shares[j] and cap[j]]
        if idle:
            best = min(idle, key=lambda j: time[j, 1])
        else:
            able = [j for j in range(len(cap)) if shares[j] < cap[j]]
            saves = {j: time[j, shares[j]] - time[j, shares[j] + 1] for j in able}
            best = max(able, key=saves.get, default=None)
            if best is None or saves[best] <= 0:
                break
        shares[best] += 1
    assert optimus_shares(cap, time, gpus).tolist() == shares


@given(tables())
def test_srtf_fills_one_job_after_another(table):
    cap, time, gpus, _ = table
    shares, left = [0] * len(cap), gpus
    for job in sorted(range(len(cap)), key=lambda j: time[j, min(cap[j], gpus)]):
        shares[job] = min(int(cap[job]), left)
        left -= shares[job]
    assert srtf_shares(cap, time, gpus).tolist() == shares


def test_an_order_names_every_job():
    with pytest.raises(InputError, match=r"scan: found \[0, 2\]; allowed: each of the 2 job positions once"):
        max_min_shares(np.array([1, 1]), 2, order=[0, 2])
