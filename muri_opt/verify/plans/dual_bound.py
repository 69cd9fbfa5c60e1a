"""A bound on the value of any decision among plans, from prices of jobs and quotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import add
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import NO_LIMIT, empty_rooms, empty_sizes
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.node_filling import profit_of_nodes
from muri_opt.verify.node_items import Item
from muri_opt.verify.plans.menu_columns import MenuColumns
from muri_opt.verify.plans.places import Spot
from muri_opt.verify.plans.plan_choices import PlanChoices, is_for
from muri_opt.verify.plans.plan_parts import Piece

Ints = NDArray[np.int64]
_Items = tuple[dict[Spot, list[Item]], dict[int, list[Item]]]
"""Parts that may be on any of some nodes, and parts that may be on one node alone."""
_WORD: Final = 2.0**62
_BITS: Final = 500
"""Of numbers that are looked at in floating point."""
_MASK: Final = (1 << 64) - 1
_ROUNDING: Final = 1e-14
"""More than roundings move a sum of two numbers, relative to the larger one."""


@recalled
def planned_bound(round_: Round, menu: PlanChoices, duals: LinearDuals) -> int:
    """Return the largest whole value that prices of jobs and of quotas allow any decision.

    A job that runs pays its price, and its GPUs' share of quotas that it uses; the rest of its value is profit, shared
    evenly by its parts. The profit on a node is at most that of the best parts that fit it, a larger part of a plan of
    two sizes with the room of a smaller one.
    """
    cluster = round_.cluster
    quotas = [tenant.quota_gpus for tenant in cluster.tenants]
    prices = PriceTable.read(duals, {"once": (1,) * len(round_.jobs), "quota": quotas})
    quota = prices.of_tenants(round_)
    among, home = _column_items(round_, menu, prices, quota) or _items(round_, menu, prices, quota)
    common: dict[str | None, list[list[Item]]] = {}
    nodes, items = [], list(among.values())
    for node, room in enumerate(empty_rooms(round_)):
        here = [place for place, spot in enumerate(among) if node in spot]
        look = f"{cluster.nodes[node].gpu_type} {here}"
        if look not in common:
            common[look] = [items[place] for place in here]
        nodes.append((look, room.sizes))
    most = profit_of_nodes(nodes, common, home, parts=2 * len(round_.jobs))  # more parts than a node is ever given
    return prices.bound([most])


def _items(round_: Round, menu: PlanChoices, prices: PriceTable, quota: Mapping[str, int]) -> _Items:
    """Return the parts that have a profit, job by job."""
    cluster = round_.cluster
    among: dict[Spot, list[Item]] = {}
    reaches: dict[tuple[Spot, ...], Spot] = {}
    home: dict[int, list[Item]] = {}
    for j, (job, once) in enumerate(zip(round_.jobs, prices.of["once"], strict=True)):
        pays = once + (quota.get(job.tenant or "", 0) * job.gpus if job.guarantee is not None else 0)
        unit = menu.weights[j] * prices.denominator
        pays -= menu.bonus[j] * unit
        for way in menu.ways[j]:
            parts = way.plan.nodes
            away = -((pays - way.away * unit) // parts)  # rounded up
            if way.spots not in reaches:
                reaches[way.spots] = way.spots[0] if len(way.spots) == 1 else frozenset().union(*way.spots)
            reach = reaches[way.spots]
            if away > 0 and reach:
                among.setdefault(reach, []).append(Item(j, way.piece, away))
            at_home = 0 if way.home is None else -((pays - way.home * unit) // parts)
            for node in (cluster.node_index[node] for node in menu.homes[j]) if at_home > 0 else ():
                if at_home > (away if node in reach else 0) and is_for(way.entry, {cluster.nodes[node].gpu_type}):
                    home.setdefault(node, []).append(Item(j, way.piece, at_home))
    return among, home


def _column_items(round_: Round, menu: PlanChoices, prices: PriceTable, quota: Mapping[str, int]) -> _Items | None:
    """Return the parts that have a profit and that a best filling may need, all jobs at once.

    Of equal parts on the same nodes those of the highest profit are enough, one more than fit on a node beside each
    other: others are never better. Profits are differences of large numbers, exact in machine words where they are
    small themselves; ``None`` where they may not be.
    """
    columns = menu.columns
    if columns is None:
        return None
    units = [weight * prices.denominator for weight in menu.weights]
    pays = prices.of["once"]
    if any(quota.values()):
        shares = (quota.get(job.tenant or "", 0) * job.gpus * (job.guarantee is not None) for job in round_.jobs)
        pays = list(map(add, pays, shares))
    gains = [bonus * unit - pay for bonus, unit, pay in zip(menu.bonus, units, pays, strict=True)]
    if max(map(int.bit_length, (*gains, *units)), default=0) > _BITS:
        return None
    some = np.flatnonzero(columns.open)
    owner, parts = columns.owner[some], columns.parts[some]
    about, scale = np.array(gains, dtype=np.float64)[owner], np.array(units, dtype=np.float64)[owner]
    gain, unit = _word(gains)[owner], _word(units)[owner]
    rounding = np.abs(about) * _ROUNDING
    found = []
    for worth in (columns.away[some], columns.home[some]):
        if (np.abs(about + worth * scale) + rounding > _WORD).any():
            return None
        found.append(-(-(gain + worth * unit) // parts))
    away, at_home = found
    among = _most_profitable(round_, columns, some, away)
    home: dict[int, list[Item]] = {}
    index, better = round_.cluster.node_index, np.flatnonzero(columns.stays[some] & (at_home > np.maximum(away, 0)))
    for spot, item in _told(columns, some[better], at_home[better]):
        for name in round_.jobs[item.job].placement or ():
            node = index[name]
            if node in spot:
                home.setdefault(node, []).append(item)
    return among, home


def _most_profitable(round_: Round, columns: MenuColumns, some: Ints, profit: Ints) -> dict[Spot, list[Item]]:
    """Return the parts that a best filling may need, of plans that stand in some places and have such profits.

    Of each job the one of the highest profit, of equal parts those of the first jobs.
    """
    rooms = empty_sizes(round_)
    smallest = columns.pieces[columns.open].min(axis=0, initial=NO_LIMIT)
    fit = [int(most) // int(least) for most, least in zip(rooms.max(axis=0, initial=0), smallest, strict=True) if least]
    good = np.flatnonzero(profit > 0)
    look, owner = columns.look[some[good]], columns.owner[some[good]]
    order = np.lexsort((-profit[good], look))  # of equal ones the first job first, as plans stand job by job
    _, first = np.unique(look[order] * len(round_.jobs) + owner[order], return_index=True)
    order = order[np.sort(first)]
    group = look[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    good = good[order[rank < min(fit, default=len(order)) + 2]]
    among: dict[Spot, list[Item]] = {}
    for spot, item in _told(columns, some[good], profit[good]):
        among.setdefault(spot, []).append(item)
    return among


def _told(columns: MenuColumns, places: Ints, profit: Ints) -> Iterator[tuple[Spot, Item]]:
    """Yield where the parts of plans may be, and what they are with their profits; plans of one look have the same."""
    looks, at = np.unique(columns.look[places], return_inverse=True)
    first = columns.looks[looks]
    spots = [columns.spots[kind] for kind in columns.kind[first].tolist()]
    pieces = [Piece._make(piece) for piece in columns.pieces[first].tolist()]
    for job, look, most in zip(columns.owner[places].tolist(), at.tolist(), profit.tolist(), strict=True):
        yield spots[look], Item(job, pieces[look], most)


def _word(numbers: Sequence[int]) -> Ints:
    """Return whole numbers of any size as machine words, of which sums and products are right as far as they fit."""
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError:
        return np.array([number & _MASK for number in numbers], dtype=np.uint64).view(np.int64)
