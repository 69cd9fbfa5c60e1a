"""Which jobs to take from their nodes so that a gang finds room, as few GPUs of them as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.capacity.shaped_fit import only_where, shaped_fit
from muri_opt.systems.philly.asked_once import AskedOnce
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement, most_of
from muri_opt.systems.philly.eviction_cover import Amount, Cost, Cover, Item, cheapest_cover
from muri_opt.systems.philly.job_status import Bools, Held
from muri_opt.systems.philly.leaving_sets import MOST_ITEMS, LeavingSets
from muri_opt.systems.philly.locality import ANYWHERE, TOGETHER

MOST_REGIONS = 4
"""Racks that are tried for a gang on several nodes, those that lack the fewest GPUs first."""
MOST_TIES = 16
"""Nodes that are looked at for cheaper victims once those of the fewest GPUs are found."""

_AT_ONCE = 16
"""Nodes of which all sets of jobs are looked at together."""

Victims = tuple[tuple[int, ...], Held]


class Removals(AskedOnce[Victims]):
    """What is free without some of the jobs. Made once, it answers for many gangs, till the state changes.

    Only jobs that ``may`` leave; with ``keeps_quota`` no tenant falls below its quota, if the job ``joins`` those
    there, and jobs that are ``unpaid`` count for nothing, as those that have not yet started. It takes jobs from
    their nodes while it looks, and puts them back. What each restart costs is as it stands before the round, unless
    ``restart`` says it.
    """

    def __init__(
        self,
        state: ClusterState,
        may: Bools,
        *,
        keeps_quota: bool,
        joins: int | None = None,
        unpaid: Bools | None = None,
        restart: Ints | None = None,
    ) -> None:
        super().__init__(state)
        amounts = state.amounts
        self._restart = state.status.values.restart if restart is None else restart
        self._spare: dict[int, int] = {}
        self._payer = amounts.tenant
        if keeps_quota and not state.tree.plain:
            there = list(state.at) if joins is None else [*state.at, joins]
            self._payer, self._spare = state.tree.payers(state.tree.used(there))
        elif keeps_quota:
            self._spare = {tenant: max(0, state.over_quota(tenant)) for tenant in range(-1, len(amounts.U))}
        payers, payer = np.unique(self._payer, return_inverse=True)
        spare = np.array([self._spare.get(one, UNLIMITED) for one in payers.tolist()], dtype=np.int64)
        self._may = may & (amounts.g <= (spare[payer] if keeps_quota else UNLIMITED))
        paid = amounts.g * _by_priority(state)
        self._dear: Ints = paid if unpaid is None else np.where(unpaid, 0, paid)
        jobs, nodes, gpus = state.pairs()
        leaves = self._may[jobs]
        jobs, nodes, gpus = jobs[leaves], nodes[leaves], gpus[leaves]

        def on_nodes(what: Ints) -> Ints:
            total: Ints = np.zeros_like(state.gpus)
            np.add.at(total, nodes, what)
            return total

        self._freed: Ints = np.array([on_nodes(gpus * each) for each in (1, amounts.c[jobs], amounts.m[jobs])])
        self._unpaid = on_nodes(np.where(self._dear[jobs] == 0, gpus, 0))
        limit = state.status.rules.dedicated
        self._alone = on_nodes((amounts.g[jobs] >= (UNLIMITED if limit is None else limit)).astype(np.int64))
        self._least: Ints = np.full_like(state.gpus, UNLIMITED)
        np.minimum.at(self._least, nodes, self._dear[jobs])
        self._least_restart: Ints = np.full_like(state.gpus, UNLIMITED)
        each = self._restart[jobs] // np.maximum(1, self._dear[jobs])
        np.minimum.at(self._least_restart, nodes, np.where(self._dear[jobs] > 0, each, UNLIMITED))
        self._base = 1 + max(len(amounts.g), int(amounts.g.sum()))
        self._items: dict[int, list[Item]] = {}
        self.sets = LeavingSets(state, self.items)
        most = MOST_ITEMS * int(self._restart.max(initial=0)) + 1
        self._by_sets = not keeps_quota and limit is None and most * self._base**2 < UNLIMITED << 10

    def items(self, node: int) -> list[Item]:
        """Return the jobs of a node that may leave it."""
        if node not in self._items:
            found = sorted(job for job in self._state.residents[node] if self._may[job])
            self._items[node] = [self._item(job, self._state.at[job][node]) for job in found]
        return self._items[node]

    def _item(self, job: int, held: int) -> Item:
        amounts, dear, gpus = self._state.amounts, int(self._dear[job]), int(self._state.amounts.g[job])
        cost, unpaid = (int(self._restart[job]), 0) if dear else (0, gpus)
        cheap = (cost * self._base + unpaid) * self._base + 1  # as in ``_cost``
        frees = (held, held * int(amounts.c[job]), held * int(amounts.m[job]))
        payer = int(self._payer[job])
        return Item(job=job, frees=frees, dear=dear, cheap=cheap, tenant=payer, gpus=gpus)

    def _cost(self, jobs: tuple[int, ...]) -> Cost:
        """Return the GPUs that count; and for equals: restarts that cost little, few GPUs that do not count, few jobs.

        Each of them outweighs all that come after it.
        """
        amounts, taken = self._state.amounts, list(jobs)
        dear = int(self._dear[taken].sum())
        unpaid = int(amounts.g[taken][self._dear[taken] == 0].sum())
        cost = int(np.where(self._dear[taken] > 0, self._restart[taken], 0).sum())
        return dear, (cost * self._base + unpaid) * self._base + len(taken)

    def room(self, job: int) -> Ints:
        """Return how many GPUs of the job would fit on each node if all left that may."""
        state, free = self._state, self._state.left + self._freed
        room = most_of(state.amounts, job, free)
        if state.status.rules.dedicated is not None:
            empty = free[0] == state.amounts.G
            room = np.where(empty if state.is_alone(job) else state.alone == self._alone, room, 0)
        sets = state.status.sets
        return room if sets is None else only_where(room, sets.of(job))

    def _smallest(self, job: int, level: int) -> Victims | None:
        """Return jobs that leave, and where the gang is placed without them; ``None`` if there are none.

        No proper subset of them would do. For a gang on one node they have the fewest GPUs there can be; on several
        nodes they are looked for in a few racks.
        """
        state, gpus = self._state, int(self._state.amounts.g[job])
        held = find_placement(state, job, level)
        if held is not None:
            return (), held
        room = self.room(job)
        if level < TOGETHER or room.sum() < gpus:
            return None
        one_node = state.status.locality.fewest[job] == 1
        best = self._on_one_node(job, room) if one_node else None
        if level > TOGETHER or not one_node:
            for victims in self._on_several(job, level, room, None if best is None else best[0][0]):
                cost = self._cost(victims)
                if best is None or cost < best[0]:
                    best = cost, victims
        return None if best is None else self.pruned(job, level, best[1])

    def pruned(self, job: int, level: int, victims: tuple[int, ...]) -> Victims | None:
        """Return as many of the victims as are needed, and where the job is without them; the dearest stay first."""
        state = self._state
        where = {victim: state.take(victim) for victim in victims}
        held = find_placement(state, job, level)
        for victim in sorted(victims, key=lambda victim: self._cost((victim,)), reverse=True) if held else ():
            state.put(victim, where[victim])
            again = find_placement(state, job, level)
            if again is None:
                state.take(victim)
            else:
                held = again
                del where[victim]
        for victim, place in where.items():
            state.put(victim, place)
        return None if held is None else (tuple(sorted(where)), held)

    def _on_one_node(self, job: int, room: Ints) -> Cover | None:
        """Return the cheapest jobs to take from one node; nodes that are alike are looked at once."""
        state, amounts = self._state, self._state.amounts
        gpus, alone = int(amounts.g[job]), state.is_alone(job)
        nodes = np.flatnonzero(room >= gpus)
        lacking = (amounts.G[nodes] if alone else gpus) - state.gpus[nodes] - self._unpaid[nodes]
        least = np.where(lacking > 0, np.maximum(lacking, self._least[nodes]), 0)
        best: Cover | None = None
        seen, ties = set(), 0
        order = np.argsort(least, kind="stable")
        covers = self._covers(job, nodes[order].tolist()) if self._by_sets else None
        for place in order.tolist():
            node, tie = int(nodes[place]), best is not None and bool(least[place] == best[0][0])
            if best is not None and (least[place] > best[0][0] or (tie and ties == MOST_TIES)):
                break
            ties += tie
            if best is not None and tie and not alone and self._is_no_cheaper(node, best[0]):
                continue
            if covers is not None:
                found = covers(node)
                best = found if found is not None and (best is None or found[0] < best[0]) else best
                continue
            items = self.items(node)
            free = (int(state.gpus[node]), int(state.cpus[node]), int(state.memory[node]))
            alike = (free, tuple(sorted(item.kind for item in items)))
            if alike not in seen:
                seen.add(alike)
                found = self._cover(job, items, free, None if best is None else best[0])
                best = found if found is not None else best
        return best

    def _covers(self, job: int, nodes: list[int]) -> Callable[[int], Cover | None]:
        """Return who gives the cheapest jobs to take from a node, if it is asked for these nodes in their order."""
        state, gpus = self._state, int(self._state.amounts.g[job])
        needs = (gpus, gpus * int(state.amounts.c[job]), gpus * int(state.amounts.m[job]))
        known: dict[int, Cover | None] = {}
        batches = iter([nodes[start : start + _AT_ONCE] for start in range(0, len(nodes), _AT_ONCE)])

        def cover(node: int) -> Cover | None:
            while node not in known:
                some = next(batches)
                known.update(zip(some, self.sets.cheapest(some, needs), strict=True))
                for crowded in (one for one in some if len(state.residents[one]) > MOST_ITEMS):
                    free = (int(state.gpus[crowded]), int(state.cpus[crowded]), int(state.memory[crowded]))
                    known[crowded] = self._cover(job, self.items(crowded), free, None)
            return known[node]

        return cover

    def _is_no_cheaper(self, node: int, cost: Cost) -> bool:
        """Return whether no jobs of a node that count for as many GPUs can cost less: their restarts are as dear."""
        dear, cheap = cost
        least = dear * int(self._least_restart[node]) if dear else 0
        return least * self._base * self._base + 1 >= cheap

    def _cover(self, job: int, items: list[Item], free: Amount, most: Cost | None) -> Cover | None:
        """Return the cheapest jobs to take from a node, with those that cannot share it with the gang."""
        state, amounts = self._state, self._state.amounts
        gpus, alone = int(amounts.g[job]), state.is_alone(job)
        must = [item for item in items if alone or state.is_alone(item.job)]
        spare = dict(self._spare)
        need = (gpus - free[0], gpus * int(amounts.c[job]) - free[1], gpus * int(amounts.m[job]) - free[2])
        for item in must:
            need = (need[0] - item.frees[0], need[1] - item.frees[1], need[2] - item.frees[2])
            if item.tenant in spare:
                spare[item.tenant] -= item.gpus
        if min(spare.values(), default=0) < 0:
            return None
        cost = (sum(item.dear for item in must), sum(item.cheap for item in must))
        limit = None if most is None else (most[0] - cost[0], most[1] - cost[1])
        found = cheapest_cover([item for item in items if item not in must], need, spare, limit)
        if found is None:
            return None
        taken = (*(item.job for item in must), *found[1])
        return (cost[0] + found[0][0], cost[1] + found[0][1]), taken

    def _on_several(self, job: int, level: int, room: Ints, most: int | None) -> Iterator[tuple[int, ...]]:
        """Yield jobs whose leaving lets the gang be on several nodes, for each of a few regions of the cluster."""
        gpus, now = int(self._state.amounts.g[job]), self._state.start_room(job)
        able = []
        for chosen, limit in self._regions(job, level, room, now):
            if limit < len(chosen) or self._state.is_alone(job):
                order = np.lexsort((-self._state.gpus[chosen], -now[chosen], -room[chosen]))
                chosen = chosen[order][:limit]
            if self._state.is_alone(job):
                chosen = chosen[: 1 + int(np.searchsorted(np.cumsum(room[chosen]), gpus))]
            if room[chosen].sum() >= gpus:
                able.append((gpus - int(now[chosen].sum()), chosen))
        for lacking, chosen in sorted(able, key=lambda region: region[0])[:MOST_REGIONS]:
            if most is None or lacking - int(self._unpaid[chosen].sum()) < most:
                victims = self._from(job, chosen)
                if victims is not None:
                    yield victims

    def _regions(self, job: int, level: int, room: Ints, now: Ints) -> list[tuple[Ints, int]]:
        """Return where the gang may be on several nodes, each with the most nodes it may use there.

        Of racks in which it may start on any node, only those are returned that are looked at in the end. A gang has
        ``room`` if all leave that may, and ``now``.
        """
        locality, sets = self._state.status.locality, self._state.status.sets
        fewest, near = int(locality.fewest[job]), bool(locality.in_rack[job])
        if sets is None:
            anywhere: tuple[Ints, ...] = (np.arange(len(locality.rack)),)
        else:
            anywhere = sets.of(job).sets
        if not near:
            return [(nodes, len(nodes) if level == ANYWHERE else fewest) for nodes in anywhere]
        limit = fewest if level == TOGETHER else len(room)
        near_sets = [] if sets is None else [*locality.near[int(sets.kind[job])].sets]
        racks = self._racks(job, limit, room, now) if sets is None else near_sets
        return [*((nodes, limit) for nodes in racks), *((nodes, len(nodes)) for nodes in anywhere if level == ANYWHERE)]

    def _racks(self, job: int, limit: int, room: Ints, now: Ints) -> list[Ints]:
        """Return the nodes of the racks that lack the fewest GPUs for the gang, if it uses at most so many nodes."""
        state, rack = self._state, self._state.status.locality.rack
        size = np.bincount(rack)
        first = np.cumsum(size) - size
        if limit < size.max() or state.is_alone(job):
            order = np.lexsort((-state.gpus, -now, -room, rack))
        else:
            order = np.argsort(rack, kind="stable")
        used = np.arange(len(order)) - np.repeat(first, size) < limit
        if state.is_alone(job):  # it takes whole nodes, and no more than it needs
            reach = np.cumsum(room[order])
            before = reach - room[order] - np.repeat((reach - room[order])[first], size)
            used &= before < state.amounts.g[job]
        most, free = (np.add.reduceat(np.where(used, part[order], 0), first) for part in (room, now))
        able = np.flatnonzero(most >= state.amounts.g[job])
        best = able[np.argsort(-free[able], kind="stable")][:MOST_REGIONS]
        return [np.sort(order[first[one] : first[one] + size[one]]) for one in best.tolist()]

    def _lacking(self, job: int, nodes: Ints) -> int:
        """Return how many GPUs the gang lacks on the nodes, at least one if it cannot have them as it asks."""
        state, gpus = self._state, int(self._state.amounts.g[job])
        room, sets = state.room(job)[nodes], state.status.sets
        lacking = gpus - int(room.sum())
        if sets is None or lacking > 0 or not sets.of(job).shaped:
            return lacking
        demand = sets.of(job)
        return int(shaped_fit(room, gpus, demand.least, demand.most, even=demand.even) is None)

    def _from(self, job: int, nodes: Ints) -> tuple[int, ...] | None:
        """Return jobs to take from the nodes until the gang has room there: the one that is enough, or the largest."""
        state = self._state
        left: dict[int, Item] = {}
        frees: dict[int, int] = {}
        for item in (item for node in nodes.tolist() for item in self.items(node)):
            left[item.job] = item
            frees[item.job] = frees.get(item.job, 0) + item.frees[0]
        spare, where = dict(self._spare), {}
        while (lacking := self._lacking(job, nodes)) > 0:
            able = [item for item in left.values() if spare.get(item.tenant, item.gpus) >= item.gpus]
            if not able:
                break
            item = min(
                able,
                key=lambda item: (
                    frees[item.job] < lacking,
                    0 if frees[item.job] >= lacking else -frees[item.job],
                    item.dear,
                    item.cheap,
                    item.job,
                ),
            )
            del left[item.job]
            where[item.job] = state.take(item.job)
            if item.tenant in spare:
                spare[item.tenant] -= item.gpus
        for victim, place in where.items():
            state.put(victim, place)
        return tuple(where) if lacking <= 0 else None


def _by_priority(state: ClusterState) -> int | Ints:
    """Return how much a preempted GPU of each job counts: one of a larger priority more than all of smaller ones.

    Where there are too many priorities for that, it is their place that counts.
    """
    classes, rank = state.status.classes, state.status.rank
    if classes == 1:
        return 1
    base = 1 + int(state.amounts.g.sum())
    weights = [base**place for place in range(classes)] if base**classes < UNLIMITED else range(1, classes + 1)
    return np.array(weights, dtype=np.int64)[rank]
