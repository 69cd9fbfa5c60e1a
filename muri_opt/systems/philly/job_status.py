"""Where every job stands before the round is decided: who may start, move or be preempted, and what that is worth.

The rules are those of Philly (Jeon and others, USENIX ATC 2019): gangs that wait relax how close together
their GPUs must be, and jobs of a tenant above its quota are preempted when the cluster is full.
"""

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
class Permissions:
    """What may be done with each job.

    * ``start``: it waits, fits into the cluster, and is not backing off.
    * ``move``: it runs and may be put on other nodes. Where nothing is migrated (``migrate=0``), that is to preempt it
      and start it again at once, so that only who may be preempted may move.
    * ``be_preempted``: it runs, can restart, and its tenant has a quota.
    * ``be_preempted_later``: the same once it runs, so also of jobs that wait now.
    """

    start: Bools
    move: Bools
    be_preempted: Bools
    be_preempted_later: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """What the decision about each job adds to the value, in the letters of the chapter *placement*.

    * ``placed[j, l]``: it is put on nodes and spread as l; for a running job, on other nodes than now, with its restart
      (and the preemption, where nothing is migrated) taken off.
    * ``kept[j]``: a running job stays where it is.
    * ``restart[j]``: what it costs to take a running job from its nodes; 0 for one that waits.
    * ``restart_later[j]``: what it will cost once the job runs.
    * ``premium`` (K): added for each GPU within a quota. ``penalty`` (P): taken off for each preempted GPU.
    """

    placed: Ints
    kept: Ints
    restart: Ints
    restart_later: Ints
    premium: int
    penalty: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobStatus:
    """The jobs of a round before it is decided, under the ``rules`` of a cluster.

    ``held[j]`` is where a running job is. ``widest[j]`` is how far a job may be spread (-1: not at all now): a waiting
    one by how long it has waited, a running one also as far as it is. ``used[v]`` are the GPUs of tenant v.

    >>> times = {"rack_after": 600_000_000, "any_after": 1_800_000_000, "hold": 150_000_000, "backoff": 0}
    >>> rates = {"aging": 86_400_000_000, "horizon": 600_000_000, "speed": (1000, 854, 729)}
    >>> rules = TenantRules(**times, **rates, preempt_at=900, migrate=0, dedicated=None, objective="weighted")
    >>> JobStatus.of(shipped_round("toy/four-tenants"), rules).may.start
    array([False, False, False, False, False,  True,  True, False,  True])
    """

    rules: TenantRules
    locality: Locality
    held: tuple[Held, ...]
    running: Bools
    widest: Ints
    used: Ints
    may: Permissions
    values: Values

    @classmethod
    def of(cls, round_: Round, rules: TenantRules) -> JobStatus:
        """Return how the jobs of a round stand, or refuse a running job that is nowhere, or where there is no room."""
        amounts, locality = round_.amounts, Locality.of(round_)
        held = tuple(_held(round_, position) for position in range(len(round_.jobs)))
        running = np.array([job.state == "running" for job in round_.jobs], dtype=bool)
        _check_room(round_, held)
        waited = [waited_by(round_, job) for job in round_.jobs]
        spread = [
            locality.spread(job, np.array(list(nodes), dtype=np.int64)) if nodes else TOGETHER
            for job, nodes in enumerate(held)
        ]
        allowed = np.array([rules.level(time) for time in waited], dtype=np.int64)
        widest = np.where(running, np.maximum(allowed, spread), allowed)
        may = _permissions(round_, rules, running, locality.fits & (widest >= 0))
        used = np.zeros(len(amounts.U), dtype=np.int64)
        known = running & (amounts.tenant >= 0)
        np.add.at(used, amounts.tenant[known], amounts.g[known])
        return cls(
            rules=rules,
            locality=locality,
            held=held,
            running=running,
            widest=widest,
            used=used,
            may=may,
            values=_values(round_, rules, running, waited, spread, may),
        )

    @property
    def fixed(self) -> Bools:
        """Running jobs that stay where they are, whatever is decided."""
        return self.running & ~self.may.move & ~self.may.be_preempted


def _permissions(round_: Round, rules: TenantRules, running: Bools, startable: Bools) -> Permissions:
    """Return what may be done with each job; ``startable`` ones would fit and may be spread."""
    amounts = round_.amounts
    restartable = np.array([job.restart_seconds is not None for job in round_.jobs], dtype=bool)
    limited = np.array([v >= 0 and amounts.U[v] < UNLIMITED for v in amounts.tenant.tolist()], dtype=bool)
    later = restartable & limited & (rules.preempt_at is not None)
    return Permissions(
        start=~running & startable,
        move=running & (later if rules.migrate == 0 else restartable),
        be_preempted=running & later,
        be_preempted_later=later,
    )


def _values(
    round_: Round, rules: TenantRules, running: Bools, waited: list[int], spread: list[int], may: Permissions
) -> Values:
    """Return what decisions add, or refuse values that a machine word cannot hold."""
    g = round_.amounts.g
    each = [
        0 if job.restart_seconds is None else rules.restart(microseconds(job.restart_seconds)) for job in round_.jobs
    ]
    restart_later = g * np.array(each, dtype=np.int64)
    restart = np.where(running, restart_later, 0)
    premium, penalty = _weights(rules, g, restart, may.be_preempted)
    most = premium * int(g.sum())
    if most >= MOST_VALUE:
        raise InputError("policy objective", f"{rules.objective} with values up to {most:.0e}", "weighted")
    age = np.where(running, WHOLE, np.array([rules.age(time) for time in waited], dtype=np.int64))
    worth = g[:, None] * (age[:, None] * np.array(rules.speed) // WHOLE)
    preempted = np.where(running & (rules.migrate == 0), penalty * g, 0)
    return Values(
        placed=worth - (restart + preempted)[:, None],
        kept=np.where(running, worth[np.arange(len(spread)), spread], 0),
        restart=restart,
        restart_later=restart_later,
        premium=premium,
        penalty=penalty,
    )


def _weights(rules: TenantRules, g: Ints, restart: Ints, preemptible: Bools) -> tuple[int, int]:
    """Return K and P. Lexicographically P outweighs all that is not preempting, and K all that is not a quota."""
    if rules.objective == "weighted":
        return WHOLE, WHOLE
    penalty = 1 + (WHOLE + OLDEST) * int(g.sum()) + int(restart.sum())
    return penalty * (1 + int(g[preemptible].sum())), penalty


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
