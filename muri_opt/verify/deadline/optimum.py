"""What no decision about deadlines exceeds: by counting GPUs and quotas, and by going through all decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Job, Round
from muri_opt.verify.afs.counted_core import core_best
from muri_opt.verify.amounts import beyond_floats, need_of
from muri_opt.verify.counting import counted_best, quota_pools
from muri_opt.verify.deadline.open_parts import Part, empty_nodes, open_parts
from muri_opt.verify.deadline.priced_rows import Rows, all_rows, holds_home, price_of
from muri_opt.verify.deadline.shares import Home, shares_of
from muri_opt.verify.deadline.value import Values
from muri_opt.verify.option_search import Option, best_options
from muri_opt.verify.tenant_lines import with_parents

MOST_STEPS = 200_000_000
"""Sums beyond which the dynamic program is not run."""
SOME_STEPS, MANY_STEPS = 500_000, 20_000_000
"""Sums beyond which only the jobs that a price leaves open are counted, and beyond which those are not either."""


class Way(NamedTuple):
    """One way to run for a job: so many GPUs, where it is (``home``) or anywhere inside one of the parts of nodes."""

    gpus: int
    home: Home | None
    parts: tuple[Part, ...]


def ways_of(round_: Round, job: Job) -> Iterator[Way]:
    """Yield every way to run of a job that has room in the empty cluster."""
    shares, inside = shares_of(round_), open_parts(round_, job)
    home = shares.home(job)
    if home is not None and holds_home(round_, empty_nodes(round_)[0], job):
        yield Way(sum(home.values()), home, ())
    for gpus in shares.sizes(job):
        if job.stays and (home is None or gpus != sum(home.values())):
            continue
        parts = tuple(nodes for nodes, most in inside if gpus <= most)
        if parts:
            yield Way(gpus, None, parts)


def counted_bound(round_: Round, values: Values) -> int:
    """Return what no decision within GPUs and quotas exceeds; by prices where the best value takes too long."""
    total, large = round_.cluster.total_gpus, with_room_for_staying(round_)
    quotas = [tenant.quota_gpus for tenant in large.cluster.tenants if tenant.quota_gpus is not None]
    least = min([total, *quotas])
    if least * sum(map(len, shares_of(round_).of_all()[1])) <= SOME_STEPS:
        best = counted_best(total, quota_pools(large, _tables(round_, values)), steps=MOST_STEPS)
        if best is not None:
            return best
    rows = all_rows(round_, values)
    if rows is None:
        return _bound_of(total, large, _tables(round_, values))
    ways = rows.tables()
    if ways is None:  # beyond machine words, as with many priorities
        priced, apart = rows.priced(total), _by_priority(round_, large, rows)
        return priced if apart is None else min(priced, apart)
    if least * len(rows.job) > MOST_STEPS:  # each with every number of GPUs of its pool
        return rows.priced(total)
    best = None if quotas else core_best(total, ways, steps=MANY_STEPS)
    return _bound_of(total, large, [*zip(round_.jobs, ways, strict=True)]) if best is None else best


def _tables(round_: Round, values: Values) -> list[tuple[Job, dict[int, int]]]:
    """Return what the best of each job's ways to run is worth, by the number of its GPUs."""
    tables = []
    for job in round_.jobs:
        table: dict[int, int] = {}
        for way in ways_of(round_, job):
            table[way.gpus] = max(table.get(way.gpus, 0), values[job.id][way.gpus, way.home is not None])
        tables.append((job, table))
    return tables


def _by_priority(round_: Round, large: Round, rows: Rows) -> int | None:
    """Return the bounds of all priorities added up, each as if its jobs had the whole cluster.

    Their values are small in a unit of their own, where one price for all would have to tell numbers of thousands of
    digits apart in floats. ``None`` beyond machine words.
    """
    alone = rows.in_units()
    if alone is None:
        return None
    classes: dict[int, list[tuple[Job, dict[int, int]]]] = {}
    for job, unit, table in zip(round_.jobs, rows.unit, alone, strict=True):
        classes.setdefault(unit, []).append((job, table))
    return sum([unit * _bound_of(round_.cluster.total_gpus, large, tables) for unit, tables in classes.items()])


def _bound_of(total: int, large: Round, tables: Sequence[tuple[Job, dict[int, int]]]) -> int:
    """Return what no choice of the values of jobs exceeds within so many GPUs, and within quotas where that is soon."""
    counted = counted_best(total, quota_pools(large, tables), steps=MOST_STEPS)
    return priced_bound(total, [table for _, table in tables]) if counted is None else counted


def priced_bound(total: int, tables: Sequence[Mapping[int, int]]) -> int:
    """Return the worth of all GPUs at some price and of every job above that of its GPUs, of which it has some or none.

    ``tables`` has for each job its values by GPUs. Whatever the price, no choice within so many GPUs is worth more; it
    is looked for in floating-point numbers, in a unit in which these hold all values, and the sum is exact.
    """
    some = [table for table in tables if table]
    gpus = np.array([size for table in some for size in table], dtype=np.float64)
    values = [value for table in some for value in table.values()]
    shift = beyond_floats(max(map(abs, values), default=0))
    worth = np.array([float(value >> shift) for value in values], dtype=np.float64)
    first = np.cumsum([0, *map(len, some)])[:-1]
    price = price_of(total, gpus, worth, first) << shift
    return price * total + sum(max(0, *(value - price * size for size, value in table.items())) for table in some)


def enumerated_optimum(round_: Round, values: Values, *, steps: int) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than so many steps."""
    best = {job: max(mine.values(), default=0) for job, mine in values.items()}
    jobs = sorted(round_.jobs, key=lambda job: -best[job.id])
    options = [list(_options(round_, job, values[job.id])) for job in jobs]
    must = [place for place, job in enumerate(jobs) if job.stays]
    large = with_room_for_staying(round_)
    return best_options(large, jobs, options, [None] * len(jobs), steps=steps, must=must)


def with_room_for_staying(round_: Round) -> Round:
    """Return the round with quotas that are enough for the jobs which nobody may stop."""
    held = with_parents(round_, stay_gpus(round_))
    tenants = tuple(
        tenant
        if tenant.quota_gpus is None or tenant.quota_gpus >= held[tenant.id]
        else replace(tenant, quota_gpus=held[tenant.id])
        for tenant in round_.cluster.tenants
    )
    if tenants == round_.cluster.tenants:
        return round_
    return replace(round_, cluster=replace(round_.cluster, tenants=tenants))


def stay_gpus(round_: Round) -> Counter[str]:
    """Return the GPUs by tenant of jobs that nobody may stop."""
    held = Counter[str]()
    for job in round_.jobs:
        if job.stays:
            held[job.tenant or ""] += sum((job.placement or {}).values())
    return held


def _options(round_: Round, job: Job, worth: Mapping[tuple[int, bool], int]) -> Iterator[Option]:
    need, nodes = need_of(job), len(round_.cluster.nodes)
    unit = (1, need.milli, need.mebibytes)
    for way in ways_of(round_, job):
        value = worth[way.gpus, way.home is not None]
        if way.home is not None:
            home = {round_.cluster.node_index[node]: gpus for node, gpus in way.home.items()}
            yield Option(value, unit, way.gpus, way.gpus, len(home), home=home)
        for part in way.parts:
            yield Option(value, unit, way.gpus, way.gpus, nodes, among=None if part is None else frozenset(part))
