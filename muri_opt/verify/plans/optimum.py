"""The optimum of a small round of plans by enumeration: every job by every way on every set of nodes."""

from __future__ import annotations

from muri_opt.rounds import Round
from muri_opt.verify.option_search import Option, best_options
from muri_opt.verify.plans.plan_choices import PlanChoices


def planned_optimum(round_: Round, menu: PlanChoices, *, steps: int) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    options: list[list[Option]] = []
    for ways, bonus, held in zip(menu.ways, menu.bonus, menu.homes, strict=True):
        nodes = [round_.cluster.node_index[node] for node in held]
        options.append([])
        for way in ways:
            parts = way.plan.nodes
            away = Option(bonus + way.away, way.piece, parts, 1, parts, way.plan.gpu_type)
            at_home = [] if way.home is None else [away._replace(value=bonus + way.home, home=dict.fromkeys(nodes, 1))]
            options[-1] += [*at_home, away]
    asks = [0 if job.guarantee is None else job.gpus for job in round_.jobs]
    return best_options(round_, round_.jobs, options, asks, steps=steps)
