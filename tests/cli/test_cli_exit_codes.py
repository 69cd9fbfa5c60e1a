"""One code per kind of ending."""

import pytest

from muri_opt import Certificate, Limit, Reason, Result, Termination, Violation
from muri_opt.cli.output import ExitCode, exit_code


def ended(reason, limit=None, violations=()):
    return Result(
        fingerprint="sha256:0",
        policy="fifo",
        method="auto",
        termination=Termination(reason=reason, limit=limit),
        certificate=Certificate(feasible=not violations, violations=violations),
    )


@pytest.mark.parametrize(
    ("reason", "limit", "code"),
    [
        (Reason.OPTIMAL, None, 0),
        *((Reason.FEASIBLE, limit, 0) for limit in Limit),
        (Reason.INFEASIBLE, None, 3),
        *((Reason.NO_SOLUTION, limit, 4) for limit in Limit),
        (Reason.FAILED, None, 5),
    ],
)
def test_code_of_a_termination(reason, limit, code):
    assert exit_code(ended(reason, limit)) == code


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_code(reason):
    limit = Limit.TIME if reason in (Reason.FEASIBLE, Reason.NO_SOLUTION) else None
    assert exit_code(ended(reason, limit)) in set(ExitCode)


@pytest.mark.parametrize("reason", [Reason.OPTIMAL, Reason.INFEASIBLE, Reason.FAILED])
def test_a_violation_is_no_answer_whatever_the_solver_said(reason):
    violation = Violation(rule="gang", where="job-0", detail="two of three GPUs")
    assert exit_code(ended(reason, violations=(violation,))) == 1


def test_stopped_with_nothing_ends_with_4(run, toy):
    code, out, _ = run("solve", toy, "--method", "exact", "--seconds", "0")
    assert code == 4
    assert "NO_SOLUTION (limit: TIME)" in out


def test_a_solver_that_dies_ends_with_5_and_auto_still_answers(process, toy, tmp_path):
    (tmp_path / "highspy.py").write_text("import os; os._exit(3)\n")
    exact = process("solve", toy, "--method", "exact", path=[tmp_path])
    assert exact.returncode == 5
    assert "FAILED: the solver process ended with code 3" in exact.stdout
    auto = process("solve", toy, "--method", "auto", path=[tmp_path])
    assert auto.returncode == 0
    assert "FEASIBLE (limit: FAULT)" in auto.stdout
    assert exact.stderr == auto.stderr == ""
