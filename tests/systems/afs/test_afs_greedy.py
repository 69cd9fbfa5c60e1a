"""AFS-L: golden shares, the documented cycle, and the same shares as the plain double loop."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from seeds import seed_by_seed

from muri_opt.errors import InputError
from muri_opt.systems.afs import (
    NEVER,
    SCANS,
    afs_shares,
    fast_greedy,
    legal_shares,
    plain_afs_shares,
    scaling_table,
    scan_order,
)


def matrices(curves, work, gpus):
    """Speeds, caps and times in microseconds of jobs with the given throughputs at 1, 2, ... GPUs."""
    cap = np.array([min(len(curve), gpus) for curve in curves])
    speed = np.zeros((len(curves), cap.max() + 1), dtype=np.int64)
    time = np.full(speed.shape, NEVER)
    for j, (curve, iterations) in enumerate(zip(curves, work, strict=True)):
        table = scaling_table({k: float(p) for k, p in enumerate(curve, start=1)})
        speed[j, : cap[j] + 1] = table.speeds[: cap[j] + 1]
        for k in range(1, cap[j] + 1):
            time[j, k] = iterations * 10 ** (6 + table.digits) // table.speeds[k]
    return speed, cap, time


def shares_of(curves, work, gpus, scan="arrival", **rule):
    speed, cap, time = matrices(curves, work, gpus)
    return afs_shares(speed, cap, time, gpus, scan=scan_order(scan, time), **rule).tolist()


def power(exponent):
    return [g**exponent for g in range(1, 7)]


def amdahl(serial):
    return [1 / (serial + (1 - serial) / g) for g in range(1, 7)]


GOLDEN = {
    "T1": ([(1, 1.8, 2.4), (1, 1.9, 2.7)], (10, 30), 3, (2, 1)),
    "T2": ([(1, 1.2, 1.3), (1, 1.9, 2.7)], (10, 30), 3, (1, 2)),
    "T3": ([power(0.5), power(0.7), power(0.9)], (4, 6, 9), 4, (1, 1, 2)),
    "T4": ([amdahl(0.1), amdahl(0.3), amdahl(0.5)], (10, 10, 10), 6, (3, 2, 1)),
    "T5": ([(1, 2, 3)] * 3, (2, 3, 5), 3, (1, 1, 1)),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_shares(name):
    curves, work, gpus, expected = GOLDEN[name]
    assert shares_of(curves, work, gpus) == list(expected)


@st.composite
def linear_jobs(draw):
    """Jobs whose speed is in proportion to their GPUs; whole times make some of them equally long by rounding."""
    jobs = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5), st.integers(1, 40)), min_size=1, max_size=7))
    width = max(1, *(cap for cap, _, _ in jobs))
    speed = [[rate * k if k <= cap else 0 for k in range(width + 1)] for cap, rate, _ in jobs]
    time = [[NEVER, *(work // k if k <= cap else NEVER for k in range(1, width + 1))] for cap, _, work in jobs]
    return speed, [cap for cap, _, _ in jobs], time, draw(st.permutations(range(len(jobs)))), draw(st.integers(1, 25))


@given(linear_jobs())
@more_examples(300)
def test_linear_jobs_share_by_the_fewest_gpus_as_the_plain_scan_does(jobs):
    speed, cap, time, scan, gpus = jobs
    found = afs_shares(np.array(speed), np.array(cap), np.array(time), gpus, scan=scan)
    assert found.tolist() == plain_afs_shares(speed, cap, time, gpus, scan=scan)


def test_linear_jobs_and_the_tie():
    curves, work, gpus, _ = GOLDEN["T5"]
    assert shares_of(curves, work, gpus, tie="shorter") == [2, 1, 0]
    assert shares_of(curves, work, 5, tie="longer") == [2, 2, 1]


# Growth of one more GPU: chatbot 1.4289, deepspeech 1.4907, inception-v4 1.9524; 1, 2 and 3 hours left on one GPU.
CYCLE = ([(1, 1.4289), (1, 1.4907), (1, 1.9524)], (3600, 7200, 10800))


@pytest.mark.parametrize(
    ("scan", "winner"), [((0, 1, 2), 2), ((0, 2, 1), 1), ((1, 2, 0), 0), ((2, 1, 0), 0), ((1, 0, 2), 2), ((2, 0, 1), 1)]
)
def test_the_rule_is_not_transitive(scan, winner):
    speed, cap, time = matrices(*CYCLE, 4)
    expected = [1, 1, 1]
    expected[winner] += 1
    assert afs_shares(speed, cap, time, 4, scan=scan).tolist() == expected
    assert plain_afs_shares(speed.tolist(), cap.tolist(), time.tolist(), 4, scan=scan) == expected


def test_the_default_scan_gives_the_cycle_to_the_short_job():
    assert shares_of(*CYCLE, 4, scan="longest") == [2, 1, 1]
    assert shares_of(*CYCLE, 4, scan="shortest") == [1, 1, 2]


def test_the_longer_job_loses_by_its_own_denominator():
    """Growth 1.5 (short) beats 1.6 (long), because 1.5 > 2 - 1/1.6; a rule that is blind to length would not say so."""
    assert shares_of([(1, 1.5), (1, 1.6)], (10, 20), 3) == [2, 1]
    assert shares_of([(1, 1.5), (1, 1.6)], (20, 10), 3) == [1, 2]
    assert shares_of([(1, 1.3), (1, 1.6)], (10, 20), 3) == [1, 2]


def test_of_jobs_without_a_gpu_the_shorter_on_one_gpu_wins_not_the_one_with_less_work():
    assert shares_of([(1,), (10,)], (20, 100), 1) == [0, 1]
    assert shares_of([(1,), (1,), (1,)], (5, 5, 5), 2) == [0, 1, 1]  # equal: the later scanned


def test_a_job_that_more_than_doubles_is_served_before_others_begin():
    assert shares_of([(1, 2.5, 2.6), (1, 1.5, 1.6)], (10, 20), 2) == [2, 0]
    assert shares_of([(1, 2, 2.6), (1, 1.5, 1.6)], (10, 20), 2) == [1, 1]
    assert shares_of([(1, 2, 2.6), (1, 1.5, 1.6)], (10, 20), 2, tie="shorter") == [2, 0]


def test_an_unbounded_future_is_shortest_first_after_one_each():
    curves = [(1, 1.1, 1.2), (1, 1.9, 2.8), (1, 1.9, 2.8)]
    assert shares_of(curves, (10, 20, 30), 6, phi=None) == [3, 2, 1]
    assert shares_of(curves, (10, 20, 30), 6, phi=1) == [1, 3, 2]


def test_optimism_counts_the_gpus_to_come():
    """p_a (2f - p_b) > p'_a (2f - p'_b): 10 (2f - 10) against 14 (2f - 19), f = 19 for phi = 1, 40 for phi = 2."""
    curves = [(10, 14, 15), (10, 19, 40)]
    assert shares_of(curves, (10, 20), 3, phi=1) == [1, 2]
    assert shares_of(curves, (10, 20), 3, phi=2) == [2, 1]


def test_shares_on_a_ladder():
    """Average gain per GPU from 2 to 4 decides; a step that no longer fits leaves its GPUs to others, or idle."""
    speed, cap, time = matrices([(1, 1.9, 2.0, 3.6), (1, 1.5, 1.6, 1.7)], (10, 12), 6)
    ladder, scan = legal_shares(4, 6), [0, 1]
    assert [afs_shares(speed, cap, time, g, scan=scan, ladder=ladder).tolist() for g in range(1, 7)] == [
        [1, 0],
        [1, 1],
        [2, 1],
        [2, 2],
        [4, 1],
        [4, 2],
    ]


@st.composite
def rounds(draw):
    jobs, most = draw(st.integers(0, 7)), draw(st.integers(1, 9))
    height = draw(st.sampled_from([3, 12, 1 << 30]))
    cap = [draw(st.integers(0, most)) for _ in range(jobs)]
    kinds = [
        draw(st.lists(st.integers(1, height), min_size=most, max_size=most)) for _ in range(draw(st.integers(1, 3)))
    ]
    if draw(st.booleans()):
        kinds = [sorted(kind) for kind in kinds]
    if draw(st.booleans()):
        kinds.append([7 * k for k in range(1, most + 1)])
    speed, time = np.zeros((jobs, most + 1), dtype=np.int64), np.full((jobs, most + 1), NEVER)
    for j in range(jobs):
        curve = draw(st.sampled_from(kinds))
        work = draw(st.integers(0, 6)) * 10**6
        for k in range(1, cap[j] + 1):
            speed[j, k], time[j, k] = curve[k - 1], work // curve[k - 1]
    scan = draw(st.sampled_from(SCANS) | st.permutations(range(jobs)))
    gpus = draw(st.integers(0, 3 * jobs + 2))
    return speed, np.array(cap, dtype=np.int64), time, gpus, scan_order(scan, time) if isinstance(scan, str) else scan


PHIS = st.sampled_from([1, 2, 4, None])
LADDERS = st.sampled_from([None, None, legal_shares(4, 20), legal_shares(3, 20), (1, 6)])


@more_examples(400)
@given(rounds(), st.sampled_from(["longer", "shorter"]), PHIS, LADDERS)
def test_shares_equal_those_of_the_plain_scan(round_, tie, phi, ladder):
    speed, cap, time, gpus, scan = round_
    found = afs_shares(speed, cap, time, gpus, scan=scan, tie=tie, phi=phi, ladder=ladder)
    rows = speed.tolist(), cap.tolist(), time.tolist()
    plain = plain_afs_shares(*rows, gpus, scan=list(scan), tie=tie, phi=phi, ladder=ladder)
    assert found.tolist() == plain
    assert found.sum() <= gpus
    assert (found <= cap).all()
    if ladder is None:
        assert found.sum() == min(gpus, cap.sum())


@pytest.mark.parametrize("phi", [1, pytest.param(2, marks=pytest.mark.slow), None])
@pytest.mark.parametrize("scan", ["longest", "arrival", "shortest", "random"])
@pytest.mark.parametrize("kind", ["amdahl", "few tables", "rough"])
def test_larger_rounds_equal_the_plain_scan(kind, scan, phi, monkeypatch):
    """Enough climbs that the sets of rivals are built several times over, and scans that resume before the tail."""
    monkeypatch.setattr(fast_greedy, "_FIRST_STRETCH", 20)
    monkeypatch.setattr(fast_greedy, "_LEAST_TAIL", 5)
    draw = np.random.default_rng(["amdahl", "few tables", "rough"].index(kind))
    jobs, gpus, most = 40, 170, 12
    counts = np.arange(1, most + 1)
    curves = {
        "amdahl": lambda: 1 / ((s := draw.uniform(0, 0.5)) + (1 - s) / counts),
        "few tables": lambda: counts ** (draw.integers(5, 10) / 10),
        "rough": lambda: draw.uniform(0.5, 1.5, most) * counts,
    }
    work = np.exp(draw.normal(5, 2, jobs)).astype(int) + 1
    speed, cap, time = matrices(
        [curves[kind]()[: draw.integers(1, most + 1)] for _ in range(jobs)], work.tolist(), gpus
    )
    order = draw.permutation(jobs) if scan == "random" else scan_order(scan, time)
    found = afs_shares(speed, cap, time, gpus, scan=order, phi=phi)
    rows = speed.tolist(), cap.tolist(), time.tolist()
    assert found.tolist() == plain_afs_shares(*rows, gpus, scan=order.tolist(), phi=phi)


@seed_by_seed(12, 24)
def test_sixty_jobs_equal_the_plain_scan_whatever_the_rule(seed, monkeypatch):
    """Curves that double at times, equal jobs and equal times, all rules by turns; sets of a few places only."""
    monkeypatch.setattr(fast_greedy, "_FIRST_STRETCH", 5 + seed)
    monkeypatch.setattr(fast_greedy, "_LEAST_TAIL", 4 + 3 * (seed % 10))
    draw = np.random.default_rng(seed)
    jobs, most = 60, 8
    kinds = np.cumsum(draw.integers(0, 9, (6, most)), axis=1) + 1
    curves = kinds[draw.integers(0, 6, jobs)]
    cap, work = draw.integers(0, most + 1, jobs), draw.integers(1, 30, jobs)
    inside = np.arange(1, most + 1) <= cap[:, None]
    speed, time = np.zeros((jobs, most + 1), dtype=np.int64), np.full((jobs, most + 1), NEVER)
    speed[:, 1:] = np.where(inside, curves, 0)
    time[:, 1:] = np.where(inside, work[:, None] * 1000 // curves, NEVER)
    rule = {
        "tie": ("longer", "shorter")[seed % 2],
        "phi": (1, 1, 2, None)[seed // 2 % 4],
        "ladder": (None, None, legal_shares(4, most))[seed % 3],
    }
    order, gpus = draw.permutation(jobs), int(draw.integers(30, 240))
    found = afs_shares(speed, cap, time, gpus, scan=order, **rule)
    rows = speed.tolist(), cap.tolist(), time.tolist()
    assert found.tolist() == plain_afs_shares(*rows, gpus, scan=order.tolist(), **rule)


@more_examples(50)
@given(rounds(), st.integers(2, 9))
def test_the_unit_of_a_curve_and_its_work_do_not_matter(round_, factor):
    speed, cap, time, gpus, scan = round_
    speed = np.minimum(speed, 12)
    other = speed * np.where(np.arange(len(cap)) % 2, factor, 1)[:, None]
    assert np.array_equal(afs_shares(speed, cap, time, gpus, scan=scan), afs_shares(other, cap, time, gpus, scan=scan))


def test_with_more_jobs_than_gpus_the_shortest_get_one_each():
    curves = [amdahl(s) for s in (0.1, 0.2, 0.3, 0.4, 0.5)]
    assert shares_of(curves, (50, 10, 40, 20, 30), 3, scan="longest") == [0, 1, 0, 1, 1]


def test_speeds_that_floating_point_cannot_tell_apart():
    """p' / p of the short job and 2 - p / p' of the long one differ, but not as floats: whole numbers decide."""
    p, more = 10**9 + 7, 10**9 + 9
    low, high = 10**9 + 21, 10**9 + 21 + 2
    pairs = [(low - d, high - d) for d in range(30)]
    equal = [(x, y) for x, y in pairs if (2 * y - x) / y == more / p and (2 * y - x) * p != y * more]
    assert equal
    for now, grown in equal:
        speed = np.array([[0, p, more], [0, now, grown]])
        time = np.array([[NEVER, 10, 9], [NEVER, 20, 19]])
        expected = [1, 2] if (2 * grown - now) * p > grown * more else [2, 1]
        assert afs_shares(speed, np.array([2, 2]), time, 3, scan=[0, 1]).tolist() == expected


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"tie": "long"}, "tie: found 'long' (did you mean 'longer'?)"),
        ({"phi": 0}, "phi: found 0; allowed: a whole number from 1"),
        ({"phi": 1.5}, "phi: found 1.5"),
        ({"ladder": (2, 4)}, "ladder: found (2, 4); allowed: rising shares from 1 GPU on"),
        ({"ladder": (1, 4, 4)}, "ladder: found (1, 4, 4)"),
        ({"ladder": ()}, "ladder: found ()"),
        ({"scan": [0, 0]}, "scan: found [0, 0]; allowed: each of the 2 job positions once"),
        ({"scan": [0.0, 1.0]}, "scan: found [0.0, 1.0]"),
        ({"scan": [0]}, "scan: found [0]"),
    ],
)
def test_a_wrong_rule_is_named(rule, message):
    speed, cap, time = matrices([(1, 2), (1, 2)], (1, 1), 2)
    with pytest.raises(InputError) as refusal:
        afs_shares(speed, cap, time, 2, **{"scan": [0, 1], **rule})
    assert message in str(refusal.value)


def test_an_unknown_scan_is_named():
    with pytest.raises(InputError, match=r"scan: found 'longst' \(did you mean 'longest'\?\)"):
        scan_order("longst", np.zeros((1, 2), dtype=np.int64))
