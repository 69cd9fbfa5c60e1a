"""Entry points: a round in, a checked result out; the exact path below them; the solvers."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.solve.defragmentation import defragment as defragment
    from muri_opt.solve.loading import warm_up as warm_up
    from muri_opt.solve.round import solve_round as solve_round

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.solve.defragmentation": ("defragment",),
        "muri_opt.solve.loading": ("warm_up",),
        "muri_opt.solve.round": ("solve_round",),
    },
)
