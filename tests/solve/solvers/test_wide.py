"""Wide packing programs: pricing solves the whole relaxation, and the few columns that matter have the optimum."""

from dataclasses import replace

import numpy as np
import pytest

from muri_opt.modelling import INFINITY, ModelBuilder, evaluate
from muri_opt.rounds import Budget, Limit, Limits, Reason, unlimited
from muri_opt.solve.solvers import backend_named, is_wide, priced, solve_wide
from muri_opt.solve.solvers.column_pricing import WIDE, restricted
from muri_opt.solve.solvers.highs import Highs
from muri_opt.solve.solvers.outcome import nothing

FOREVER = Limits(seconds=None)
SEEDS = (0, 1, pytest.param(3, marks=pytest.mark.slow))


def packing(seed, columns=2_500, rows=15, *, sense="<=", maximise=True, upper=None, integer=True):
    """Return a random packing program: groups of up to four items, each item a few times, and one row over all."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder("packing")
    most = rng.integers(1, 4, columns) if upper is None else upper
    x = builder.add_columns("x", np.arange(columns), upper=most, integer=integer)
    size = rng.integers(1, 5, columns)
    column = np.repeat(x, size)
    row = rng.integers(0, rows, len(column))
    times = np.ones(len(column), dtype=np.int64)
    builder.add_rows("once", np.arange(rows), entries=(row, column, times), sense=sense, rhs=rng.integers(1, 5, rows))
    weight = rng.integers(1, 4, columns)
    builder.add_rows("all", [0], entries=(np.zeros_like(x), x, weight), sense="<=", rhs=rows)
    worth = rng.integers(100_000, 300_000, columns) * size
    return builder.finish(maximise=maximise, columns=x, coefficients=worth)


def outshone(rhs=3):
    """Return a program whose relaxation takes only columns of weight 2, and whose optimum needs one of weight 1."""
    builder = ModelBuilder("outshone")
    x = builder.add_columns("x", np.arange(2_100))
    heavy = x < 2_000
    entries = (np.zeros_like(x), x, np.where(heavy, 2, 1))
    builder.add_rows("all", [0], entries=entries, sense="<=", rhs=rhs)
    return builder.finish(maximise=True, columns=x, coefficients=np.where(heavy, 21, 10))


def relaxed(model):
    """Return the model with continuous columns."""
    return replace(model, columns=tuple(replace(family, integer=False) for family in model.columns))


def good_start(model, seed):
    """Return a feasible point: columns taken in random order while they fit."""
    values = np.zeros(model.column_count, dtype=np.int64)
    for column in np.random.default_rng(seed).permutation(model.column_count)[:100].tolist():
        values[column] = 1
        if not evaluate(model, values).feasible:
            values[column] = 0
    return values


def test_a_wide_program_is_a_large_packing_program():
    assert is_wide(packing(0, columns=WIDE))
    assert not is_wide(packing(0, columns=WIDE - 1))
    assert is_wide(packing(0, columns=3_000, rows=299))
    assert not is_wide(packing(0, columns=3_000, rows=300))
    assert is_wide(outshone(rhs=0))
    assert not is_wide(outshone(rhs=-1))  # without the point 0, some columns may be infeasible where all are not


@pytest.mark.parametrize("changes", [{"sense": ">="}, {"maximise": False}, {"upper": INFINITY}, {"integer": False}])
def test_another_program_is_not_wide_however_large(changes):
    assert not is_wide(packing(0, **changes))


def test_several_families_and_lower_bounds_are_not_wide():
    for change in ("family", "lower"):
        builder = ModelBuilder("other")
        x = builder.add_columns("x", np.arange(3_000), lower=-1 if change == "lower" else 0)
        if change == "family":
            builder.add_columns("y", [0])
        builder.add_rows("all", [0], entries=([0], x[:1], [1]), sense="<=", rhs=1)
        assert not is_wide(builder.finish(maximise=True, columns=x, coefficients=np.ones(3_000, dtype=np.int64)))


@pytest.mark.parametrize("seed", SEEDS)
def test_pricing_solves_the_relaxation_of_all_columns(seed):
    model = packing(seed, columns=6_000)
    found = priced(model, None)
    whole = backend_named("highs").solve(relaxed(model), FOREVER)
    assert len(found.columns) < model.column_count
    assert found.bound == pytest.approx(float(whole.value), rel=1e-6)  # the tolerance of reduced costs
    assert (found.duals >= 0).all()
    assert found.reduced[np.setdiff1d(np.arange(6_000), found.columns)].max() <= 1e-6 * model.objective.max()


@pytest.mark.parametrize("backend", ["highs", "cp-sat"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimum_is_that_of_the_whole_program(seed, backend):
    model = packing(seed)
    plain = backend_named("highs").solve(model, FOREVER)
    start = good_start(model, seed) if seed % 2 else None
    wide = solve_wide(backend_named(backend), model, FOREVER, start)
    assert (plain.termination.reason, wide.termination.reason) == (Reason.OPTIMAL, Reason.OPTIMAL)
    assert wide.value == wide.bound == plain.value
    found = evaluate(model, wide.values)
    assert (found.broken, found.value) == ((), wide.value)


@pytest.mark.parametrize("backend", ["highs", "cp-sat"])
def test_no_time_is_no_claim(backend):
    model = packing(1)
    outcome = solve_wide(backend_named(backend), model, Limits(seconds=0), None)
    assert (outcome.termination.reason, outcome.termination.limit) == (Reason.NO_SOLUTION, Limit.TIME)
    assert (outcome.values, outcome.value, outcome.bound) == (None, None, None)
    start = good_start(model, 1)
    kept = solve_wide(backend_named(backend), model, Limits(seconds=0), start)
    assert kept.termination.reason is Reason.FEASIBLE
    assert kept.values.tolist() == start.tolist()
    assert kept.bound is None or kept.bound > kept.value
    assert priced(model, Budget(limits=Limits(seconds=0))) is None


@pytest.mark.parametrize("backend", ["highs", "cp-sat"])
def test_a_short_time_makes_no_false_claim(backend):
    model = packing(1, columns=4_000)
    best = backend_named("highs").solve(model, FOREVER)
    start = good_start(model, 1)
    for seconds in (0.02, 0.1, 0.3):
        outcome = solve_wide(backend_named(backend), model, Limits(seconds=seconds), start)
        assert evaluate(model, start).value <= outcome.value <= best.value
        assert outcome.bound is None or outcome.bound >= best.value
        assert outcome.termination.reason is not Reason.OPTIMAL or outcome.value == outcome.bound == best.value


class Tired(Highs):
    """HiGHS that stops at the time limit without values, with the bound of what it was given."""

    name = "tired"

    def run(self, loaded, model, limits, start):
        return nothing(Reason.NO_SOLUTION, "tired", Limit.TIME, super().run(loaded, model, limits, start).bound)


def test_the_bound_of_some_columns_is_never_given_for_all():
    model = outshone()
    start = np.zeros(model.column_count, dtype=np.int64)
    for given in (None, start):
        outcome = solve_wide(Tired(), model, FOREVER, given)
        assert outcome.termination.reason is (Reason.NO_SOLUTION if given is None else Reason.FEASIBLE)
        assert outcome.bound == 31  # the relaxation is worth 31.5, its columns alone reach 21


@pytest.mark.parametrize("backend", ["highs", "cp-sat"])
def test_columns_that_the_relaxation_leaves_out_are_taken_in_again(backend):
    outcome = solve_wide(backend_named(backend), outshone(), FOREVER, None)
    assert (outcome.termination.reason, outcome.value, outcome.bound) == (Reason.OPTIMAL, 31, 31)
    assert len(priced(outshone(), None).columns) < 2_000


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_priced_is_recalled_at_the_same_work(seed):
    model, first, second = packing(seed), unlimited(), unlimited()
    found = priced(model, first)
    assert priced(model, second) is found
    assert second.spent == first.spent > 0
    assert priced(model, Budget(limits=Limits(seconds=None, work=first.spent / 2))) is None
    fresh = priced(packing(seed), unlimited())
    assert (fresh.bound, fresh.columns.tolist()) == (found.bound, found.columns.tolist())


def test_a_restricted_model_keeps_rows_and_labels():
    model = packing(3)
    columns = np.array([0, 7, 8, 2_499])
    part = restricted(model, columns)
    assert part.labels == model.labels
    assert part.row_names == model.row_names
    assert part.column_names == tuple(model.column_names[c] for c in columns)
    assert part.objective.tolist() == model.objective[columns].tolist()
    assert part.upper.tolist() == model.upper[columns].tolist()
    assert part.matrix.upper.tolist() == model.matrix.upper.tolist()
    for trial in range(20):
        values = np.random.default_rng(trial).integers(0, 4, 4)
        spread = np.zeros(model.column_count, dtype=np.int64)
        spread[columns] = values
        assert evaluate(part, values).value == evaluate(model, spread).value
        rows, whole = (
            [(b.label, b.index, b.by) for b in evaluate(m, v).broken if b.label in m.labels]
            for m, v in ((part, values), (model, spread))
        )
        assert rows == whole
    assert restricted(model, np.zeros(0, dtype=np.int64)).row_count == model.row_count
