"""The pre-run pool: its arithmetic by hand, and the best lengths against every length there is."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.replay.failures import (
    NEVER,
    JobFailures,
    PreRun,
    Trial,
    best_length,
    best_lengths,
    break_even_gpus,
    first_failures,
    run_pool,
)

FAILS = st.one_of(st.just(NEVER), st.integers(1, 12))
ROWS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), FAILS), max_size=10)
PRICES = st.fractions(0, 3, max_denominator=7)


def gain(rows, length, price):
    """The gain as the rule says it, job by job."""
    total = Fraction(0)
    for gpus, fails in rows:
        if fails != NEVER and fails <= length:
            total += fails * (gpus - 1)
        else:
            total -= (1 + price) * length
    return total


def test_a_pool_by_hand():
    # One GPU. Job 0 runs 0-10 and goes through; job 1 waits 8 and fails at 3 (10-13); job 2 stays outside; job 3
    # comes at 20 and would fail at 11, after its pre-run.
    effect = run_pool(
        arrivals=[0, 2, 3, 20], gpus=[4, 8, 2, 2], fails=[NEVER, 3, 1, 11], lengths=[10, 10, 0, 10], pool_gpus=1
    )
    assert (effect.caught, effect.saved) == (1, 3 * 7)
    assert (effect.spent, effect.waited, effect.held_up, effect.idle_until) == (20, 8, 20, 30)
    two = run_pool(arrivals=[0, 2], gpus=[4, 8], fails=[NEVER, 3], lengths=[10, 10], pool_gpus=2)
    assert (two.waited, two.held_up, two.idle_until) == (0, 10, 10)


def test_jobs_of_one_gpu_are_not_run_ahead():
    lengths = PreRun(milliseconds=5, by_gpus={8: 7, 4: 0, 1: 9})
    assert [lengths.length(gpus) for gpus in (1, 2, 4, 8)] == [0, 5, 0, 7]


def test_first_failures():
    trials = tuple(Trial(failure="a", milliseconds=time) for time in (5, 3))
    assert first_failures([JobFailures(), JobFailures(trials=trials)]).tolist() == [NEVER, 5]


@given(ROWS, st.integers(1, 3), st.integers(1, 12), st.integers(1, 6))
def test_a_longer_pre_run_loses_no_detection(rows, pool, length, more):
    arrivals, gpus, fails = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    short, long = (
        run_pool(arrivals=arrivals, gpus=gpus, fails=fails, lengths=[time] * len(rows), pool_gpus=pool)
        for time in (length, length + more)
    )
    assert long.caught >= short.caught
    assert long.saved >= short.saved
    assert short.caught == sum(fail != NEVER and fail <= length for fail in fails)
    assert short.spent == length * (len(rows) - short.caught)


@given(ROWS, st.integers(1, 12), st.integers(1, 4))
def test_the_pool_is_first_come_first_served(rows, length, pool):
    """Against a pool played millisecond by millisecond."""
    rows = sorted(rows, key=lambda row: row[0])
    queue, running, waited, now, ended = list(rows), [], 0, 0, 0
    while queue or running:
        ended = now if any(end == now for end in running) else ended
        running = [end for end in running if end > now]
        while queue and queue[0][0] <= now and len(running) < pool:
            arrival, _, fails = queue.pop(0)
            waited += now - arrival
            running.append(now + (fails if fails != NEVER and fails <= length else length))
        now += 1
    effect = run_pool(
        arrivals=[row[0] for row in rows],
        gpus=[row[1] for row in rows],
        fails=[row[2] for row in rows],
        lengths=[length] * len(rows),
        pool_gpus=pool,
    )
    assert (effect.waited, effect.idle_until) == (waited, ended)


@given(st.lists(st.tuples(st.integers(1, 9), FAILS), max_size=12), PRICES)
def test_the_best_length_against_all_lengths(rows, price):
    best = best_length(gpus=[row[0] for row in rows], fails=[row[1] for row in rows], price=price)
    gains = [gain(rows, length, price) for length in range(15)]
    assert best.gain == max(gains)
    assert best.milliseconds == gains.index(max(gains))
    assert best.gain == best.saved - (1 + price) * best.spent


@given(st.lists(FAILS, max_size=12), st.sets(st.integers(1, 40), max_size=6), PRICES)
def test_the_choice_by_size_against_all_lengths(fails, sizes, price):
    chosen = best_lengths(sizes=sizes, fails=fails, price=price)
    assert list(chosen) == sorted(sizes)
    for size, length in chosen.items():
        gains = [gain([(size, fail) for fail in fails], time, price) for time in range(15)]
        assert length == gains.index(max(gains))


@given(st.lists(FAILS, max_size=12), PRICES)
def test_the_smallest_gang_that_gains(fails, price):
    smallest = break_even_gpus(fails, price)
    if smallest is None:
        assert all(fail == NEVER for fail in fails)
    else:
        lengths = best_lengths(sizes=(smallest - 1, smallest), fails=fails, price=price)
        assert lengths[smallest - 1] == 0 < lengths[smallest]


def test_larger_gangs_are_run_ahead_for_longer():
    # Twenty fail at 2, five at 30, two at 400. With 2: 40 (g - 1) > 2 * 2 * 27 from 4 GPUs on; 30 instead of 2 gains
    # 150 (g - 1) > 2 * 30 * 22 - 108 from 10 on; 400 instead of 30 gains 800 (g - 1) > 16,000 - 1,320 from 20 on.
    fails = [2] * 20 + [30] * 5 + [400] * 2 + [NEVER] * 20
    lengths = best_lengths(sizes=range(1, 40), fails=fails, price=1)
    assert list(lengths.values()) == [0] * 3 + [2] * 6 + [30] * 10 + [400] * 20


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: run_pool(arrivals=[0], gpus=[1], fails=[1], lengths=[1], pool_gpus=0), "pool_gpus: found 0"),
        (lambda: run_pool(arrivals=[0], gpus=[], fails=[1], lengths=[1], pool_gpus=1), "found 1, 0, 1, 1 values"),
        (lambda: run_pool(arrivals=[-1], gpus=[1], fails=[1], lengths=[1], pool_gpus=1), "arrivals[0]: found -1"),
        (lambda: best_length(gpus=[0], fails=[1]), "gpus[0]: found 0"),
        (lambda: best_length(gpus=[1], fails=[-2]), "fails[0]: found -2"),
        (lambda: best_length(gpus=[1], fails=[1], price=-1), "price: found -1"),
        (lambda: best_length(gpus=[10**6] * 3, fails=[2 * 10**12] * 3), "GPU-milliseconds in all"),
        (lambda: best_lengths(sizes=[0], fails=[1]), "sizes: found 0"),
        (lambda: break_even_gpus([1], price=float("nan")), "price: found nan"),
    ],
)
def test_bad_input_is_refused(make, said):
    with pytest.raises(InputError) as refused:
        make()
    assert said in str(refused.value)
