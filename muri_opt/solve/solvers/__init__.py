"""From model to values: one file per solver, one way to call them, the same exact checks on every answer.

A :class:`Backend` takes a :class:`~muri_opt.modelling.Model` and :class:`~muri_opt.rounds.Limits` and returns an
:class:`Outcome`. What it cannot solve exactly it refuses beforehand; what it answers is rounded, recomputed and checked
before it is passed on. Importing this package loads no solver.
"""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.solve.solvers.base import (
        Backend as Backend,
        Capabilities as Capabilities,
        check_capabilities as check_capabilities,
    )
    from muri_opt.solve.solvers.column_pricing import (
        is_wide as is_wide,
        priced as priced,
        restricted as restricted,
        solve_wide as solve_wide,
    )
    from muri_opt.solve.solvers.highs import (
        Relaxed as Relaxed,
        relaxation as relaxation,
        relaxation_duals as relaxation_duals,
    )
    from muri_opt.solve.solvers.lexicographic_solve import solve_stages as solve_stages
    from muri_opt.solve.solvers.outcome import Outcome as Outcome, checked as checked, exact_bound as exact_bound
    from muri_opt.solve.solvers.process import (
        WorkerError as WorkerError,
        borrowed_worker as borrowed_worker,
        stop_workers as stop_workers,
    )
    from muri_opt.solve.solvers.registry import (
        BACKENDS as BACKENDS,
        FIRST_BACKEND as FIRST_BACKEND,
        SECOND_BACKEND as SECOND_BACKEND,
        backend_named as backend_named,
    )

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.solve.solvers.outcome": ("Outcome", "checked", "exact_bound"),
        "muri_opt.solve.solvers.base": ("Backend", "Capabilities", "check_capabilities"),
        "muri_opt.solve.solvers.highs": ("Relaxed", "relaxation", "relaxation_duals"),
        "muri_opt.solve.solvers.registry": (
            "BACKENDS",
            "FIRST_BACKEND",
            "SECOND_BACKEND",
            "backend_named",
        ),
        "muri_opt.solve.solvers.lexicographic_solve": ("solve_stages",),
        "muri_opt.solve.solvers.column_pricing": ("is_wide", "priced", "restricted", "solve_wide"),
        "muri_opt.solve.solvers.process": ("WorkerError", "borrowed_worker", "stop_workers"),
    },
)
