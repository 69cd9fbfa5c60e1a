"""Groups that are priced on demand where the solver of the last program takes no numbers that large."""

from __future__ import annotations

from muri_opt import Limits, solve_round, verify
from muri_opt.rounds.generate.families import generate


def test_what_a_solver_refuses_is_left_as_it_was_rounded() -> None:
    # With rates of groups that run freely a coefficient of this round is above what HiGHS takes.
    round_ = generate("interleaving", jobs=182, nodes=22, seed=79)
    result = solve_round(round_, "muri-s:run=free", "exact", Limits(work=2.0))
    assert result.value is not None
    certificate = verify(round_, result)
    assert not certificate.violations
    assert certificate.checked_bound is not None
    assert certificate.checked_bound >= result.value
