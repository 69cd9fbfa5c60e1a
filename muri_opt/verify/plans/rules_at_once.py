"""Whether a whole decision keeps the rules of plans, and why its jobs wait, in columns of all jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Assignment, Decision, Job, Round, Waiting, WaitingReason
from muri_opt.verify.amounts import said_of
from muri_opt.verify.feasibility import quota_breaches
from muri_opt.verify.plans.decision_rows import DecisionRows, decision_rows
from muri_opt.verify.plans.menu_columns import MenuColumns
from muri_opt.verify.plans.places import Places
from muri_opt.verify.plans.plan_choices import PlanChoices, held_nodes
from muri_opt.verify.plans.room_counts import nodes_with_room
from muri_opt.verify.tenant_lines import spare_quotas

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def keeps_rules(
    round_: Round, menu: PlanChoices, decision: Decision, quota_gpus: Callable[[Job, Assignment], int]
) -> bool:
    """Return whether it is seen at once that a decision breaks no rule.

    ``quota_gpus`` says what an assignment of a job takes of its tenant's quota.
    """
    columns, jobs = menu.columns, round_.job_index
    rows = None if columns is None else decision_rows(round_, columns, decision)
    if columns is None or rows is None:
        return False
    waiting = {wait.job for wait in decision.waiting}
    listed = len(waiting) == len(decision.waiting) and len(waiting) + len(rows.job) == len(jobs)
    if not listed or not waiting <= jobs.keys() or len(np.unique(rows.job)) < len(rows.job):
        return False
    if any(one.jobs[0] in waiting for one in decision.assignments):
        return False
    if (rows.left(columns, Places.of(round_).floor.free) < 0).any():
        return False
    held: Counter[str] = Counter()
    for place, one in zip(rows.job.tolist(), decision.assignments, strict=True):
        held[round_.jobs[place].tenant or ""] += quota_gpus(round_.jobs[place], one)
    return next(quota_breaches(round_, held), None) is None


def reasons_at_once(
    round_: Round, menu: PlanChoices, decision: Decision, held: Counter[str]
) -> Iterator[tuple[Waiting, WaitingReason]] | None:
    """Return every waiting job with the first rule that keeps it from starting; ``None`` where columns do not tell.

    ``held`` are the GPUs that quotas count.
    """
    columns = menu.columns
    rows = None if columns is None else decision_rows(round_, columns, decision)
    if columns is None or rows is None:
        return None
    return _reasons(round_, columns, rows, decision, held)


def _reasons(
    round_: Round, columns: MenuColumns, rows: DecisionRows, decision: Decision, held: Counter[str]
) -> Iterator[tuple[Waiting, WaitingReason]]:
    places = Places.of(round_)
    free = rows.left(columns, places.floor.free)
    places.floor.free[:] = free
    everything, spare = int(free[:, 0].sum()), spare_quotas(round_, held)
    some = np.flatnonzero(columns.open)
    owner, jobs = columns.owner[some], len(round_.jobs)
    fewest = np.full(jobs, everything + 1, dtype=np.int64)
    np.minimum.at(fewest, owner, columns.pieces[some, 0] * columns.parts[some])
    starts = np.zeros(jobs, dtype=np.bool_)
    starts[owner[_with_room(columns, some, free)]] = True
    able, homes = np.zeros(jobs, dtype=np.bool_), np.zeros(jobs, dtype=np.bool_)
    able[owner] = True
    homes[owner[columns.stays[some]]] = True
    told = list(zip(able.tolist(), (fewest > everything).tolist(), starts.tolist(), homes.tolist(), strict=True))
    for wait in decision.waiting:
        position = round_.job_index[wait.job]
        job = round_.jobs[position]
        quota = spare.get(job.tenant or "") if job.guarantee is not None else None
        may_run, too_many, fits, has_home = told[position]
        if may_run and quota is not None and quota < job.gpus:
            true = WaitingReason.QUOTA
        elif too_many:
            true = WaitingReason.CAPACITY
        elif fits or (has_home and _goes_on(round_, columns, places, position)):
            true = WaitingReason.PRIORITY
        else:
            true = WaitingReason.FRAGMENTATION
        yield wait, said_of(job, true)


def _with_room(columns: MenuColumns, some: Ints, free: Ints) -> Bools:
    """Return which of some plans have room for all their parts now."""
    looks = columns.looks
    count = nodes_with_room(free, columns.hosts, columns.kind[looks], columns.pieces[looks])
    room: Bools = count[columns.look[some]] >= columns.parts[some]
    return room


def _goes_on(round_: Round, columns: MenuColumns, places: Places, position: int) -> bool:
    """Return whether a job that ran could go on where it was."""
    mine = range(int(columns.begin[position]), int(columns.begin[position + 1]))
    homes = [place for place in mine if columns.open[place] and columns.stays[place]]
    own = held_nodes(round_, round_.jobs[position]) if homes else {}
    return any(places.keeps(own, columns.entry(place)) for place in homes)
