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
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.rounds.waiting import waited_by
from muri_opt.systems.capacity.node_sets import NodeSets, node_sets
from muri_opt.systems.capacity.shares import flat
from muri_opt.systems.completion import SECOND, Behind, completion_weights, service_left
from muri_opt.systems.philly.locality import TOGETHER, Locality
from muri_opt.systems.philly.priorities import Weights, Whole, priority_ranks
from muri_opt.systems.philly.tenant_rules import COMPLETION, OLDEST, WHOLE, TenantRules

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

    * ``work[j, l]``: the work of a job that is put on nodes and spread as l, a restart taken off; ``stays[j]``: that of
      a running job where it is. ``restart[j]``: what it costs to take a running job from its nodes; 0 for one that
      waits. ``restart_later[j]``: what it will cost once the job runs. All are counted alike, whatever the priority.
    * ``most[j]``: the most that the work of a job is worth, wherever it is.
    * ``weights``: how much that counts for each priority, a GPU within a quota (K), and a preempted one (P).
    * ``placed[j, l]``: what is added if a job is put on nodes and spread as l; for a running job, on other nodes than
      now, with its restart (and the preemption, where nothing is migrated) taken off.
    * ``kept[j]``: what is added if a running job stays where it is.
    """

    work: Ints
    stays: Ints
    restart: Ints
    restart_later: Ints
    most: Ints
    weights: Weights
    placed: Whole
    kept: Whole

    @property
    def fit(self) -> bool:
        """Whether all values are machine words."""
        return self.kept.dtype == np.int64

    @property
    def premium(self) -> int:
        """K of the largest priority; 0 where there are no jobs."""
        return self.weights.premium[-1] if self.stays.size else 0

    @property
    def penalty(self) -> int:
        """P of the largest priority."""
        return self.weights.penalty[-1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobStatus:
    """The jobs of a round before it is decided, under the ``rules`` of a cluster.

    ``held[j]`` is where a running job is; one that has lost its node does not run any more. ``widest[j]`` is how far a
    job may be spread (-1: not at all now): a waiting one by how long it has waited, a running one also as far as it is.
    ``rank[j]`` is the place of its priority, from the smallest on, and ``sets`` says where jobs may start (``None``:
    anywhere). Node s has ``gpus[s]`` GPUs, none if it is down.

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
    rank: Ints
    sets: NodeSets | None
    gpus: Ints
    may: Permissions
    values: Values

    @classmethod
    def of(cls, round_: Round, rules: TenantRules) -> JobStatus:
        """Return how the jobs of a round stand, or refuse a running job that is nowhere, or where there is no room.

        The same round asked for again is not looked at again.
        """
        return _status(round_, rules)

    @classmethod
    def read(cls, round_: Round, rules: TenantRules) -> JobStatus:
        """Return the same, looked at now."""
        locality, rank = Locality.of(round_), priority_ranks(round_)
        running = np.array(
            [job.state == "running" and not is_lost(round_, position) for position, job in enumerate(round_.jobs)],
            dtype=bool,
        )
        held = tuple(_held(round_, position) if runs else {} for position, runs in enumerate(running.tolist()))
        _check_room(round_, held)
        waited = [waited_by(round_, job) for job in round_.jobs]
        spread = [
            locality.spread(job, np.array(list(nodes), dtype=np.int64)) if nodes else TOGETHER
            for job, nodes in enumerate(held)
        ]
        allowed = np.array([rules.level(time) for time in waited], dtype=np.int64)
        widest = np.where(running, np.maximum(allowed, spread), allowed)
        may = _permissions(round_, rules, running, locality.fits & (widest >= 0))
        up = np.array([node.state != "down" for node in round_.cluster.nodes], dtype=bool)
        return cls(
            rules=rules,
            locality=locality,
            held=held,
            running=running,
            widest=widest,
            rank=rank,
            sets=node_sets(round_),
            gpus=np.where(up, round_.amounts.G, 0),
            may=may,
            values=_values(round_, rules, running, rank, waited, spread, may),
        )

    @property
    def total(self) -> int:
        """GPUs of all nodes that are not down."""
        return int(self.gpus.sum())

    @property
    def classes(self) -> int:
        """How many priorities there are."""
        return len(self.values.weights.work)

    def kind(self, job: int) -> int:
        """Return a number for what a job asks of nodes, the same for jobs that ask for the same."""
        return 0 if self.sets is None else int(self.sets.kind[job])

    @property
    def fixed(self) -> Bools:
        """Running jobs that stay where they are, whatever is decided."""
        return self.running & ~self.may.move & ~self.may.be_preempted


_status = last_recalled(JobStatus.read)


def _permissions(round_: Round, rules: TenantRules, running: Bools, startable: Bools) -> Permissions:
    """Return what may be done with each job; ``startable`` ones would fit and may be spread."""
    amounts = round_.amounts
    restartable = np.array([job.restart_seconds is not None for job in round_.jobs], dtype=bool)
    quota = [any(amounts.U[one] < UNLIMITED for one in amounts.line(v)) for v in range(len(amounts.U))]
    limited = np.array([*quota, False], dtype=bool)[amounts.tenant]
    later = restartable & limited & (rules.preempt_at is not None)
    moves = later if rules.migrate == 0 else restartable
    if "job.preemptible" in round_.used_fields or "job.movable" in round_.used_fields:
        stops = np.array([job.preemptible is not False for job in round_.jobs], dtype=bool)
        later = later & stops
        moves = (later if rules.migrate == 0 else restartable) & ~np.array(
            [job.stays_put for job in round_.jobs], dtype=bool
        )
    return Permissions(
        start=~running & startable,
        move=running & moves,
        be_preempted=running & later,
        be_preempted_later=later,
    )


def _values(
    round_: Round,
    rules: TenantRules,
    running: Bools,
    rank: Ints,
    waited: list[int],
    spread: list[int],
    may: Permissions,
) -> Values:
    """Return what decisions add, or refuse values that a machine word cannot hold."""
    g = round_.amounts.g
    each = [
        0 if job.restart_seconds is None else rules.restart(microseconds(job.restart_seconds)) for job in round_.jobs
    ]
    age = np.where(running, WHOLE, np.array([rules.age(time) for time in waited], dtype=np.int64))
    oldest, lost = np.full(len(g), WHOLE + OLDEST), np.array(each, dtype=np.int64)
    if rules.objective == COMPLETION:
        age = oldest = gpu_worth(round_)
        lost = np.where(lost > 0, np.maximum(1, lost * age // WHOLE), 0)
    restart_later = g * lost
    restart = np.where(running, restart_later, 0)
    weights = _weights(rules, rank, g, g * oldest, restart, may.be_preempted)
    most = weights.premium[-1] * int(g.sum())
    if most >= MOST_VALUE and len(weights.work) == 1:
        raise InputError("policy objective", f"{rules.objective} with values up to {most:.0e}", "weighted")
    worth = g[:, None] * (age[:, None] * np.array(rules.speed) // WHOLE)
    word = np.int64 if most < MOST_VALUE else object
    work, penalty = (np.array(part, dtype=word)[rank] for part in (weights.work, weights.penalty))
    preempted = np.where(running & (rules.migrate == 0), penalty * g, 0)
    placed, stays = worth - restart[:, None], np.where(running, worth[np.arange(len(spread)), spread], 0)
    return Values(
        work=placed,
        stays=stays,
        restart=restart,
        restart_later=restart_later,
        most=g * oldest,
        weights=weights,
        placed=work[:, None] * placed - preempted[:, None],
        kept=work * stays,
    )


def gpu_worth(round_: Round) -> Ints:
    """Return what a GPU of each job is worth for completion times, in thousandths of a job; at least one of them.

    A job has the GPUs that it asks for and no others, and runs at its best there.
    """
    _check_ranked(round_)
    gpus = np.asarray(round_.amounts.g)[:, None]
    service, total = service_left(round_.jobs), round_.cluster.total_gpus
    weights = completion_weights(Behind.known(service), np.full(gpus.shape, SECOND), gpus, total)
    found: Ints = np.maximum(1, weights * WHOLE // (SECOND * gpus[:, 0]))
    return found


def _check_ranked(round_: Round) -> None:
    """Refuse a job that does not say what work is ranked by for completion times."""
    for position, job in enumerate(round_.jobs):
        for field in ("remaining_iterations", "iteration_seconds"):
            if getattr(job, field) is None:
                where = f"jobs[{position}] ({job.id!r}).{field}"
                raise InputError(where, "nothing", f"a number: by the objective {COMPLETION!r} jobs are ranked by it")


def check_status(alone: Round, rules: TenantRules) -> None:
    """Refuse a job that is not ranked although the objective asks for it, or that runs with other GPUs than its own."""
    for position, job in enumerate(alone.jobs):
        if job.state == "running":
            _held(alone, position)
    if rules.objective == COMPLETION:
        _check_ranked(alone)


def _weights(rules: TenantRules, rank: Ints, g: Ints, most: Ints, restart: Ints, preemptible: Bools) -> Weights:
    """Return what counts how much. Lexicographically P outweighs all that is not preempting, and K all but quotas."""
    count = int(rank.max(initial=0)) + 1
    if rules.objective == "weighted":
        return Weights.weighted(count)
    parts = (g, most, restart, g * preemptible)
    sums = (np.bincount(rank, weights=part, minlength=count).astype(np.int64).tolist() for part in parts)
    return Weights.lexicographic(*sums)


def _held(round_: Round, position: int) -> Held:
    """Return the GPUs per node of a running job, or refuse one that does not say where it is."""
    job = round_.jobs[position]
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
    if _all_fit(round_, held):
        return
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


def _all_fit(round_: Round, held: tuple[Held, ...]) -> bool:
    """Return whether what all running jobs hold together is within what each node has."""
    amounts = round_.amounts
    job, node, gpus = flat([*nodes.items()] for nodes in held)
    for has, each in ((amounts.G, gpus), (amounts.C, gpus * amounts.c[job]), (amounts.M, gpus * amounts.m[job])):
        taken = np.zeros(len(has), dtype=np.int64)
        np.add.at(taken, node, each)
        if (taken > has).any():
            return False
    return True
