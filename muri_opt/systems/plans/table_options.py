"""Which plans of a table jobs may run by, all jobs at once: the options that :mod:`.job_options` reads one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.next_configurations import is_predictable, reads_names
from muri_opt.systems.plans.plan_parts import check_strategy
from muri_opt.systems.plans.plan_rules import PlanRules
from muri_opt.systems.plans.plan_table import Bools, PlanTable
from muri_opt.systems.plans.table_values import TableValues


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
        known = [rows.configurations for rows in table.rows] if reads_names(rules) else None
        present = table.name == table.reader.names(round_.jobs)[table.job]
        allowed = table.fits & _may_run(round_, table, rules) & _named(round_, table, rules, present)
        places = np.flatnonzero(allowed)
        staying = (present & _as_held(round_, table))[places]
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
        mine = np.array([table.reader.strategy(job.plan or "") for job in round_.jobs], dtype=np.int64)
        found &= table.strategy == mine[table.job]
    return found


def _named(round_: Round, table: PlanTable, rules: PlanRules, present: Bools) -> Bools:
    """Return which plans have a name that their job may run by next; ``present`` are those of the name it has.

    It is what :func:`.next_names` tells of a single job.
    """
    jobs, every = round_.jobs, np.ones(len(table.job), dtype=np.bool_)
    stepwise = rules.change in ("neighbours", "configurations")
    same = [rules.change == "same" or (rules.counts_time and not is_predictable(job)) for job in jobs]
    if not stepwise and not any(same):
        return every
    if any(job.plan is None for job, alike in zip(jobs, same, strict=True) if stepwise or alike):
        raise InputError("plan", "nothing", "the plan it has or asks for")
    near = every
    if stepwise:
        positions = table.stacked.column("positions", np.zeros((0, 4), dtype=np.int64))
        now, here = np.flatnonzero(present), np.zeros((len(jobs), 4), dtype=np.int64)
        if len(np.unique(table.job[now])) < len(jobs):
            raise InputError("plan", "another one", "one of the job's plans")
        here[table.job[now]] = positions[now]
        apart = np.abs(positions - here[table.job])
        near = apart[:, :3].sum(axis=1) <= 1 if rules.change == "neighbours" else every
        near = near if rules.switch else near & (apart[:, 3] == 0)
    return np.where(np.array(same, dtype=np.bool_)[table.job], present, near)


def _as_held(round_: Round, table: PlanTable) -> Bools:
    """Return the plans of as many parts, each of as many GPUs, as the running job has now."""
    nodes, gpus = np.zeros(len(round_.jobs), dtype=np.int64), np.zeros(len(round_.jobs), dtype=np.int64)
    for j, job in enumerate(round_.jobs):
        if job.state == "running" and job.placement:
            held = set(job.placement.values())
            if len(held) == 1:
                nodes[j], gpus[j] = len(job.placement), held.pop()
    found: Bools = (table.nodes == nodes[table.job]) & (table.gpus == gpus[table.job])
    return found
