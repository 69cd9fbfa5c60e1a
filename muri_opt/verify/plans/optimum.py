"""The optimum of a small round of plans by enumeration: every job by every way on every set of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds import Round
from muri_opt.verify.amounts import minus
from muri_opt.verify.option_search import Option, best_options
from muri_opt.verify.plans.plan_choices import PlanChoices, held_nodes, is_for


def planned_optimum(round_: Round, menu: PlanChoices, *, steps: int) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    options: list[list[Option]] = []
    told = zip(round_.jobs, menu.ways, menu.bonus, menu.weights, menu.homes, strict=True)
    for job, ways, bonus, weight, held in told:
        nodes = [round_.cluster.node_index[node] for node in held]
        gpus = held_nodes(round_, job)
        options.append([])
        for way in ways:
            parts = way.plan.nodes
            away = Option(weight * (bonus + way.away), way.piece, parts, 1, parts)
            wide = None
            if way.wide is not None:
                away = away._replace(larger=way.plan.gpus % parts, more=minus(way.wide, way.piece))
                wide = frozenset(node for node in nodes if gpus[node] == way.wide.gpus)
            if way.home is not None and is_for(way.entry, _types(round_, nodes)):
                worth = weight * (bonus + way.home)
                options[-1].append(away._replace(value=worth, home=dict.fromkeys(nodes, 1), wide=wide))
            everywhere = len(round_.cluster.nodes)
            options[-1] += [away._replace(among=None if len(spot) == everywhere else spot) for spot in way.spots]
    asks = [0 if job.guarantee is None else job.gpus for job in round_.jobs]
    return best_options(round_, round_.jobs, options, asks, steps=steps)


def _types(round_: Round, nodes: Sequence[int]) -> set[str | None]:
    return {round_.cluster.nodes[node].gpu_type for node in nodes}
