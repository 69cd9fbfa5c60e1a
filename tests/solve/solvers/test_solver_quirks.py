"""Behaviour of single solvers that the backends have to know of."""

import sys

import numpy as np
import pytest
from conformance import solve_until_found
from sample_models import gangs, knapsack, one_row

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Limit, Limits, Reason
from muri_opt.solve.solvers import backend_named
from muri_opt.solve.solvers.cbc import _log_of


def test_highs_presolve_that_goes_wrong_is_left_out():
    # HiGHS 1.13 reduces this to nothing and puts a column outside its bounds; it has no solution.
    model = one_row([100_000, 3, 4, 4], "=", 17, objective=[3, 1, 8, 2], upper=[1, 1, 2, 3])
    assert backend_named("highs").solve(model, Limits()).termination.reason is Reason.INFEASIBLE


def test_cbc_that_overruns_is_killed(tmp_path):
    assert _log_of([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path, 0.0) is None


def test_cbc_that_answers_is_heard(tmp_path):
    assert _log_of([sys.executable, "-c", "print('so it is')"], tmp_path, 600.0) == "so it is\n"


def test_cbc_without_an_answer_has_failed():
    model = gangs()
    outcome = backend_named("cbc").run("this is no model", model, Limits(), None)
    assert outcome.termination.reason is Reason.FAILED
    assert outcome.termination.detail.startswith("no answer; the log ends: ")


def test_cbc_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert backend_named("cbc").solve(gangs(), Limits()).value == 34
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [123_456_789, 98_765_432_101])
def test_cbc_values_of_many_digits(value):
    # CBC's solution text has eight digits.
    model = one_row([1, -1], "=", 7, objective=[1, 1], maximise=False, lower=[value, 0], upper=2 * value)
    outcome = backend_named("cbc").solve(model, Limits())
    assert outcome.termination.reason is Reason.OPTIMAL
    assert outcome.values.tolist() == [value, value - 7]


def test_cbc_bound_of_a_stopped_run_is_in_the_log():
    outcome = solve_until_found("cbc", knapsack())
    assert outcome.termination.limit is Limit.TIME
    assert outcome.termination.detail == "Stopped on time"
    assert outcome.bound > outcome.value


def test_scip_reports_an_unbounded_program_as_such():
    # Here SCIP's objective value is infinite, which MathOpt refuses to hand over.
    builder = ModelBuilder("ray")
    x = builder.add_columns("x", [0, 1], upper=2**62, integer=False)
    builder.add_rows("odd", [0], entries=([0, 0], x, [2, -2]), sense="=", rhs=1)
    outcome = backend_named("scip").solve(builder.finish(maximise=True, columns=x, coefficients=[1, 1]), Limits())
    assert outcome.termination.reason is Reason.FAILED
    assert outcome.termination.detail.startswith("unbounded")


def test_scip_that_refuses_its_input_has_failed():
    model = gangs()
    backend = backend_named("scip")
    loaded = backend.load(model)
    loaded.variables.lower_bounds.pop()
    outcome = backend.run(loaded, model, Limits(), None)
    assert outcome.termination.reason is Reason.FAILED
    assert "lower_bounds" in outcome.termination.detail


def test_cp_sat_that_refuses_its_input_has_failed():
    model = gangs()
    backend = backend_named("cp-sat")
    loaded = backend.load(model)
    loaded.Proto().constraints.add().linear.vars.extend([99])
    outcome = backend.run(loaded, model, Limits(), None)
    assert outcome.termination.reason is Reason.FAILED
    assert outcome.termination.detail.startswith("MODEL_INVALID: ")


def test_exhaustive_search_does_not_creep():
    # Each row pushes the other column up by 1: halving must end what narrowing alone would take 10**12 steps for.
    builder = ModelBuilder("creep")
    x = builder.add_columns("x", [0, 1], upper=10**12)
    entries = ([0, 0, 1, 1], [*x, *x], [1, -1, -1, 1])
    builder.add_rows("less", [0, 1], entries=entries, sense="<=", rhs=-1)
    model = builder.finish(maximise=True, columns=x, coefficients=np.ones(2, dtype=int))
    outcome = backend_named("exhaustive").solve(model, Limits(seconds=0.3))
    assert (outcome.termination.reason, outcome.termination.limit) == (Reason.NO_SOLUTION, Limit.TIME)
