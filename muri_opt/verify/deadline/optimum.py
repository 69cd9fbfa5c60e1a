"""What no decision about deadlines exceeds: by counting GPUs and quotas, and by going through all decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.counted_core import core_best
from muri_opt.verify.amounts import CountedRooms, Room, beyond_floats, empty_rooms, need_of
from muri_opt.verify.counted_parts import empty_parts
from muri_opt.verify.counting import counted_best, quota_pools
from muri_opt.verify.deadline.priced_rows import all_rows, holds_home, price_of
from muri_opt.verify.deadline.shares import Home, shares_of
from muri_opt.verify.deadline.value import Values
from muri_opt.verify.demands import asked_of
from muri_opt.verify.option_search import Option, best_options
from muri_opt.verify.tenant_lines import with_parents

MOST_STEPS = 200_000_000
"""Sums beyond which the dynamic program is not run."""
_MOST_BITS = 1_000
"""Jobs of several priorities are counted together where values have no more bits; in any case each priority alone."""
SOME_STEPS, MANY_STEPS = 500_000, 20_000_000
"""Sums beyond which only the jobs that a price leaves open are counted, and beyond which those are not either."""
Part = tuple[int, ...] | None
"""Nodes by their positions, ``None`` for all."""


class Way(NamedTuple):
    """One way to run for a job: so many GPUs, where it is (``home``) or anywhere inside one of the parts of nodes."""

    gpus: int
    home: Home | None
    parts: tuple[Part, ...]


def ways_of(round_: Round, job: Job) -> Iterator[Way]:
    """Yield every way to run of a job that has room in the empty cluster."""
    shares, inside = shares_of(round_), _inside(round_, job)
    home = shares.home(job)
    if home is not None and holds_home(round_, _empty(round_)[0], job):
        yield Way(sum(home.values()), home, ())
    for gpus in shares.sizes(job):
        if job.stays and (home is None or gpus != sum(home.values())):
            continue
        parts = tuple(nodes for nodes, most in inside if gpus <= most)
        if parts:
            yield Way(gpus, None, parts)


def _inside(round_: Round, job: Job) -> list[tuple[Part, int]]:
    """Return the parts of the empty cluster that a job may choose from, with how many of its GPUs fit into each."""
    asked, need = asked_of(round_), need_of(job)
    if asked is None:
        return [(None, _most(_empty(round_)[1].holding(need)))]
    mine = asked[job.id]
    return [*zip(mine.parts, map(_most, empty_parts(round_).holding(mine, need)), strict=True)]


def _most(holding: Mapping[int, int]) -> int:
    """Return how many GPUs fit on all nodes, which are counted by how many each holds."""
    return sum(most * nodes for most, nodes in holding.items())


@recalled
def _empty(round_: Round) -> tuple[list[Room], CountedRooms]:
    """Return what the nodes have, one by one and counted."""
    rooms = empty_rooms(round_)
    return rooms, CountedRooms(rooms)


def counted_bound(round_: Round, values: Values) -> int:
    """Return what no decision within GPUs and quotas exceeds; by a price where the best value takes too long."""
    total, large = round_.cluster.total_gpus, with_room_for_staying(round_)
    least = min([total, *(tenant.quota_gpus for tenant in large.cluster.tenants if tenant.quota_gpus is not None)])
    if asked_of(round_) is None and least * sum(map(len, shares_of(round_).of_all()[1])) > SOME_STEPS:
        rows = all_rows(round_, values)
        if rows is not None and least * len(rows.job) > MOST_STEPS:  # each with every number of GPUs of its pool
            return rows.priced(total)
        ways = None if rows is None else rows.tables()
        if ways is not None and any(one.quota_gpus is not None for one in large.cluster.tenants):
            pools = quota_pools(large, zip(round_.jobs, ways, strict=True))
            best = counted_best(total, pools, steps=MOST_STEPS)
            return priced_bound(total, list(ways)) if best is None else best
        best = None if ways is None else core_best(total, ways, steps=MANY_STEPS)
        if best is not None:
            return best
    classes: dict[int, list[tuple[Job, dict[int, int]]]] = {}
    for job in round_.jobs:
        unit, table = _table(round_, job, values)
        classes.setdefault(unit, []).append((job, table))
    apart = sum([unit * _bound_of(total, large, tables) for unit, tables in classes.items()])
    if len(classes) < 2 or max(classes).bit_length() > _MOST_BITS:
        return apart
    together = [
        (job, {gpus: unit * value for gpus, value in table.items()})
        for unit, tables in classes.items()
        for job, table in tables
    ]
    return min(apart, _bound_of(total, large, together))


def _table(round_: Round, job: Job, values: Values) -> tuple[int, dict[int, int]]:
    """Return in which unit the values of a job are, and the best of its ways to run with each number of GPUs."""
    one, unit, in_time = values.ahead(job.id)
    table: dict[int, int] = {}
    for way in ways_of(round_, job):
        stays = way.home is not None
        value = one.speed(way.gpus, stays) + (in_time // unit if one.keeps(way.gpus, stays) else 0)
        table[way.gpus] = max(table.get(way.gpus, 0), value)
    return unit, table


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
