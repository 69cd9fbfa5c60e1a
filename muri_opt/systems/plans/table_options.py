"""Which plans of a table jobs may run by, all jobs at once: the options that :mod:`.job_options` reads one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.next_configurations import next_names, reads_names
from muri_opt.systems.plans.plan_ladder import Configuration, steps_of
from muri_opt.systems.plans.plan_parts import check_strategy
from muri_opt.systems.plans.plan_rules import PlanRules, strategy
from muri_opt.systems.plans.plan_table import Bools, PlanTable
from muri_opt.systems.plans.table_values import TableValues

_strategy = lru_cache(maxsize=4096)(strategy)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableOptions:
    """Options of a table: the plan of each, ``home`` on the nodes its job holds, and what it is worth by itself."""

    table: PlanTable
    at: Ints
    home: Bools
    worth: Ints


def table_options(round_: Round, rules: PlanRules) -> TableOptions | None:
    """Return the options of all jobs, those of a job together; ``None`` where they must be read one by one.

    Whatever is refused is left to that reading, too, which says where it is.
    """
    table = PlanTable.of(round_)
    if table is None:
        return None
    try:
        for job in round_.jobs:
            check_strategy(job, rules.change)
        known = [steps_of(job) for job in round_.jobs] if reads_names(rules) else None
        allowed = table.fits & _may_run(round_, table, rules) & _named(round_, table, rules, known)
        places = np.flatnonzero(allowed)
        staying = _homes(round_, table)[places]
        at = np.repeat(places, 1 + staying)
        home = np.zeros(len(at), dtype=np.bool_)
        home[(np.cumsum(1 + staying) - 1 - staying)[staying]] = True
        worth = TableValues(round_, table, at, home, known).under(rules)
    except InputError:
        return None
    return TableOptions(table=table, at=at, home=home, worth=worth)


def _may_run(round_: Round, table: PlanTable, rules: PlanRules) -> Bools:
    """Return which plans the policy lets jobs run by: of their strategy, of their GPUs, as fast as was promised."""
    promised = [0.0 if job.guarantee is None else job.guarantee.throughput for job in round_.jobs]
    found = table.throughput >= np.array(promised)[table.job]
    if rules.change in ("plans", "neither"):
        found &= table.total == round_.amounts.g[table.job]
    if rules.change in ("resources", "neither"):
        mine = [_strategy(job.plan or "") for job in round_.jobs]
        pairs = zip(table.plans, table.job.tolist(), strict=True)
        found &= np.array([_strategy(plan.name) == mine[job] for plan, job in pairs], dtype=np.bool_)
    return found


def _named(
    round_: Round, table: PlanTable, rules: PlanRules, known: Sequence[Mapping[str, Configuration]] | None
) -> Bools:
    """Return which plans have a name that their job may run by next."""
    found = np.ones(len(table.plans), dtype=np.bool_)
    first = table.first.tolist()
    for j, job in enumerate(round_.jobs):
        names = next_names(job, rules, {} if known is None else known[j])
        if names is None:
            continue
        found[first[j] : first[j + 1]] = [plan.name in names for plan in job.plans or ()]
    return found


def _homes(round_: Round, table: PlanTable) -> Bools:
    """Return the plans by which a running job can keep its nodes without a restart."""
    found = np.zeros(len(table.plans), dtype=np.bool_)
    first = table.first.tolist()
    for j, job in enumerate(round_.jobs):
        if job.state == "running" and job.placement:
            found[first[j] : first[j + 1]] = [_is_home(job, plan) for plan in job.plans or ()]
    return found


def _is_home(job: Job, plan: Plan) -> bool:
    held = job.placement or {}
    return plan.name == job.plan and plan.nodes == len(held) and set(held.values()) == {plan.gpus // plan.nodes}
