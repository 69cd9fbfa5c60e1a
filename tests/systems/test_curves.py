"""Scaling tables in whole numbers: interpolation, units, remaining times, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.systems.afs import NEVER, Curves, scaling_table


def job(name="a", **fields):
    return Job(id=name, **{"gpus": 1, "scaling": {1: 1.0}, **fields})


def test_written_numbers_survive_with_nine_digits():
    table = scaling_table({1: 0.331, 2: 0.603, 4: 1.151})
    assert table.digits == 8
    assert table.speeds == (0, 33_100_000, 60_300_000, 79_139_452, 115_100_000)


def test_missing_counts_are_interpolated_in_iteration_time():
    """3.020532 s at 1 GPU, 1.659208 at 2, 0.868694 at 4: (1.659208 + 0.868694) / 2 = 1.263951 at 3."""
    table = scaling_table({1: 1 / 3.020532, 2: 1 / 1.659208, 4: 1 / 0.868694})
    assert 10**table.digits / table.speeds[3] == pytest.approx(1.263951, rel=1e-7)


def test_large_small_and_falling_throughputs():
    table = scaling_table({1: 1e12, 2: 5.0})
    assert (table.speeds, table.digits) == ((0, 10**9, 1), -3)
    assert scaling_table({1: 1e-9, 3: 2e-9}).speeds == (0, 10**8, 133_333_333, 2 * 10**8)
    assert scaling_table({1: 1073741824.4}).speeds == (0, 1 << 30)
    assert scaling_table({1: 1073741825.0}).speeds == (0, 107_374_182)


rates = st.floats(1e-6, 1e9)


@given(st.dictionaries(st.integers(2, 9), rates, max_size=4), rates)
def test_speeds_are_those_of_exact_arithmetic(entries, first):
    scaling = {1: first, **entries}
    table = scaling_table(scaling)
    scale = Fraction(10) ** table.digits
    most = round(Fraction(max(scaling.values())) * scale)
    assert most <= 1 << 30 < round(Fraction(max(scaling.values())) * scale * 10)
    counts = sorted(scaling)
    known = {k: max(1, round(Fraction(scaling[k]) * scale)) for k in counts}
    for k in range(1, counts[-1] + 1):
        a, b = max(c for c in counts if c <= k), min(c for c in counts if c >= k)
        share = Fraction(k - a, b - a) if b > a else Fraction(0)
        iteration = (1 - share) * Fraction(1, known[a]) + share * Fraction(1, known[b])
        assert table.speeds[k] == max(1, int(1 / iteration))


def test_curves_of_a_round():
    jobs = [
        job("a", scaling={1: 1.0, 2: 1.5, 4: 2.0}),
        job("b", scaling={1: 2.0}),
        job("c", scaling={1: 1.0, 2: 1.5, 4: 2.0}),
    ]
    curves = Curves.of(jobs, 3)
    assert curves.cap.tolist() == [3, 1, 3]
    assert curves.speed.tolist() == [
        [0, 10**8, 15 * 10**7, 171_428_571],
        [0, 2 * 10**8, 0, 0],
        [0, 10**8, 15 * 10**7, 171_428_571],
    ]
    assert curves.unit == (10**14, 10**14, 10**14)
    assert curves.microseconds([3, 5, 0]).tolist() == [
        [NEVER, 3_000_000, 2_000_000, 1_750_000],
        [NEVER, 2_500_000, NEVER, NEVER],
        [NEVER, 0, 0, 0],
    ]


def test_iteration_seconds_fix_the_unit_at_the_requested_gpus():
    """Half a second at 3 GPUs, beyond what the cluster has: throughputs 10, 20, 25, so 1.25 s at one GPU."""
    curves = Curves.of([job(gpus=3, scaling={1: 10.0, 2: 20.0, 3: 25.0}, iteration_seconds=0.5)], 2)
    assert curves.microseconds([8]).tolist() == [[NEVER, 10_000_000, 5_000_000]]


def test_times_beyond_64_bits_are_whole_and_below_never():
    curves = Curves.of([job(scaling={1: 1e-9, 2: 1.0}), job("b")], 2)
    time = curves.microseconds([10**12, 10**12])
    assert time.tolist() == [[NEVER, NEVER - 1, 10**18], [NEVER, 10**18, NEVER]]


def test_no_jobs_and_no_gpus():
    curves = Curves.of([], 8)
    assert curves.speed.shape == curves.microseconds([]).shape == (0, 2)
    assert Curves.of([job(scaling={1: 1.0, 2: 2.0})], 0).speed.tolist() == [[0, 0]]


def test_many_jobs_of_few_tables_share_their_conversion(monkeypatch):
    calls = []
    original = scaling_table
    monkeypatch.setattr("muri_opt.systems.curves.scaling_table", lambda table: calls.append(table) or original(table))
    jobs = [job(str(i), scaling={1: 1.0, 2: 1.0137 + i % 3}) for i in range(60)]
    assert np.unique(Curves.of(jobs, 2).speed, axis=0).shape == (3, 3)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"scaling": None},
            "jobs[3] ('bad').scaling: found nothing; allowed: a table of GPU counts with their throughput",
        ),
        ({"scaling": {2: 1.0}}, "jobs[3] ('bad').scaling: found no entry for 1 GPU (the smallest is 2)"),
        ({"iteration_seconds": 0.0}, "jobs[3] ('bad').iteration_seconds: found 0; allowed: a time above 0, or none"),
        ({"iteration_seconds": 1.0, "gpus": 2}, "jobs[3] ('bad').gpus: found 2; allowed: a GPU count from 1 to 1"),
        ({"iteration_seconds": 1.0, "gpus": 0}, "jobs[3] ('bad').gpus: found 0"),
    ],
)
def test_refusals_name_job_and_field(fields, message):
    with pytest.raises(InputError) as refusal:
        Curves.of([job(str(i)) for i in range(3)] + [job("bad", **fields)], 4)
    assert message in str(refusal.value)
