"""The elastic optimum: known figures, two other methods, and what must not change it."""

from fractions import Fraction

import numpy as np
import pytest
from elastic_references import (
    GOLDEN,
    constant_shares_optimum,
    enumerated_optimum,
    shortest_remaining_total,
    two_job_optimum,
)
from hypothesis import given, settings, strategies as st
from more_examples import more_examples
from seeds import some_then_all

from muri_opt.errors import InputError
from muri_opt.systems.afs.optimum.search import elastic_optimum
from muri_opt.verify.certificates.elastic_optimum import ElasticCase, check_elastic_optimum

EXACT = {"T1": Fraction(175, 18), "T2": Fraction(325, 27), "T4": Fraction(939, 160), "T5": Fraction(17, 9)}


@st.composite
def elastic_jobs(draw, most_jobs=3, most_gpus=4, late=False):
    """Curves of any shape, rising or not, in small whole numbers: ties and equal jobs are common."""
    gpus = draw(st.integers(1, most_gpus))
    count = draw(st.integers(1, most_jobs))
    curve = st.lists(st.integers(1, 6), min_size=gpus, max_size=gpus)
    speed = [[0, *draw(curve)] for _ in range(count)]
    cap = [draw(st.integers(1, gpus)) for _ in range(count)]
    work = [draw(st.integers(1, 12)) for _ in range(count)]
    arrivals = [draw(st.integers(0, 4)) for _ in range(count)] if late else None
    return speed, cap, work, gpus, arrivals


def checked(case):
    """Return the optimum after the independent check of its schedule and its proof."""
    found = elastic_optimum(*case)
    assert found.proved
    assert check_elastic_optimum(ElasticCase.of(*case), found.pieces, found.proof) == (
        found.total_completion,
        found.total_completion,
    )
    return found


@pytest.mark.parametrize("name", EXACT)
def test_golden_optima_are_exact(name):
    speed, work, gpus = GOLDEN[name]
    assert checked((speed, [gpus] * len(work), work, gpus)).mean_completion == EXACT[name]


def test_the_golden_optimum_of_power_curves():
    speed, work, gpus = GOLDEN["T3"]
    assert round(float(checked((speed, [gpus] * len(work), work, gpus)).mean_completion), 6) == 4.044198


@more_examples(60)
@given(elastic_jobs(most_jobs=2, most_gpus=5))
def test_two_jobs_by_corner_points(case):
    speed, cap, work, gpus, _ = case
    if len(work) == 2:
        assert checked(case).total_completion == two_job_optimum(speed, cap, work, gpus)
    else:
        fastest = max(speed[0][: cap[0] + 1])
        assert checked(case).total_completion == Fraction(work[0], fastest)


def random_case(seed):
    draw = np.random.default_rng(seed)
    count, gpus = int(draw.integers(2, 5 if seed % 10 == 0 else 4)), int(draw.integers(1, 6))
    kind = seed % 3
    speed = draw.uniform(0.1, 3, (count, gpus + 1)) if kind else draw.integers(1, 5, (count, gpus + 1))
    speed = np.cumsum(speed, axis=1) if kind == 1 else speed
    speed[:, 0] = 0
    late = seed % 4 == 0 and count < 4
    arrivals = draw.integers(0, 5, count) if late else None
    return speed, draw.integers(1, gpus + 1, count), draw.uniform(1, 9, count), gpus, arrivals


@some_then_all(15, 560)
def test_all_orders_written_out_give_the_same(seeds):
    for seed in seeds:
        case = random_case(seed)
        assert float(checked(case).total_completion) == pytest.approx(enumerated_optimum(*case), rel=1e-9), seed


@more_examples(40)
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 8)), min_size=1, max_size=4), st.integers(1, 3))
def test_linear_jobs_are_served_shortest_first_whenever_they_arrive(jobs, gpus):
    work, arrivals = [gpus * w for w, _ in jobs], [a for _, a in jobs]
    found = checked(([list(range(gpus + 1))] * len(jobs), [gpus] * len(jobs), work, gpus, arrivals))
    assert found.total_completion == shortest_remaining_total([w for w, _ in jobs], arrivals)
    if len(set(arrivals)) == 1:
        assert list(found.proof) == [()]  # jobs that scale alike have one order, and need no search


def test_time_mixing_inside_a_slot_is_needed():
    speed, work = [[0, 10, 14, 14], [0, 10, 14, 14], [0, 1, 3, 8]], [24, 24, 48]
    found = checked((speed, [3] * 3, work, 3))
    assert found.total_completion == 12
    assert found.completions == (2, 2, 8)
    assert sorted(found.pieces[:2]) == [(1, (1, 2, 0)), (1, (2, 1, 0))]
    assert constant_shares_optimum(speed, [Fraction(w) for w in work], 3) == Fraction(591, 49)


@settings(max_examples=25)
@given(elastic_jobs(late=True), st.permutations(range(3)), st.integers(2, 5), st.integers(1, 9))
def test_names_units_and_the_start_of_time_do_not_matter(case, order, factor, later):
    speed, cap, work, gpus, arrivals = case
    total = checked(case).total_completion
    order = [j for j in order if j < len(work)]
    other = (
        [[Fraction(p, factor) for p in speed[j]] for j in order],
        [cap[j] for j in order],
        [Fraction(work[j], factor) for j in order],
        gpus,
        [arrivals[j] + later for j in order],
    )
    assert checked(other).total_completion == total


@settings(max_examples=25)
@given(elastic_jobs(late=True))
def test_more_gpus_never_hurt_and_waiting_for_all_never_helps(case):
    speed, cap, work, gpus, arrivals = case
    total = elastic_optimum(*case).total_completion
    wider = [[*row, row[-1]] for row in speed]
    assert elastic_optimum(wider, [c + 1 for c in cap], work, gpus + 1, arrivals).total_completion <= total
    start = max(arrivals)
    together = elastic_optimum(speed, cap, work, gpus).total_completion
    assert total <= together + sum(start - a for a in arrivals)


def test_a_job_may_end_just_before_or_just_after_the_next_arrival():
    """The order in which it ends before is impossible by a hair, and costs more than any schedule."""
    for hair in (Fraction(0), Fraction(1, 10**12)):
        arrivals = [0, 0, 10 - hair]
        found = checked(([[0, 1, 2], [0, 1, 1], [0, 3, 3]], [2, 1, 1], [10, 10, 6], 2, arrivals))
        exact = enumerated_optimum([[0, 1, 2], [0, 1, 1], [0, 3, 3]], [2, 1, 1], [10, 10, 6], 2, arrivals)
        assert float(found.total_completion) == pytest.approx(exact, rel=1e-9)


def test_jobs_without_work_end_when_they_arrive():
    found = checked(([[0, 1], [0, 1]], [1, 1], [0, 3], 1, [5, 1]))
    assert (found.completions, found.total_completion, found.order) == ((5, 4), 3, (1, 0))


def test_out_of_time_leaves_a_schedule_and_a_checked_bound():
    draw = np.random.default_rng(3)
    speed = np.cumsum(draw.uniform(0.1, 1, (4, 7)), axis=1)
    speed[:, 0] = 0
    case = (speed, [6] * 4, draw.uniform(1, 9, 4), 6)
    early, full = elastic_optimum(*case, seconds=0.0), elastic_optimum(*case)
    assert not early.proved
    assert early.bound < full.total_completion <= early.total_completion
    assert check_elastic_optimum(ElasticCase.of(*case), early.pieces, early.proof) == (
        early.total_completion,
        early.bound,
    )


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([], [], [], 1), "speed, cap, work, arrivals"),
        (([[0, 1]], [1], [1, 2], 1), "speed, cap, work, arrivals"),
        (([[0, 1]], [1], [1], 0), "gpus"),
        (([[0, 1]], [2], [1], 1), "speed[0]"),
        (([[1, 1]], [1], [1], 1), "speed[0]"),
        (([[0, 0, 5]], [2], [1], 1), "speed[0]"),
        (([[0, float("nan")]], [1], [1], 1), "speed[0]"),
        (([[0, "fast"]], [1], [1], 1), "speed[0]"),
        (([[0, 1]], [1], [-1], 1), "work"),
        (([[0, 1]], [1], [1], 1, [float("inf")]), "arrivals"),
    ],
)
def test_bad_input_names_the_field(arguments, field):
    with pytest.raises(InputError) as caught:
        elastic_optimum(*arguments)
    assert caught.value.field == field
