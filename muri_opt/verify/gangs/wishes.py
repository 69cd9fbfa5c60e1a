"""Levels that gangs prefer to be inside one unit of: what that is worth, below all else."""

from __future__ import annotations

from collections.abc import Iterable

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.gangs.rules import GangRules
from muri_opt.verify.gangs.value import kept_jobs


@recalled
def wishes(round_: Round, rules: GangRules) -> dict[str, str]:
    """Return the levels that jobs prefer, by job; those that stay where they are have no choice.

    Where there are any, the value of a decision is counted so many times, and once more, and each of them that runs
    inside one unit of its level adds one: together less than the least difference of all else.
    """
    if "job.within" not in round_.used_fields:
        return {}
    kept = kept_jobs(round_, rules)
    return {
        job.id: job.within.level
        for job in round_.jobs
        if job.within is not None and not job.within.required and job.id not in kept
    }


def is_inside(round_: Round, level: str, nodes: Iterable[str]) -> bool:
    """Return whether nodes are in one unit of a level."""
    index = round_.cluster.node_index
    units = {round_.cluster.nodes[index[name]].units.get(level) for name in nodes if name in index}
    return len(units) == 1 and None not in units
