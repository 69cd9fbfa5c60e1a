"""Small programs with known answers, among them those on which a solver has been seen to lie.

Every backend must answer them all: the conformance suite asks it to, and so does ``muri-opt doctor``, with the solver
that is installed where it runs. Each takes a few milliseconds. The programs that a solver answered wrongly are what was
left of a larger one when every row and column had been taken out without which it still did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from muri_opt.modelling import Model, ModelBuilder, RowSense
from muri_opt.rounds import Limits, Reason

if TYPE_CHECKING:
    from muri_opt.solve.solvers.base import Backend

_SECONDS = 60.0

Row = tuple[Mapping[int, int], RowSense, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProgram:
    """A program over columns from 0 to ``upper``, maximised, and its optimum: ``None`` where nothing is feasible.

    ``about`` says why it is here. Rows are (coefficient by column, sense, right side).
    """

    name: str
    about: str
    objective: tuple[int, ...]
    upper: tuple[int, ...]
    rows: tuple[Row, ...]
    optimum: int | None

    def model(self) -> Model:
        """Return the program as a model."""
        builder = ModelBuilder(self.name)
        columns = builder.add_columns("x", range(len(self.objective)), upper=self.upper)
        for number, (terms, sense, side) in enumerate(self.rows):
            entries = ([0] * len(terms), list(terms), list(terms.values()))
            builder.add_rows(f"r{number}", [0], entries=entries, sense=sense, rhs=side)
        return builder.finish(maximise=True, columns=columns, coefficients=self.objective)


KNOWN_PROGRAMS: Final = (
    KnownProgram(
        name="choice",
        about="the smallest program with something to decide",
        objective=(3, 2, 3),
        upper=(1, 1, 1),
        rows=(({0: 1, 1: 1, 2: 1}, "<=", 2), ({0: 1, 2: 1}, "<=", 1)),
        optimum=5,
    ),
    KnownProgram(
        name="whole",
        about="a relaxation that cannot be rounded",
        objective=(3, 4, 5),
        upper=(1, 1, 1),
        rows=(({0: 5, 1: 5, 2: 5}, "<=", 9),),
        optimum=5,
    ),
    KnownProgram(
        name="three-of-three",
        about="CBC 2.10.3 for x86-64, with its preprocessing, says 1",
        objective=(1, 2, 0, 0, 0, 0),
        upper=(1, 1, 2, 1, 3, 3),
        rows=(({0: -6, 2: 1, 3: 1, 4: 1}, "=", 0), ({1: -3, 5: 1}, "=", 0), ({4: 1, 5: 1}, "<=", 3)),
        optimum=2,
    ),
    KnownProgram(
        name="first-or-second",
        about="CBC 2.10.3 for x86-64, with its preprocessing, says 1",
        objective=(2, 1, 0, 0, 0),
        upper=(1, 1, 3, 1, 2),
        rows=(({0: -3, 2: 1}, "=", 0), ({1: -3, 3: 1, 4: 1}, "=", 0), ({2: 1, 4: 1}, "<=", 3)),
        optimum=2,
    ),
    KnownProgram(
        name="two-plans",
        about="CBC 2.10.3 for x86-64, with its preprocessing, says that nothing is feasible",
        objective=(100_000, 545_897, 0, 0, 0, 0),
        upper=(1, 1, 1, 1, 1, 1),
        rows=(({0: -2, 2: 1, 3: 1}, "=", 0), ({1: -2, 4: 1, 5: 1}, "=", 0), ({2: 1, 4: 2}, "<=", 2)),
        optimum=545_897,
    ),
    KnownProgram(
        name="large-coefficient",
        about="the presolve of HiGHS 1.13 puts a column outside its bounds",
        objective=(3, 1, 8, 2),
        upper=(1, 1, 2, 3),
        rows=(({0: 100_000, 1: 3, 2: 4, 3: 4}, "=", 17),),
        optimum=None,
    ),
    KnownProgram(
        name="crossed-bounds",
        about="CBC 2.10.3 and 2.10.10, without preprocessing, crash where they should say that nothing is feasible",
        objective=(3, -9),
        upper=(1, 1),
        rows=(({0: 4, 1: -7}, ">=", -1), ({1: -5}, "<=", -1)),
        optimum=None,
    ),
)
"""In the order in which they are asked."""


def self_check(backend: Backend) -> int:
    """Return how many programs a backend has answered, all of them rightly; the first wrong answer raises."""
    for program in KNOWN_PROGRAMS:
        outcome = backend.solve(program.model(), Limits(seconds=_SECONDS))
        expected = Reason.INFEASIBLE if program.optimum is None else Reason.OPTIMAL
        if (outcome.termination.reason, outcome.value) != (expected, program.optimum):
            wanted = "no solution" if program.optimum is None else f"the optimum {program.optimum:,}"
            raise RuntimeError(
                f"program {program.name!r}, with {wanted}, ended with {outcome.value}: {outcome.termination}"
            )
    return len(KNOWN_PROGRAMS)
