"""What a policy needs, loaded before a clock runs: modules here, modules and solvers in the solver process."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from muri_opt.rounds import Limits
from muri_opt.solve.solvers import FIRST_BACKEND, SECOND_BACKEND, WorkerError, backend_named, borrowed_worker
from muri_opt.systems import DEFAULT_POLICY, Named, Policy, has_program, policy_from, program_of
from muri_opt.verify import chapter_kind

if TYPE_CHECKING:
    from muri_opt.systems import Formulation

_LATE = ("scipy.optimize", "scipy.sparse.csgraph")
"""What matchings and programs of many columns import when they come to it."""


def warm_up(policy: Named = DEFAULT_POLICY) -> None:
    """Load all that deciding rounds by a policy needs, here and in a solver process, and solve a tiny program there.

    Without it the first calls do so, on top of their limits (``stats.startup_seconds`` says how long that took). What
    is wrong with a solver is not told here but by the solve that needs it.

    >>> warm_up("fifo")
    """
    chosen = policy_from(policy)
    load_here(chosen)
    for name in _LATE:
        import_module(name)
    if not has_program(chosen.rules):
        return
    with suppress(WorkerError), borrowed_worker() as worker:
        worker.load(load_program, type(program_of(chosen.rules)), seconds=None)
        worker.load(load_late, seconds=None)
        for backend in (FIRST_BACKEND, SECOND_BACKEND):
            worker.load(load_backend, backend, seconds=None)


def load_here(policy: Policy) -> None:
    """Import what deciding a round by the policy and checking the answer needs in this process."""
    rules = policy.rules
    if has_program(rules):
        program_of(rules)
    chapter_kind(rules.get("chapter", ""))


def load_program(kind: type[Formulation]) -> None:
    """Import what building and solving a kind of program needs; runs in the solver process."""
    for name in (
        kind.__module__,
        "muri_opt.solve.exact",
        "muri_opt.solve.solvers.lexicographic_solve",
        "muri_opt.solve.solvers.column_pricing",
        *kind.late_imports,
    ):
        import_module(name)


def load_late() -> None:
    """Import what only some rounds need; runs in the solver process."""
    for name in _LATE:
        import_module(name)


def load_backend(name: str) -> None:
    """Load a solver and let it solve a tiny program; runs in the solver process."""
    from muri_opt.modelling import ModelBuilder

    builder = ModelBuilder("tiny")
    x = builder.add_columns("x", [[0], [1]])
    builder.add_rows("one", [[0]], entries=([0, 0], x, [1, 1]), sense="<=", rhs=1)
    model = builder.finish(maximise=True, columns=x, coefficients=[2, 3])
    with suppress(Exception):  # whatever is wrong with a solver is said by the solve that needs it
        backend_named(name).solve(model, Limits(seconds=None))
