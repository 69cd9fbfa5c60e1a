"""The cheapest way to make room for a gang: who would have to go from which nodes, and what that costs.

One step of an ejection chain (Glover 1996), all nodes and small sets of jobs at once in matrices.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.philly.job_status import Held
from muri_opt.systems.philly.locality import ANYWHERE, IN_RACK, TOGETHER
from muri_opt.systems.philly.search.placement_state import Placements
from muri_opt.systems.philly.search.prices import Floats

MOST = 8
"""Jobs of a node that may go: those that cost least for each of their GPUs."""
_NEVER = 1e30


def _sets() -> Floats:
    """Return the sets that are looked at, one per column: none, one, two, and as many as may be of the cheapest."""
    singles, pairs = [(job,) for job in range(MOST)], list(combinations(range(MOST), 2))
    chosen = [(), *singles, *pairs, *(tuple(range(count)) for count in range(3, MOST + 1))]
    return np.array([[float(job in some) for some in chosen] for job in range(MOST)])


_SETS = _sets()


class Ejections:
    """All sets of jobs that could go, node by node, for one state of the cluster.

    If ``hopeful``, jobs that this round has started or may move are taken to find another place where one is free.
    """

    def __init__(self, placements: Placements, *, hopeful: bool) -> None:
        self.placements, self.hopeful = placements, hopeful
        state, amounts = placements.state, placements.state.amounts
        losses = self._losses()
        job, node, units, share = _entries(placements, losses)
        # Nodes that are full of jobs that stay are left out; from here on a node is its place in this list.
        self.nodes: Ints = np.union1d(node, np.flatnonzero(state.gpus))
        node, nodes = np.searchsorted(self.nodes, node), len(self.nodes)
        self.jobs: Ints = np.full((nodes, MOST), -1, dtype=np.int64)
        order = np.lexsort((share / units, node))
        job, node, units = job[order], node[order], units[order]
        place = np.arange(len(order)) - np.searchsorted(node, node)
        kept = place < MOST
        job, node, units, place = job[kept], node[kept], units[kept], place[kept]
        self.jobs[node, place] = job
        freed = np.zeros((3, nodes, MOST))
        for axis, each in enumerate((np.ones_like(job), amounts.c[job], amounts.m[job])):
            freed[axis, node, place] = units * each
        self.shared, self.full = np.full((2, nodes, MOST), _NEVER)
        self.full[node, place] = losses[job]
        self.shared[node, place] = losses[job] * units / amounts.g[job]
        self.left = [
            has[self.nodes, None] + freed[axis] @ _SETS
            for axis, has in enumerate((state.gpus, state.cpus, state.memory))
        ]
        self.cost_full, self.cost_shared = self.full @ _SETS, self.shared @ _SETS

    def _losses(self) -> Floats:
        """Return what each job's going would cost: little where it would find another place, much where it may not."""
        placements, status, state = self.placements, self.placements.status, self.placements.state
        rules = status.rules
        g, tenant = placements.g, placements.tenant
        within = np.clip(placements.quota[tenant] - (placements.used[tenant] - g), 0, g)
        loss = placements.gain + float(status.values.premium) * within
        elsewhere = (g <= int(state.gpus.max(initial=0))) & self.hopeful
        spare = placements.used[tenant] - g >= placements.quota[tenant]
        may = status.may.be_preempted & placements.home & spare
        cheaper = status.may.move & elsewhere
        if rules.migrate is not None:
            cheaper &= placements.moved + g <= rules.migrate
        worth = np.maximum(
            0, placements.gain - status.values.penalty * g - status.values.restart - status.values.placed[:, TOGETHER]
        )
        losses = np.where(may, loss, _NEVER)
        losses = np.where(cheaper, worth, losses)
        losses = np.where(status.running, losses, np.where(elsewhere, 0.0, loss))
        present = np.zeros(len(g), dtype=np.bool_)
        present[list(placements.at)] = True
        return np.where(present, losses, _NEVER)

    def best(self, job: int) -> tuple[float, Held, list[int]] | None:
        """Return the best net worth of a place for a waiting gang, the place, and who has to go; ``None`` if none."""
        placements, status = self.placements, self.placements.status
        amounts = placements.state.amounts
        fits = self.left[0]
        for left, each in ((self.left[1], int(amounts.c[job])), (self.left[2], int(amounts.m[job]))):
            if each:
                fits = np.minimum(fits, left // each)
        if not len(self.nodes):
            return None
        premium = status.values.premium * placements.within(job)
        if status.sets is None:
            found = self._ways(job, fits, premium)
        else:
            demand = status.sets.of(job)
            inside = (np.isin(self.nodes, nodes)[:, None] for nodes in demand.sets)
            ways = (way for here in inside for way in self._ways(job, np.where(here, fits, 0), premium))
            found = [way for way in ways if _is_shaped(way[1], demand)]
        best = max(found, key=lambda way: way[0], default=None)
        return best if best is not None and best[0] > 0 else None

    def _ways(self, job: int, fits: Floats, premium: int) -> list[tuple[float, Held, list[int]]]:
        """Return the best place on one node, and those on several, where so many GPUs fit on the nodes."""
        status, gpus, level = (
            self.placements.status,
            int(self.placements.g[job]),
            int(self.placements.status.widest[job]),
        )
        locality = status.locality
        found: list[tuple[float, Held, list[int]]] = []
        if locality.fewest[job] == 1:
            cost = np.where(fits >= gpus, self.cost_full, _NEVER)
            which = np.argmin(cost, axis=1)
            node = int(np.argmin(cost[np.arange(len(which)), which]))
            worth = premium + float(status.values.placed[job, TOGETHER]) - float(cost[node, which[node]])
            found.append((worth, {int(self.nodes[node]): gpus}, self._gone(node, int(which[node]))))
        if locality.fewest[job] > 1 or level > TOGETHER:
            found += self._several(job, fits, premium)
        return found

    def _gone(self, node: int, which: int) -> list[int]:
        return [int(job) for job in self.jobs[node, _SETS[:, which] > 0]]

    def _several(self, job: int, fits: Floats, premium: int) -> list[tuple[float, Held, list[int]]]:
        """Return the best places on several nodes, for each way to spread."""
        status, gpus = self.placements.status, int(self.placements.g[job])
        locality, level = status.locality, int(status.widest[job])
        most = int(min(gpus, fits.max(initial=0)))
        if most < 1:
            return []
        cost = np.full((len(fits), most + 1), _NEVER)
        which = np.zeros((len(fits), most + 1), dtype=np.int64)
        rows = np.arange(len(fits))
        for units in range(1, most + 1):
            masked = np.where(fits >= units, self.cost_shared, _NEVER)
            which[:, units] = np.argmin(masked, axis=1)
            cost[:, units] = masked[rows, which[:, units]]
        near, fewest = bool(locality.in_rack[job]), int(locality.fewest[job])
        places: list[tuple[int, Held]] = []
        rack = locality.rack[self.nodes]
        racks = [np.flatnonzero(rack == r) for r in np.unique(rack)] if near else [rows]
        if fewest > 1:
            places += [(TOGETHER, held) for nodes in racks if (held := _few(cost, nodes, gpus, fewest))]
        if near and level >= IN_RACK:
            places += [(IN_RACK, held) for nodes in racks if (held := _many(cost, nodes, gpus))]
        if level >= ANYWHERE and (held := _many(cost, rows, gpus)):
            places.append((ANYWHERE, held))
        paid = [sum(cost[list(held), list(held.values())].tolist()) for _, held in places]
        worth = [
            premium + float(status.values.placed[job, spread]) - cost_
            for (spread, _), cost_ in zip(places, paid, strict=True)
        ]
        if not places:
            return []
        best = int(np.argmax(worth))
        held = places[best][1]
        gone = {out for node, units in held.items() for out in self._gone(node, int(which[node, units]))}
        return [(worth[best], {int(self.nodes[node]): units for node, units in held.items()}, sorted(gone))]


def _is_shaped(held: Held, demand: Demand) -> bool:
    """Return whether a place is on as many nodes as a gang asks for, with equally many GPUs on each if it asks so."""
    most = len(held) if demand.most is None else demand.most
    return demand.least <= len(held) <= most and not (demand.even and len(set(held.values())) > 1)


def _entries(placements: Placements, losses: Floats) -> tuple[Ints, Ints, Ints, NDArray[np.float64]]:
    """Return job, node, GPUs and cost of each part that may go."""
    away = [job for job in placements.at if not placements.home[job]]
    rows = [(job, node, units) for job in away for node, units in placements.at[job].items()]
    parts = np.append(placements.parts, np.array(rows, dtype=np.int64).reshape(len(rows), 3), axis=0)
    job, node, units = parts[
        (losses[parts[:, 0]] < _NEVER)
        & (placements.home[parts[:, 0]] | (np.arange(len(parts)) >= len(placements.parts)))
    ].T
    return job, node, units, losses[job]


def _few(cost: Floats, nodes: Ints, gpus: int, most: int) -> Held:
    """Return the cheapest place on few of the nodes: as even as can be, or as full as can be; {} if there is none."""
    best, found = _NEVER, {}
    widest = cost.shape[1] - 1
    for size in dict.fromkeys((min(widest, gpus), -(-gpus // most))):
        if size < 1 or size > widest or -(-gpus // size) > most:
            continue
        full, rest = divmod(gpus, size)
        order = nodes[np.argsort(cost[nodes, size], kind="stable")]
        if len(order) < full + (rest > 0):
            continue
        held = dict.fromkeys(order[:full].tolist(), size)
        if rest:
            others = order[full:]
            held[int(others[np.argmin(cost[others, rest])])] = rest
        paid = sum(float(cost[node, units]) for node, units in held.items())
        if paid < best:
            best, found = paid, held
    return found


def _many(cost: Floats, nodes: Ints, gpus: int) -> Held:
    """Return a cheap place on any number of the nodes, the cheapest GPUs first; {} if there is none."""
    each = cost[nodes, 1:] / np.arange(1, cost.shape[1])
    units = np.argmin(each - 1e-6 * np.arange(1, cost.shape[1]), axis=1) + 1
    order = np.lexsort((-units, each[np.arange(len(nodes)), units - 1])) if len(nodes) else np.zeros(0, dtype=np.int64)
    held: Held = {}
    left = gpus
    for place in order.tolist():
        node, some = int(nodes[place]), int(min(left, units[place]))
        if cost[node, some] >= _NEVER:
            break
        held[node] = some
        left -= some
        if not left:
            return held
    return {}
