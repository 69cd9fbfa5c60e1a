"""The optimum of a small round by enumeration; here of gangs: every job left out, or on every set of nodes."""

from __future__ import annotations

from collections import Counter

from muri_opt.rounds import Round
from muri_opt.verify.amounts import empty_rooms, need_of, smallest_node_count
from muri_opt.verify.gangs.rules import GangRules
from muri_opt.verify.gangs.staying import open_round
from muri_opt.verify.gangs.value import job_values
from muri_opt.verify.option_search import Option, best_options


def enumerated_optimum(round_: Round, rules: GangRules, *, steps: int = 20_000) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    values, left = job_values(round_, rules), open_round(round_, rules)
    jobs = sorted(left.jobs, key=lambda job: -values[job.id])
    empty = Counter(empty_rooms(round_))
    options = []
    for job in jobs:
        need = need_of(job)
        least = smallest_node_count(empty, need)
        most = least if rules.fewest_nodes else len(round_.cluster.nodes)
        unit = (1, need.milli, need.mebibytes)
        options.append([] if least is None else [Option(values[job.id], unit, need.gpus, need.gpus, most or 0)])
    return best_options(left, jobs, options, [job.gpus for job in jobs], steps=steps)
