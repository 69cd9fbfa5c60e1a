"""Make a round smaller, step by step, for as long as something still holds of it.

Every step leaves a round that says less: without a job, a node, a tenant or a field, or with a smaller number. A step
that loses what holds is not taken. The result depends on nothing but the round and the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any, Final

from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Node, Round, Tenant
from muri_opt.rounds.used_fields import ABSENT
from muri_opt.testing.changed_rounds import renumbered
from muri_opt.testing.running_quotas import within_quotas
from muri_opt.verify.amounts import empty_rooms, need_of

MOST_TRIES: Final = 600
"""How many smaller rounds are tried at most."""
_OPTIONAL: Final = ("tenant", "user", "cpus", "memory_gib")
_OPTIONAL_OF_GANGS: Final = (
    "guarantee",
    "plans",
    "scaling",
    "stage_seconds",
    "predictable",
    "restarts",
    "restart_seconds",
    "executed_seconds",
    "waiting_seconds",
)
_LEAST: Final = {"submitted": 0.0, "attained_gpu_seconds": 0.0, "remaining_iterations": 1, "iteration_seconds": 1.0}
_STOPPED: Final = {"state": "waiting", "placement": None}
_AMOUNTS: Final = (0.0, 1.0, 2.0, 3.0, 4.0)
_SIZED: Final = frozenset({"scaling", "plans", "configurations", "deadlines"})
"""The families in which tables or plans say the GPUs of a job."""

Step = Callable[[], Round]
"""Makes a smaller round; refused where it is none, by ``InputError``."""


def reduced(round_: Round, holds: Callable[[Round], bool], *, family: str, most_tries: int = MOST_TRIES) -> Round:
    """Return a smallest round of which something holds that steps lead to, from a round of which it holds.

    Fields that the policies of the family need are kept, and the state stays one that can be: running jobs fit together
    and their quotas, if they did before. ``holds`` is asked ``most_tries`` times at most.
    """
    passes: tuple[Callable[[Round], Iterator[Step]], ...] = (
        _fewer_jobs,
        _fewer_nodes,
        _merged_nodes,
        _fewer_tenants,
        partial(_less_said_of_jobs, family=family),
        partial(_less_said_of_cluster, family=family),
        _less_asked,
        partial(_smaller_numbers, family=family),
        partial(_both_smaller, family=family),
        _plain_names,
    )
    left, before = most_tries, None
    while before != round_:
        before = round_
        for steps in passes:
            smaller: Round | None = round_
            while smaller is not None:
                round_, smaller = smaller, None
                for one in _possible(steps(round_), lent=family == "tenants"):
                    left -= 1
                    if left < 0:
                        return round_
                    if holds(one):
                        smaller = one
                        break
    return round_


def _possible(steps: Iterator[Step], *, lent: bool) -> Iterator[Round]:
    """Yield the rounds of those steps that lead to a state that can be; with ``lent``, beyond quotas, too."""
    for step in steps:
        try:
            round_ = step()
        except InputError:
            continue
        rooms = dict(zip(round_.cluster.node_index, empty_rooms(round_), strict=True))
        for job in round_.jobs:
            for node, gpus in (job.placement or {}).items():
                rooms[node] = rooms[node].without(need_of(job), gpus)
        if all(room.possible for room in rooms.values()) and (lent or within_quotas(round_, round_.jobs)):
            yield round_


def _fewer_jobs(round_: Round) -> Iterator[Step]:
    """Without a job, or without two of them."""
    for count in (1, 2):
        for gone in combinations(reversed(round_.jobs), count):
            yield partial(replace, round_, jobs=tuple(job for job in round_.jobs if job not in gone))


def _fewer_nodes(round_: Round) -> Iterator[Step]:
    """Without a node; jobs that run there wait."""
    for gone in reversed(round_.cluster.nodes):
        yield partial(_without_node, round_, gone)


def _without_node(round_: Round, gone: Node) -> Round:
    jobs = (replace(job, **_STOPPED) if gone.id in (job.placement or {}) else job for job in round_.jobs)
    less = replace(round_.cluster, nodes=tuple(node for node in round_.cluster.nodes if node is not gone))
    return replace(round_, cluster=less, jobs=tuple(jobs))


def _merged_nodes(round_: Round) -> Iterator[Step]:
    """With a node and the next one as one."""
    for at in range(len(round_.cluster.nodes) - 1):
        yield partial(_merged, round_, at)


def _merged(round_: Round, at: int) -> Round:
    nodes = round_.cluster.nodes
    first, second = nodes[at : at + 2]
    one = replace(
        first,
        gpus=first.gpus + second.gpus,
        cpus=_sum(first.cpus, second.cpus),
        memory_gib=_sum(first.memory_gib, second.memory_gib),
    )
    jobs = []
    for job in round_.jobs:
        held = dict(job.placement or {})
        if second.id in held:
            held[first.id] = held.get(first.id, 0) + held.pop(second.id)
        jobs.append(replace(job, placement=held or None))
    less = replace(round_.cluster, nodes=(*nodes[:at], one, *nodes[at + 2 :]))
    return replace(round_, cluster=less, jobs=tuple(jobs))


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _fewer_tenants(round_: Round) -> Iterator[Step]:
    for gone in reversed(round_.cluster.tenants):
        yield partial(_without_tenant, round_, gone)


def _without_tenant(round_: Round, gone: Tenant) -> Round:
    jobs = (replace(job, tenant=None) if job.tenant == gone.id else job for job in round_.jobs)
    others = tuple(
        replace(one, parent=gone.parent) if one.parent == gone.id else one
        for one in round_.cluster.tenants
        if one is not gone
    )
    return replace(round_, cluster=replace(round_.cluster, tenants=others), jobs=tuple(jobs))


def _less_asked(round_: Round) -> Iterator[Step]:
    """Without a field of format 2 of a job, a node or a tenant, or with fewer of its names."""
    for at, job in enumerate(round_.jobs):
        for change in _less_of(job, "job"):
            yield partial(_with_job, round_, at, change)
    for at, node in enumerate(round_.cluster.nodes):
        for change in _less_of(node, "node"):
            yield partial(_with_node, round_, at, change)
    for at, tenant in enumerate(round_.cluster.tenants):
        for change in _less_of(tenant, "tenant"):
            yield partial(_with_tenant, round_, at, change)
    if round_.cluster.levels:
        nodes = tuple(replace(node, levels=None) for node in round_.cluster.nodes)
        yield partial(replace, round_, cluster=replace(round_.cluster, levels=(), nodes=nodes))
    if round_.together:
        yield partial(replace, round_, together=())


def _less_of(one: Job | Node | Tenant, kind: str) -> Iterator[dict[str, Any]]:
    """Yield what is left out or shortened, one field at a time."""
    for field, absent in ABSENT[kind].items():
        said = getattr(one, field)
        if said != absent:
            yield {field: absent}
        if isinstance(said, tuple) and len(said) > 1:
            yield from ({field: (name,)} for name in said)


def _less_said_of_jobs(round_: Round, family: str) -> Iterator[Step]:
    for at, job in enumerate(round_.jobs):
        if job.state == "running":
            yield partial(_with_job, round_, at, _STOPPED)
        for field in _OPTIONAL + _OPTIONAL_OF_GANGS * (family == "gangs"):
            if getattr(job, field) is not None:
                yield partial(_with_job, round_, at, {field: None})
        for field, least in _LEAST.items():
            if getattr(job, field) != least and (family == "gangs" or getattr(job, field) is not None):
                yield partial(_with_job, round_, at, {field: least})


def _less_said_of_cluster(round_: Round, family: str) -> Iterator[Step]:
    for at, node in enumerate(round_.cluster.nodes):
        optional = ("rack", "gpu_type", "memory_gib", *["cpus"] * (family != "configurations"))
        for field in (one for one in optional if getattr(node, one) is not None):
            yield partial(_with_node, round_, at, {field: None})
    for at, tenant in enumerate(round_.cluster.tenants):
        if tenant.quota_gpus is not None:
            yield partial(_with_tenant, round_, at, {"quota_gpus": None})


def _smaller_numbers(round_: Round, family: str) -> Iterator[Step]:
    for at, job in enumerate(round_.jobs):
        for change in _smaller_job(job, family):
            yield partial(_with_job, round_, at, change)
    for at, node in enumerate(round_.cluster.nodes):
        for change in _smaller_node(node):
            yield partial(_with_node, round_, at, change)
    for at, tenant in enumerate(round_.cluster.tenants):
        for quota in range(tenant.quota_gpus or 0):
            yield partial(_with_tenant, round_, at, {"quota_gpus": quota})


def _both_smaller(round_: Round, family: str) -> Iterator[Step]:
    """A job and a node with as much less each: a GPU, or CPUs or memory until the job asks for 1."""
    for at, job in enumerate(round_.jobs):
        for place, node in enumerate(round_.cluster.nodes):
            if job.gpus > 1 and node.gpus > 1 and job.placement is None and family not in _SIZED:
                yield partial(_with_both, round_, at, {"gpus": job.gpus - 1}, place, {"gpus": node.gpus - 1})
            for field in ("cpus", "memory_gib"):
                asked, limit = getattr(job, field), getattr(node, field)
                if asked is not None and limit is not None and 1.0 < asked <= limit + 1.0:
                    yield partial(_with_both, round_, at, {field: 1.0}, place, {field: limit - asked + 1.0})


def _smaller_job(job: Job, family: str) -> Iterator[dict[str, Any]]:
    if family not in _SIZED:
        for gpus in sorted({1, 2, 3, job.gpus - 1} & set(range(1, job.gpus))):
            if job.placement is None:
                yield {"gpus": gpus}
            elif len(job.placement) == 1:
                yield {"gpus": gpus, "placement": dict.fromkeys(job.placement, gpus)}
        for held in _fewer_held(job.placement or {}):
            yield {"gpus": sum(held.values()), "placement": held}
    for field in ("cpus", "memory_gib"):
        yield from ({field: less} for less in _smaller_amounts(getattr(job, field)))


def _fewer_held(placement: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield parts of a placement on several nodes: without a node, or with one GPU on each."""
    if len(placement) > 1:
        for gone in placement:
            yield {node: gpus for node, gpus in placement.items() if node != gone}
        if set(placement.values()) != {1}:
            yield dict.fromkeys(placement, 1)


def _smaller_node(node: Node) -> Iterator[dict[str, Any]]:
    yield from ({"gpus": gpus} for gpus in sorted({1, 2, 3, node.gpus - 1} & set(range(1, node.gpus))))
    for field in ("cpus", "memory_gib"):
        yield from ({field: less} for less in _smaller_amounts(getattr(node, field)))


def _smaller_amounts(amount: float | None) -> Iterator[float]:
    """Yield small whole numbers: those below a whole amount, and all of them for another one."""
    if amount is not None:
        yield from (less for less in _AMOUNTS if less < amount or amount != int(amount))


def _plain_names(round_: Round) -> Iterator[Step]:
    if renumbered(round_) != round_:
        yield partial(renumbered, round_)


def _with_job(round_: Round, at: int, change: Mapping[str, Any]) -> Round:
    return replace(round_, jobs=(*round_.jobs[:at], replace(round_.jobs[at], **change), *round_.jobs[at + 1 :]))


def _with_both(round_: Round, at: int, change: Mapping[str, Any], place: int, of_node: Mapping[str, Any]) -> Round:
    return _with_node(_with_job(round_, at, change), place, of_node)


def _with_node(round_: Round, at: int, change: Mapping[str, Any]) -> Round:
    nodes = round_.cluster.nodes
    changed = (*nodes[:at], replace(nodes[at], **change), *nodes[at + 1 :])
    return replace(round_, cluster=replace(round_.cluster, nodes=changed))


def _with_tenant(round_: Round, at: int, change: Mapping[str, Any]) -> Round:
    tenants = round_.cluster.tenants
    changed = (*tenants[:at], replace(tenants[at], **change), *tenants[at + 1 :])
    return replace(round_, cluster=replace(round_.cluster, tenants=changed))
