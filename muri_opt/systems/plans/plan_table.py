"""All plans of all jobs of a round in one table, read at once: what a part takes, and which fit the empty cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan, Round
from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU, mebibytes, milli_cpus
from muri_opt.systems.plans.plan_parts import entries_of
from muri_opt.systems.plans.plan_places import PlanPlaces

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanTable:
    """Plan i of the round is ``plans[i]``, of job ``job[i]``; those of job j are ``first[j]`` up to ``first[j + 1]``.

    Each of its ``nodes[i]`` parts takes ``gpus[i]`` GPUs, ``milli[i]`` milli-CPUs and ``mib[i]`` MiB, on nodes of
    ``kind[i]`` of the ``places``. ``fits[i]`` says whether they all find room in the empty cluster.
    """

    plans: Sequence[Plan]
    job: Ints
    first: Ints
    nodes: Ints
    total: Ints
    gpus: Ints
    milli: Ints
    mib: Ints
    kind: Ints
    fits: Bools
    throughput: Floats
    places: PlanPlaces

    @classmethod
    def of(cls, round_: Round) -> PlanTable | None:
        """Return the table of a round, ``None`` where jobs must be read one by one.

        That is where they may not start just anywhere, where a plan has parts of two sizes, and where plans of a job
        contradict each other.
        """
        return _table(round_)


@last_recalled
def _table(round_: Round) -> PlanTable | None:
    places = PlanPlaces(round_)
    every = [job.plans or () for job in round_.jobs]
    if places.are_asked or not all(every) or any(_clash(job) for job in round_.jobs):
        return None
    plans = list(chain.from_iterable(every))
    first = np.cumsum([0, *map(len, every)], dtype=np.int64)
    job = np.repeat(np.arange(len(every)), np.diff(first))
    total = np.array([plan.gpus for plan in plans], dtype=np.int64)
    nodes = np.array([plan.nodes for plan in plans], dtype=np.int64)
    if (total % nodes).any():
        return None
    share = np.maximum(round_.amounts.g, 1)
    asked_milli = np.array([milli_cpus(one.cpus or 0.0) for one in round_.jobs], dtype=np.int64)
    asked_mib = np.array([mebibytes(one.memory_gib or 0.0) for one in round_.jobs], dtype=np.int64)
    milli = _amounts([plan.cpus for plan in plans], MILLI_PER_CPU, total * -(-asked_milli // share)[job])
    mib = _amounts([plan.memory_gib for plan in plans], MIB_PER_GIB, total * -(-asked_mib // share)[job])
    part = (total // nodes, -(-milli // nodes), -(-mib // nodes))
    kind = _kinds(places, plans)
    return PlanTable(
        plans=plans,
        job=job,
        first=first,
        nodes=nodes,
        total=total,
        gpus=part[0],
        milli=part[1],
        mib=part[2],
        kind=kind,
        fits=_fits(round_.amounts, places.hosts, kind, part, nodes),
        throughput=np.array([plan.throughput for plan in plans], dtype=np.float64),
        places=places,
    )


def _clash(job: Job) -> bool:
    """Return whether two plans of a job are such that a decision could not tell them apart."""
    plans = job.plans or ()
    if len({plan.name for plan in plans}) == len(plans):
        return False
    if len({(plan.name, plan.gpus, plan.nodes) for plan in plans}) == len(plans):
        return False
    try:
        entries_of(job)
    except InputError:
        return True
    return False


def _amounts(said: Sequence[float | None], unit: int, usual: Ints) -> Ints:
    """Return what plans say, in whole parts of a unit, or what is usual where they say nothing."""
    amounts = np.array(said, dtype=np.float64)  # nothing becomes NaN
    nothing = np.isnan(amounts)
    return np.where(nothing, usual, np.rint(np.where(nothing, 0.0, amounts) * unit).astype(np.int64))


def _kinds(places: PlanPlaces, plans: Sequence[Plan]) -> Ints:
    """Return the kind of places of each plan, -1 where no node has its GPU type."""
    if all(plan.gpu_type is None and plan.gpu_types is None for plan in plans):
        return np.zeros(len(plans), dtype=np.int64)
    found = (places.by_type(plan) for plan in plans)
    return np.array([-1 if kind is None else kind for kind in found], dtype=np.int64)


def _fits(amounts: Amounts, hosts: Bools, kind: Ints, part: tuple[Ints, Ints, Ints], nodes: Ints) -> Bools:
    """Return whether the nodes of its kind have room for all parts of each plan; equal ones are looked at once."""
    rows = np.stack([kind, *part, nodes])
    order = np.lexsort(rows)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(rows[:, order], axis=1) != 0).any(axis=0)
    able = []
    for at, gpus, milli, mib, count in rows[:, order[new]].T.tolist():
        room = hosts[at] & (gpus <= amounts.G) & (milli <= amounts.C) & (mib <= amounts.M)
        able.append(at >= 0 and int(np.count_nonzero(room)) >= count)
    found = np.empty(len(order), dtype=np.bool_)
    found[order] = np.array(able, dtype=np.bool_)[np.cumsum(new) - 1]
    return found
