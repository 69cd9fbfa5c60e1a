"""The backends by name."""

import pytest

from muri_opt.errors import InputError
from muri_opt.solve.solvers import BACKENDS, FIRST_BACKEND, backend_named
from muri_opt.solve.solvers.cbc import Cbc


def test_names_in_order_of_preference():
    assert list(BACKENDS) == ["highs", "cp-sat", "cbc", "scip", "exhaustive"]
    assert next(iter(BACKENDS)) == FIRST_BACKEND


@pytest.mark.parametrize("name", list(BACKENDS))
def test_every_backend_is_found_by_its_name(name):
    assert backend_named(name).name == name


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(InputError) as error:
        backend_named("hihgs")
    assert error.value.field == "backend"
    assert "did you mean 'highs'" in error.value.found
    assert error.value.allowed == "one of cbc, cp-sat, exhaustive, highs, scip"


def test_a_missing_solver_is_told_with_its_reason(monkeypatch):
    from pulp import PULP_CBC_CMD

    monkeypatch.setattr(PULP_CBC_CMD, "pulp_cbc_path", "/nowhere/cbc")
    with pytest.raises(ImportError, match="this PuLP comes without CBC: there is no /nowhere/cbc"):
        Cbc().version()
