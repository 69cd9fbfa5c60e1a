"""Small programs on which a solver has been seen to lie: every backend answers them, and a wrong answer is found."""

from itertools import product

import pytest
from conformance import assert_optimal, every_backend, solve

from muri_opt.modelling import evaluate
from muri_opt.rounds import Reason
from muri_opt.solve.solvers import backend_named
from muri_opt.solve.solvers.highs import Highs
from muri_opt.solve.solvers.outcome import nothing
from muri_opt.solve.solvers.self_check import KNOWN_PROGRAMS, self_check

every_program = pytest.mark.parametrize("program", KNOWN_PROGRAMS, ids=lambda program: program.name)


@every_backend
@every_program
def test_every_backend_answers_them(name, program):
    outcome = solve(name, program.model())
    if program.optimum is None:
        assert outcome.termination.reason is Reason.INFEASIBLE
        assert outcome.values is None
    else:
        assert_optimal(outcome, program.optimum)


@every_program
def test_the_optima_are_those_of_trying_everything(program):
    model = program.model()
    tried = (evaluate(model, point) for point in points(program))
    assert max((found.value for found in tried if found.feasible), default=None) == program.optimum


def points(program):
    import numpy as np

    for point in product(*(range(upper + 1) for upper in program.upper)):
        yield np.array(point)


@every_backend
def test_the_check_counts_the_programs(name):
    assert self_check(backend_named(name)) == len(KNOWN_PROGRAMS)


class Liar(Highs):
    """Calls everything infeasible."""

    def run(self, loaded, model, limits, start):
        return nothing(Reason.INFEASIBLE, "so it says")


def test_a_liar_is_found():
    with pytest.raises(RuntimeError, match=r"program 'choice', with the optimum 5, ended with None: .*so it says"):
        self_check(Liar())
