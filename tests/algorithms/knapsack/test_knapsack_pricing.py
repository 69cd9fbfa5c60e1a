"""Multipliers bound every choice, exactly, whatever they are; the ones that are found are nearly the best."""

import numpy as np
import pytest
from option_draws import brute_force, small_options, table_options, verified_bound, whole_program
from seeds import seed_by_seed

from muri_opt import InputError
from muri_opt.algorithms.knapsack import Options, lagrangian, priced
from muri_opt.solve.solvers import relaxation_duals


def fitting(options):
    return options.only(options.worthwhile())


@seed_by_seed(50, 150)
def test_any_multipliers_give_a_bound_and_every_loss_is_exact(seed):
    draw = np.random.default_rng(seed)
    options = fitting(small_options(seed))
    denominator, prices = int(draw.integers(1, 20)), draw.integers(0, 100, len(options.capacity)).tolist()
    found = priced(options, denominator, prices)
    best = brute_force(options)
    assert found.bound == verified_bound(options, found) >= best
    assert brute_force(options) <= lagrangian(options).bound
    for option in range(len(options)):
        kept = (options.job != options.job[option]) | (np.arange(len(options)) == option)
        forced = found.total - int(found.loss[option])
        job_net = denominator * int(options.value[option]) - int(options.use[option] @ np.array(prices))
        others = sum(int(found.idle[j]) for j in range(options.jobs) if j != options.job[option])
        paid = int(options.capacity @ np.array(prices))
        assert forced == job_net + others + paid
        with_it = options.only(kept)
        place = int(np.flatnonzero(np.flatnonzero(kept) == option)[0])
        assert denominator * best_with(with_it, place) <= forced


def best_with(options, option):
    """Return the best value of a choice that has an option, by brute force on the others; all options fit alone."""
    others = options.only(options.job != options.job[option])
    left = options.capacity - options.use[option]
    rest = Options.of(others.job, others.value, others.use, left, jobs=options.jobs)
    return int(options.value[option]) + brute_force(rest)


@pytest.mark.parametrize(
    ("jobs", "kind"),
    [
        *((30, kind) for kind in ("noisy", "correlated", "types")),
        (550, "noisy"),
        *(pytest.param(550, kind, marks=pytest.mark.slow) for kind in ("correlated", "types")),
    ],
)
def test_found_multipliers_are_nearly_those_of_the_relaxation(jobs, kind):
    options = table_options(jobs, kind, 1)
    found = lagrangian(options)
    duals = np.maximum(relaxation_duals(whole_program(options), None)[: len(options.capacity)], 0)
    reference = priced(options, 2**20, [round(price * 2**20) for price in duals.tolist()])
    assert found.exact
    assert found.bound <= reference.bound * (1 + 2e-5) + 1
    assert found.bound == verified_bound(options, found)


def test_samples_lead_large_programs_to_the_same_bound():
    options = table_options(300, "noisy", 3)
    copies = Options.of(
        np.concatenate([options.job + 300 * copy for copy in range(20)]),
        np.tile(options.value, 20),
        np.tile(options.use, (20, 1)),
        20 * options.capacity,
        jobs=6000,
    )
    once, often = lagrangian(options), lagrangian(copies)
    assert often.bound == pytest.approx(20 * once.total / once.denominator, rel=1e-6)


def test_numbers_too_large_for_int64_are_exact():
    options = Options.of([0, 1], [2**61, 2**61 + 1], [[2**61], [2**61 - 5]], [2**61], jobs=2)
    found = lagrangian(options)
    assert not found.exact
    assert found.bound == verified_bound(options, found) >= 2**61 + 1
    assert priced(options, 3, [3]).total == 3 * (2**61 + 1) - 3 * (2**61 - 5) + 3 * 2**61


@pytest.mark.parametrize(("denominator", "prices"), [(0, [1]), (1, [-1]), (1, [1, 1]), (1, [])])
def test_bad_multipliers_are_refused(denominator, prices):
    with pytest.raises(InputError, match="prices"):
        priced(Options.of([0], [1], [[1]], [1], jobs=1), denominator, prices)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"job": [1, 0]}, "job"),
        ({"job": [0, 2]}, "job"),
        ({"job": [-1, 0]}, "job"),
        ({"value": [1]}, "use"),
        ({"value": [1.5, 2]}, "value"),
        ({"value": [[1, 2]]}, "value"),
        ({"use": [[1, 2], [1, 2]]}, "use"),
        ({"use": [[1], [-2]]}, "use"),
        ({"capacity": [-1]}, "capacity"),
        ({"capacity": [2**62]}, "capacity"),
    ],
)
def test_bad_options_are_refused(changed, field):
    given = {"job": [0, 1], "value": [1, 2], "use": [[1], [2]], "capacity": [3], **changed}
    with pytest.raises(InputError) as refused:
        Options.of(**given, jobs=2)
    assert refused.value.field == field
