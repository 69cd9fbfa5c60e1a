"""Bounds by counting GPUs: the best value of any choices that fit by their number, by dynamic programming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled

Ints = NDArray[Any]
"""Whole numbers: machine words, or of any size at a cost."""
_LARGEST = 1 << 61
"""Sums stay below this in machine words, with room for what is below all of them."""
_MOST_LARGE = 500_000
"""Sums beyond which no dynamic program is run with numbers too large for machine words, or that are all kept."""
_AT_ONCE = 10_000
"""Sums that are made and compared together; more take no longer one entry after another."""
_SOME = 8
"""Sizes of a table whose sums are made one after another."""
_MANY = 32
"""Sizes of a table whose sums are made together without looking up each of them."""
_NEVER = -(1 << 62)


class Pool(NamedTuple):
    """Jobs that have at most so many GPUs together: for each its values by GPUs, of which it has one or none.

    ``worth`` says what a number of GPUs in use is worth beside the jobs: at least 0, and no less for more GPUs.
    """

    tables: Sequence[Mapping[int, int]]
    most: int
    worth: Callable[[int], int] | None = None


def quota_pools(round_: Round, tables: Iterable[tuple[Job, Mapping[int, int]]]) -> list[Pool]:
    """Return one pool for each tenant with a quota, and one for all other jobs; ``tables`` are values by GPUs."""
    total, quotas = round_.cluster.total_gpus, _quotas(round_)
    members: dict[tuple[str, int], list[Mapping[int, int]]] = {}
    for job, table in tables:
        quota = quotas.get(job.tenant or "")
        owner = ("", total) if quota is None else (job.tenant or "", min(total, quota))
        members.setdefault(owner, []).append(table)
    return [Pool(mine, most) for (_, most), mine in members.items()]


@recalled
def _quotas(round_: Round) -> dict[str, int | None]:
    return {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}


def counted_best(total: int, pools: Sequence[Pool], *, steps: int) -> int | None:
    """Return the best value of the jobs of all pools within so many GPUs, or ``None`` where that takes too long.

    For each pool the best for each number of its GPUs, then all together. ``steps`` are the sums that may be made.
    """
    if len(pools) == 1 and len(pools[0].tables) == 1 and pools[0].worth is None:
        most = min(total, pools[0].most)
        return max([0, *(value for gpus, value in pools[0].tables[0].items() if gpus <= most)])
    work = sum(pool.most * (sum(map(len, pool.tables)) + _is_apart(pool, total) * total) for pool in pools)
    if work > steps:
        return None
    reach = sum(_reach(pool.tables) for pool in pools)
    reach += sum(pool.worth(pool.most) for pool in pools if pool.worth is not None)
    word = _word(reach)
    if work > (steps if reach < _LARGEST else min(steps, _MOST_LARGE)):
        return None
    best: Ints = np.zeros(total + 1, dtype=word)
    apart = list[dict[int, int]]()
    for pool in pools:
        if _is_apart(pool, total):
            apart.append(_inside(pool, reach))
        else:
            best = _with_all(best, pool.tables)
    *others, last = apart or [{0: 0}]
    for table in others:
        best = with_one_more(best, table)
    return max([int(best[total]), *(int(best[total - gpus]) + value for gpus, value in last.items() if gpus <= total)])


def _inside(pool: Pool, reach: int) -> dict[int, int]:
    """Return the best values of the jobs of a pool by their GPUs, of which no sum is beyond ``reach``."""
    word = _word(reach)
    inside: Ints = np.zeros(pool.most + 1, dtype=word)
    if pool.worth is not None:
        inside[1:] = -2 * reach - 1  # exactly so many GPUs are in use: at first none
    inside = _with_all(inside, pool.tables)
    if pool.worth is not None:
        inside += np.array([pool.worth(gpus) for gpus in range(len(inside))], dtype=word)
    return _growing(inside.tolist(), least=-reach)


def best_from_each(total: int, tables: Sequence[Mapping[int, int]]) -> list[list[int]]:
    """Return the best value of the jobs from each one on, and of none at last, by GPUs up to a total.

    ``tables`` has for each job its values by GPUs, of which it has one or none. More GPUs than all jobs can have are
    worth no more, and are left out; where there are too many to count, all values are as for any number of GPUs.
    """
    most = min(total, sum(max(table, default=0) for table in tables))
    if most * len(tables) > _MOST_LARGE:
        top = [max([0, *table.values()]) for table in tables]
        return [[sum(top[job:])] for job in range(len(top) + 1)]
    best: list[Ints] = [np.zeros(most + 1, dtype=_word(_reach(tables)))]
    for table in reversed(tables):
        best.append(with_one_more(best[-1], table))
    return [each.tolist() for each in reversed(best)]


def _reach(tables: Iterable[Mapping[int, int]]) -> int:
    """Return no less than any sum of one value from each table, whatever its sign."""
    return sum(max(map(abs, table.values()), default=0) for table in tables)


def _word(reach: int) -> type:
    """Return the type of numbers whose sums, and what is below all of them, reach so far."""
    return np.int64 if reach < _LARGEST else object


def _is_apart(pool: Pool, total: int) -> bool:
    """Return whether a pool has a table of its own; the jobs of any other are added to that of all pools."""
    return pool.most < total or pool.worth is not None


def _growing(values: Sequence[int], *, least: int) -> dict[int, int]:
    """Return the values by GPUs that are possible, and better than with fewer GPUs."""
    table: dict[int, int] = {}
    for gpus, value in enumerate(values):
        if value >= least:
            table[gpus] = value
            least = value + 1
    return table


def _with_all(best: Ints, tables: Sequence[Mapping[int, int]]) -> Ints:
    """Return the best value within each number of GPUs if jobs may have one of their values each, or none."""
    best, sums = best.copy(), np.empty_like(best)
    for table in tables:
        if len(table) > _SOME:
            best = with_one_more(best, table)
            continue
        before = best if len(table) == 1 else best.copy()  # sums of one size are made before any is replaced
        for gpus, value in table.items():
            if gpus < len(best):
                more = best[gpus:]
                np.maximum(more, np.add(before[: len(more)], value, out=sums[gpus:]), out=more)
    return best


def with_one_more(best: Ints, table: Mapping[int, int]) -> Ints:
    """Return the best value within each number of GPUs if one more job may have one of its values, or none.

    ``table`` has its values by GPUs. In machine words, values and their sums are below two to the power of 62.
    """
    most = len(best) - 1
    sizes = tuple(gpus for gpus in table if gpus <= most)
    if best.dtype == np.int64 and len(sizes) >= _MANY and 2 * len(sizes) > max(sizes) - min(sizes):
        return _with_many(best, table, sizes)
    result = best.copy()
    if best.dtype == np.int64 and len(sizes) > _SOME and len(sizes) * most <= _AT_ONCE:
        gains = np.array([table[gpus] for gpus in sizes], dtype=np.int64)
        before = np.append(np.full(most, _NEVER), best)
        sums = before[_with_less(most, sizes)] + gains[:, None]
        np.maximum(best, sums.max(axis=0), out=result)
    else:
        for gpus in sizes:
            np.maximum(result[gpus:], best[: most + 1 - gpus] + table[gpus], out=result[gpus:])
    return result


def _with_many(best: Ints, table: Mapping[int, int], sizes: Sequence[int]) -> Ints:
    """Do the same for a table of most sizes from its least to its largest: for many of them the sums at once."""
    least, largest, result = min(sizes), max(sizes), best.copy()
    gains = np.full(largest - least + 1, _NEVER)
    gains[largest - np.array(sizes, dtype=np.int64)] = [table[gpus] for gpus in sizes]
    before = np.lib.stride_tricks.sliding_window_view(np.append(np.full(largest, _NEVER), best), len(best))
    for start in range(0, len(gains), _MANY):  # row r is of ``largest`` - r GPUs less
        some = slice(start, min(start + _MANY, len(gains)))
        np.maximum(result, (before[some] + gains[some, None]).max(axis=0), out=result)
    return result


@lru_cache(maxsize=64)
def _with_less(most: int, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return, for each size, where the best with so many GPUs less stands behind ``most`` places of no worth."""
    return most + np.arange(most + 1) - np.array(sizes, dtype=np.int64)[:, None]
