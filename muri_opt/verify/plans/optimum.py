"""The optimum of a small round of plans by enumeration: every job by every way on every set of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds import Round
from muri_opt.verify.option_search import Option, best_options
from muri_opt.verify.plans.plan_choices import PlanChoices, is_for
from muri_opt.verify.plans.plan_parts import Entry


def planned_optimum(round_: Round, menu: PlanChoices, *, steps: int) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    options: list[list[Option]] = []
    for ways, bonus, weight, held in zip(menu.ways, menu.bonus, menu.weights, menu.homes, strict=True):
        nodes = [round_.cluster.node_index[node] for node in held]
        options.append([])
        for way in ways:
            parts = way.plan.nodes
            away = Option(weight * (bonus + way.away), way.piece, parts, 1, parts)
            if way.home is not None and is_for(Entry(way.plan, way.piece), _types(round_, nodes)):
                worth = weight * (bonus + way.home)
                options[-1].append(away._replace(value=worth, home=dict.fromkeys(nodes, 1)))
            everywhere = len(round_.cluster.nodes)
            options[-1] += [away._replace(among=None if len(spot) == everywhere else spot) for spot in way.spots]
    asks = [0 if job.guarantee is None else job.gpus for job in round_.jobs]
    return best_options(round_, round_.jobs, options, asks, steps=steps)


def _types(round_: Round, nodes: Sequence[int]) -> set[str | None]:
    return {round_.cluster.nodes[node].gpu_type for node in nodes}
