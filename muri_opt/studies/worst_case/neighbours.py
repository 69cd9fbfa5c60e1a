"""Neighbours of a round: one thing about a job or the cluster is different, and the round is still valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from muri_opt.rounds import Job, Node, Round
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.studies.worst_case.rounds import (
    NUMBERS,
    asking,
    calm,
    drawn_round,
    is_configured,
    kept,
    put_together,
    waiting,
)
from muri_opt.studies.worst_case.short_numbers import rounded

NODE_GPUS: Final = (1, 2, 3, 4, 6, 8)
JOB_GPUS: Final = (1, 2, 3, 4, 8)
_FACTORS: Final = (0.1, 0.2, 0.5, 0.8, 1.2, 2.0, 5.0, 10.0)
_MOST_NUMBER: Final = 1e7
_FRESH_SEEDS: Final = 1 << 40
_TRIES: Final = 50

Item = TypeVar("Item")
Move = Callable[["Room", Round, Draws], Round | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Within which a search moves: the family of the generator, the most jobs and nodes, or one fixed cluster."""

    family: str
    jobs: int
    nodes: int
    gpus: int | None = None
    """GPUs of every node; then there are always ``nodes`` of them, and the cluster stays as it is."""


def neighbour(room: Room, round_: Round, draws: Draws) -> Round:
    """Return a round that differs in one place, the place and the change drawn; the round itself if none is found."""
    for _ in range(_TRIES):
        made = _MOVES[int(draws.below(1, len(_MOVES))[0])](room, round_, draws)
        if made is not None and made != round_:
            return made
    return round_


def _pick(draws: Draws, options: Sequence[Item]) -> Item:
    return options[int(draws.below(1, len(options))[0])]


def _scaled(draws: Draws, value: float, least: float = 0.0) -> float:
    """Return the number times a drawn factor; from nothing, a start."""
    return min(_MOST_NUMBER, max(least, rounded((value or 1.0) * _pick(draws, _FACTORS))))


def _with_job(round_: Round, position: int, job: Job) -> Round:
    jobs = (*round_.jobs[:position], job, *round_.jobs[position + 1 :])
    return put_together(round_.cluster, jobs, like=round_)


def _number(_room: Room, round_: Round, draws: Draws) -> Round | None:
    at = int(draws.below(1, len(round_.jobs))[0])
    job = round_.jobs[at]
    given = [name for name in NUMBERS if getattr(job, name) is not None]
    if not given:
        return None
    name = _pick(draws, given)
    value = kept(name, _scaled(draws, getattr(job, name), NUMBERS[name]))
    return _with_job(round_, at, msgspec.structs.replace(job, **{name: value}))


def _stage(_room: Room, round_: Round, draws: Draws) -> Round | None:
    at = int(draws.below(1, len(round_.jobs))[0])
    times = list(round_.jobs[at].stage_seconds or ())
    if not times:
        return None
    one, other = draws.below(2, len(times)).tolist()
    if one != other and draws.uniform(1)[0] < 0.3:
        times[one], times[other] = times[other], times[one]
    else:
        times[one] = 0.0 if draws.uniform(1)[0] < 0.1 else _scaled(draws, times[one])
    if not any(times):
        return None
    return _with_job(round_, at, msgspec.structs.replace(round_.jobs[at], stage_seconds=tuple(times)))


def _gpus(_room: Room, round_: Round, draws: Draws) -> Round | None:
    """Let a job ask for other GPUs, or for another configuration."""
    at = int(draws.below(1, len(round_.jobs))[0])
    job = round_.jobs[at]
    if is_configured(job):
        return _with_job(round_, at, asking(job, _pick(draws, job.plans or ())))
    return _with_job(round_, at, msgspec.structs.replace(job, gpus=_pick(draws, JOB_GPUS)))


def _curve(_room: Room, round_: Round, draws: Draws) -> Round | None:
    at = int(draws.below(1, len(round_.jobs))[0])
    curve = dict(round_.jobs[at].scaling or {})
    if not curve:
        return None
    largest = max(curve)
    if len(curve) > 1 and draws.uniform(1)[0] < 0.2:
        del curve[largest]
    elif draws.uniform(1)[0] < 0.1:
        curve = {gpus: gpus * curve[1] for gpus in curve}
    else:
        gpus = _pick(draws, sorted(curve))
        curve[gpus] = _scaled(draws, curve[gpus], 0.01)
    return _with_job(round_, at, msgspec.structs.replace(round_.jobs[at], scaling=calm(curve)))


def _plan(_room: Room, round_: Round, draws: Draws) -> Round | None:
    at = int(draws.below(1, len(round_.jobs))[0])
    job = round_.jobs[at]
    plans = list(job.plans or ())
    if not plans:
        return None
    place = int(draws.below(1, len(plans))[0])
    if job.guarantee is not None and draws.uniform(1)[0] < 0.2:
        return _with_job(round_, at, msgspec.structs.replace(job, guarantee=None))
    if len(plans) > 1 and plans[place].name != job.plan and draws.uniform(1)[0] < 0.2:
        del plans[place]
    else:
        throughput = _scaled(draws, plans[place].throughput, 0.01)
        plans[place] = msgspec.structs.replace(plans[place], throughput=throughput)
    return _with_job(round_, at, msgspec.structs.replace(job, plans=tuple(plans)))


def _copy(room: Room, round_: Round, draws: Draws) -> Round | None:
    if len(round_.jobs) >= room.jobs:
        return None
    job = _pick(draws, round_.jobs)
    twin = msgspec.structs.replace(waiting(job), id=_new_id(round_))
    return put_together(round_.cluster, (*round_.jobs, twin), like=round_)


def _drop(_room: Room, round_: Round, draws: Draws) -> Round | None:
    if len(round_.jobs) < 2:
        return None
    at = int(draws.below(1, len(round_.jobs))[0])
    return put_together(round_.cluster, (*round_.jobs[:at], *round_.jobs[at + 1 :]), like=round_)


def _swap(room: Room, round_: Round, draws: Draws) -> Round | None:
    """Put a job of another random round in the place of one."""
    at, seed = int(draws.below(1, len(round_.jobs))[0]), int(draws.below(1, _FRESH_SEEDS)[0])
    (fresh,) = drawn_round(room.family, 1, 1, seed, 8).jobs
    owners = [tenant.id for tenant in round_.cluster.tenants]
    job = msgspec.structs.replace(
        waiting(fresh),
        id=_new_id(round_),
        tenant=_pick(draws, owners) if fresh.tenant is not None and owners else None,
    )
    return _with_job(round_, at, job)


def _nodes(room: Room, round_: Round, draws: Draws) -> Round | None:
    """Give a node another number of GPUs, take the last one away, or put another one beside it."""
    if room.gpus is not None:
        return None
    nodes = list(round_.cluster.nodes)
    kind = draws.uniform(1)[0]
    if kind < 0.15 and len(nodes) > 1:
        nodes.pop()
    elif kind < 0.3 and len(nodes) < room.nodes:
        nodes.append(msgspec.structs.replace(nodes[-1], id=_new_node(nodes)))
    else:
        at = int(draws.below(1, len(nodes))[0])
        nodes[at] = msgspec.structs.replace(nodes[at], gpus=_pick(draws, NODE_GPUS))
    return put_together(msgspec.structs.replace(round_.cluster, nodes=tuple(nodes)), round_.jobs, like=round_)


def _quota(_room: Room, round_: Round, draws: Draws) -> Round | None:
    """Change the quota of a tenant."""
    tenants = list(round_.cluster.tenants)
    if not tenants:
        return None
    at = int(draws.below(1, len(tenants))[0])
    tenants[at] = msgspec.structs.replace(tenants[at], quota_gpus=_pick(draws, (0, *NODE_GPUS)))
    return put_together(msgspec.structs.replace(round_.cluster, tenants=tuple(tenants)), round_.jobs, like=round_)


def _new_id(round_: Round) -> str:
    return next(name for j in range(len(round_.jobs) + 1) if (name := f"job-{j}") not in round_.job_index)


def _new_node(nodes: Sequence[Node]) -> str:
    known = {node.id for node in nodes}
    return next(name for s in range(len(nodes) + 1) if (name := f"n{s}") not in known)


_MOVES: Final[tuple[Move, ...]] = (
    _number,
    _number,
    _stage,
    _stage,
    _stage,
    _gpus,
    _curve,
    _curve,
    _plan,
    _plan,
    _copy,
    _drop,
    _swap,
    _nodes,
    _quota,
)
"""One is drawn at a time; what changes numbers is there more than once, because there are more numbers to change."""
