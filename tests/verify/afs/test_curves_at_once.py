"""Scaling tables read at once have the speeds that each has by itself, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given, strategies as st

from muri_opt import Job
from muri_opt.verify.afs.curve import LARGEST_SPEED, Curve, speeds_of
from muri_opt.verify.afs.curves_at_once import _quotients, rows_of_tables

rates = st.one_of(
    st.floats(1e-9, 1e9),
    st.sampled_from([5e-324, 1e-30, 0.5, 1.0, 1.073741824, 1.0737418245, 0.1073741824, 1e12]),
)


@st.composite
def tables(draw):
    counts = draw(st.lists(st.integers(2, 300), unique=True, max_size=6))
    first = draw(st.sampled_from([1, 1, 1, 1, 2]))
    return {count: draw(rates) for count in (first, *sorted({*counts} - {first})) if count >= first}


def exact(table):
    """Return speeds and digits by fractions: the most digits with which no speed is too large; times are linear."""
    digits = next(
        power for power in range(400, -400, -1) if round(Fraction(max(table.values())) * Fraction(10) ** power) <= 2**30
    )
    told = {count: max(1, round(Fraction(rate) * Fraction(10) ** digits)) for count, rate in table.items()}
    found = []
    for count in range(1, max(table) + 1):
        low, high = max(k for k in told if k <= count), min(k for k in told if k >= count)
        part = Fraction(count - low, max(1, high - low))
        time = Fraction(1, told[low]) * (1 - part) + Fraction(1, told[high]) * part
        found.append(max(1, int(1 / time)))
    return found, digits


@given(st.lists(tables(), max_size=6))
@example([{1: 1.0, 7: 3.0}, {}, {2: 1.0}, {1: 5e-324}])
@example([{1: 1.0737418235, 2: 1.0737418245}])
@example([{1: 1.5e-9, 2: 2.5e-9, 5: 1.0}])
def test_tables_read_at_once(every):
    for table, speeds in zip(every, speeds_of(every), strict=True):
        if next(iter(table), 0) != 1:
            assert speeds is None
        else:
            assert (speeds.row.tolist(), speeds.digits) == exact(table)
            assert speeds.top == max(speeds.row) <= LARGEST_SPEED


def test_plain_tables_are_all_read_at_once():
    """What is left to be read by itself is rare: it takes a hundred times as long."""
    every = [{1: 0.1 * k, 2: 0.17 * k, 8: 0.5 * k, 64: 2.9 * k} for k in range(1, 500)]
    assert None not in rows_of_tables(every, LARGEST_SPEED)


def test_quotients_next_to_whole_numbers():
    """Products of numbers of 30 digits in base 2, which floats round to the next multiple of the divisor, or below."""
    near = np.arange((1 << 29) + 1, (1 << 29) + 400)
    assert _quotients(near + 1, near - 1, near).tolist() == (near - 1).tolist()
    assert _quotients(near + 1, near + 1, near).tolist() == (near + 2).tolist()
    drawn = np.random.default_rng(1)
    some, others = drawn.integers(1 << 40, 1 << 50, 20_000), drawn.integers(1, 1 << 30, 20_000)
    assert (_quotients(some, others, some) == others).all()
    divisor = drawn.integers(1 << 40, 1 << 51, 20_000)
    exact = [a * b // c for a, b, c in zip(some.tolist(), others.tolist(), divisor.tolist(), strict=True)]
    assert _quotients(some, others, divisor).tolist() == exact


def test_jobs_asked_together_have_the_curve_that_each_has():
    jobs = [
        Job(id=f"j{k}", gpus=1 + k % 2, iteration_seconds=0.1 * k if k % 3 else None, scaling={1: 1.0, 4: 1.0 + k})
        for k in range(1, 9)
    ]
    for job, curve in zip(jobs, Curve.of_all([*jobs, jobs[0]]), strict=False):
        alone = Curve.of(Job(id="other", gpus=job.gpus, iteration_seconds=job.iteration_seconds, scaling=job.scaling))
        assert (curve.unit, curve.row.tolist(), curve.top) == (alone.unit, alone.row.tolist(), alone.top)
        assert [curve.speeds[gpus] for gpus in range(1, 5)] == curve.row.tolist()
