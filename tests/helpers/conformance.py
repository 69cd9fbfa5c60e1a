"""What the conformance suites share: one way to solve, and to see that a backend refuses."""

import pytest
from sample_models import NAMES

from muri_opt.errors import RefusalError
from muri_opt.rounds import Limits, Reason
from muri_opt.solve.solvers import backend_named

every_backend = pytest.mark.parametrize("name", NAMES)
HOUR = Limits(seconds=3600)


def solve(name, model, limits=HOUR, start=None):
    return backend_named(name).solve(model, limits, start)


def solve_until_found(name, model):
    """Return the outcome of the shortest of some limits within which a solver, however slow, finds an answer."""
    outcomes = (solve(name, model, Limits(seconds=0.5 * 4**step)) for step in range(5))
    return next((outcome for outcome in outcomes if outcome.values is not None), None)


def assert_optimal(outcome, value):
    assert (outcome.termination.reason, outcome.value, outcome.bound) == (Reason.OPTIMAL, value, value)
    assert outcome.termination.detail


def refuses(name, model):
    """Return what the backend refuses the model for."""
    with pytest.raises(RefusalError) as refusal:
        solve(name, model)
    assert refusal.value.field.startswith(f"{name}: model ")
    assert refusal.value.allowed
    return refusal.value.found
