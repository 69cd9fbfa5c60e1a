"""Do the shares of a decision keep all rules? Asked of all of them together, as arrays.

Where the answer is no, or not plain, the rules are asked one by one, and name what is broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Assignment, Decision, Job, Round
from muri_opt.verify.afs.curve import curves_of
from muri_opt.verify.afs.share_tables import Ints
from muri_opt.verify.afs.value import Elastic
from muri_opt.verify.amounts import NO_LIMIT, empty_sizes, need_of

_LARGEST = 1 << 52
"""Amounts are the same in floating point up to here."""
_NEAR = 5e-13
"""Half of how far a period may be from what it should be, as a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lone:
    """Assignments of one job each: ``place`` of the job in the round, GPUs ``given`` in all, and the period.

    Entry e: assignment ``of[e]`` has ``gpus[e]`` GPUs of node ``node[e]``, with ``cpus[e]`` CPUs.
    """

    place: Ints
    given: Ints
    period: NDArray[np.float64]
    of: Ints
    node: Ints
    gpus: Ints
    cpus: NDArray[np.float64]

    @classmethod
    def read(cls, round_: Round, assignments: Sequence[Assignment]) -> Lone | None:
        """Return the assignments; ``None`` where one makes no sense in itself, or is of several jobs."""
        jobs, nodes = round_.job_index, round_.cluster.node_index
        heads, entries = list[tuple[int, int, float]](), list[tuple[int, int, int, float]]()
        for one in assignments:
            period, cpus = one.period_seconds, one.cpus
            if len(one.jobs) != 1 or one.order != (0,) or one.plan is not None or period is None:
                return None
            place, given = jobs.get(one.jobs[0]), 0
            if place is None or not cpus.keys() <= one.gpus.keys():
                return None
            for name, gpus in one.gpus.items():
                node = nodes.get(name)
                if node is None or type(gpus) is not int or gpus < 1:
                    return None
                entries.append((len(heads), node, gpus, cpus.get(name, 0.0)))
                given += gpus
            heads.append((place, given, period))
        if sum(given for _, given, _ in heads) > round_.cluster.total_gpus:
            return None
        places, totals, periods = _columns(heads, 3)
        of, node, gpus, cpus = _columns(entries, 4)
        return cls(
            place=places.astype(np.int64),
            given=totals.astype(np.int64),
            period=periods,
            of=of.astype(np.int64),
            node=node.astype(np.int64),
            gpus=gpus.astype(np.int64),
            cpus=cpus,
        )


def _columns(rows: Sequence[Sequence[float]], width: int) -> NDArray[np.float64]:
    """Return the columns of rows; their whole numbers, places and GPUs of a cluster, are the same in floating point."""
    return np.array(rows, dtype=np.float64).reshape(len(rows), width).T


def listed_once(jobs: Sequence[Job], decision: Decision) -> bool:
    """Return whether every job is there once, assigned or waiting."""
    names = [name for one in decision.assignments for name in one.jobs] + [wait.job for wait in decision.waiting]
    return len(names) == len(jobs) and {*names} == {job.id for job in jobs}


def shares_are_sound(round_: Round, elastic: Elastic, assignments: Sequence[Assignment]) -> bool:
    """Return whether shares surely are ones their jobs may have, with their periods and CPUs, and fit the nodes.

    They may be anywhere in the cluster; quotas are not looked at.
    """
    lone = Lone.read(round_, assignments)
    if lone is None or not _are_shares(round_, elastic, lone):
        return False
    milli, mebibytes = _needs(round_)
    needs = milli[lone.place][lone.of], mebibytes[lone.place][lone.of]
    if any(int(need.max(initial=0)) * max(1, round_.cluster.total_gpus) >= _LARGEST for need in needs):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.array_equal(np.rint(lone.cpus * 1000), needs[0] * lone.gpus):
            return False
    rooms = empty_sizes(round_)
    for has, taken in zip(rooms.T, (lone.gpus, *(lone.gpus * need for need in needs)), strict=True):
        used = np.zeros(len(rooms), dtype=np.int64)
        np.add.at(used, lone.node, taken)
        if (used > has).any():
            return False
    return True


def _are_shares(round_: Round, elastic: Elastic, lone: Lone) -> bool:
    """Return whether the GPU counts are in the tables of their jobs, pack as they must, and have their periods."""
    curves = [*curves_of(round_).values()]
    mine = [curves[place] for place in lone.place.tolist()]
    if (lone.given > np.array([len(curve.row) for curve in mine], dtype=np.int64)).any() or (lone.given < 1).any():
        return False
    if elastic.by_node:
        size = max((node.gpus for node in round_.cluster.nodes), default=1) or 1
        parts = np.bincount(lone.of, minlength=len(lone.place))
        packs = (size % lone.given == 0) | (lone.given % size == 0)
        if not (packs & (parts <= np.maximum(1, lone.given // size))).all():
            return False
    pairs = zip(mine, lone.given.tolist(), strict=True)
    expected = np.array([curve.period_seconds(given) for curve, given in pairs], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((np.abs(lone.period - expected) <= _NEAR * expected).all())


def _needs(round_: Round) -> tuple[Ints, Ints]:
    """Return the milli-CPUs and MiB that each job takes with a GPU."""
    needs = [need_of(job) for job in round_.jobs]
    most = max((max(need.milli, need.mebibytes) for need in needs), default=0)
    word = np.int64 if most < NO_LIMIT else object
    return np.array([need.milli for need in needs], dtype=word), np.array(
        [need.mebibytes for need in needs], dtype=word
    )
