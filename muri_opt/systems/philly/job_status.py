"""Where every job stands before the round is decided: who may start, move or be preempted, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.rounds.waiting import waited_by
from muri_opt.systems.philly.locality import TOGETHER, Locality
from muri_opt.systems.philly.tenant_rules import OLDEST, WHOLE, TenantRules

Bools = NDArray[np.bool_]
Held = dict[int, int]
"""GPUs per position of a node."""
MOST_VALUE = 1 << 62
"""Values must stay below this: they are kept in machine words on the way."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """The jobs of a round under the rules of a cluster, in the letters of the chapter *placement*.

    ``held[j]`` is where a running job is. A waiting job that may start is a ``candidate``, and ``level[j]`` is how far
    it may spread; a running one may be spread as far as it is, and as far as it could start. ``start[j, l]`` is what it
    is worth spread as l (a running job: on other nodes than now), ``stay[j]`` where it is. Taking it from its nodes
    costs ``cost[j]``. ``premium`` is K, what each GPU within a quota adds; ``penalty`` is P, what each preempted GPU
    takes away. ``used[v]`` are the GPUs of tenant v before the round.

    Once it runs, a job that is ``preemptible`` may be preempted, and its restart costs ``restart[j]``. Those that run
    before the round are ``evictable``.

    A running job that is ``movable`` may be put on other nodes. Where nothing is migrated, that is to preempt it and
    start it again at once: only who is ``evictable`` is movable then, and ``start`` is less by P for each GPU.
    """

    rules: TenantRules
    locality: Locality
    held: tuple[Held, ...]
    running: Bools
    candidate: Bools
    movable: Bools
    evictable: Bools
    preemptible: Bools
    level: Ints
    start: Ints
    stay: Ints
    cost: Ints
    restart: Ints
    premium: int
    penalty: int
    used: Ints

    @classmethod
    def of(cls, round_: Round, rules: TenantRules) -> Standing:
        """Return how the jobs of a round stand, or refuse a running job that is nowhere, or where there is no room."""
        amounts, locality = round_.amounts, Locality.of(round_)
        held = tuple(_held(round_, position) for position in range(len(round_.jobs)))
        running = np.array([job.state == "running" for job in round_.jobs], dtype=bool)
        _check_room(round_, held)
        restartable = np.array([job.restart_seconds is not None for job in round_.jobs], dtype=bool)
        waited = [waited_by(round_, job) for job in round_.jobs]
        spread = [
            locality.spread(job, np.array(list(nodes), dtype=np.int64)) if nodes else TOGETHER
            for job, nodes in enumerate(held)
        ]
        allowed = np.array([rules.level(time) for time in waited], dtype=np.int64)
        level = np.where(running, np.maximum(allowed, spread), allowed)
        limited = np.array([v >= 0 and amounts.U[v] < UNLIMITED for v in amounts.tenant.tolist()], dtype=bool)
        each = [rules.restart(microseconds(job.restart_seconds or 0.0)) for job in round_.jobs]
        restart = np.where(restartable, amounts.g * np.array(each, dtype=np.int64), 0)
        cost = np.where(running, restart, 0)
        age = np.where(running, WHOLE, np.array([rules.age(time) for time in waited], dtype=np.int64))
        worth = amounts.g[:, None] * (age[:, None] * np.array(rules.speed) // WHOLE)
        preemptible = restartable & limited & (rules.preempt_at is not None)
        evictable = preemptible & running
        premium, penalty = _weights(rules, amounts.g, cost, evictable)
        again = np.where(running & (rules.migrate == 0), penalty * amounts.g, 0)
        used = np.zeros(len(amounts.U), dtype=np.int64)
        known = running & (amounts.tenant >= 0)
        np.add.at(used, amounts.tenant[known], amounts.g[known])
        found = cls(
            rules=rules,
            locality=locality,
            held=held,
            running=running,
            candidate=~running & locality.fits & (level >= 0),
            movable=evictable if rules.migrate == 0 else restartable & running,
            evictable=evictable,
            preemptible=preemptible,
            level=level,
            start=worth - (cost + again)[:, None],
            stay=np.where(running, worth[np.arange(len(spread)), spread], 0),
            cost=cost,
            restart=restart,
            premium=premium,
            penalty=penalty,
            used=used,
        )
        most = premium * int(amounts.g.sum())
        if most >= MOST_VALUE:
            raise InputError("policy objective", f"{rules.objective} with values up to {most:.0e}", "weighted")
        return found

    @property
    def fixed(self) -> Bools:
        """Running jobs that stay where they are, whatever is decided."""
        return self.running & ~self.movable & ~self.evictable


def _weights(rules: TenantRules, g: Ints, cost: Ints, evictable: Bools) -> tuple[int, int]:
    """Return K and P. Lexicographically P outweighs all that is not preempting, and K all that is not a quota."""
    if rules.objective == "weighted":
        return WHOLE, WHOLE
    penalty = 1 + (WHOLE + OLDEST) * int(g.sum()) + int(cost.sum())
    return penalty * (1 + int(g[evictable].sum())), penalty


def _held(round_: Round, position: int) -> Held:
    """Return the GPUs per node of a running job, or refuse one that does not say where it is."""
    job = round_.jobs[position]
    if job.state != "running":
        return {}
    placement = job.placement or {}
    if sum(placement.values()) != job.gpus:
        found = f"{sum(placement.values())} GPUs" if placement else "nothing"
        raise InputError(
            f"jobs[{position}] ({job.id!r}).placement", found, f"the nodes of its {job.gpus} GPUs: the job is running"
        )
    return {round_.cluster.node_index[node]: gpus for node, gpus in placement.items()}


def _check_room(round_: Round, held: tuple[Held, ...]) -> None:
    """Refuse running jobs that hold more of a node than it has, and name the job that is too much."""
    amounts = round_.amounts
    has = {"GPUs": amounts.G.tolist(), "milli-CPUs": amounts.C.tolist(), "MiB": amounts.M.tolist()}
    taken = {name: [0] * len(all_) for name, all_ in has.items()}
    for position, nodes in enumerate(held):
        with_each = {"GPUs": 1, "milli-CPUs": int(amounts.c[position]), "MiB": int(amounts.m[position])}
        for node, gpus in nodes.items():
            for name, amount in with_each.items():
                taken[name][node] += gpus * amount
                if taken[name][node] > has[name][node]:
                    where = f"jobs[{position}] ({round_.jobs[position].id!r}).placement"
                    server = round_.cluster.nodes[node].id
                    found = f"running jobs with {taken[name][node]} {name} on node {server!r}"
                    raise InputError(where, found, f"at most the {has[name][node]} {name} of the node")
