"""All plans of all jobs of a round in one table, read at once: what a part takes, and which fit the empty cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Plan, Round
from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.stacked_rows import Stacked
from muri_opt.systems.plans.equal_rows import equal_rows
from muri_opt.systems.plans.plan_places import PlanPlaces
from muri_opt.systems.plans.plan_rows import (
    GPUS,
    MIB,
    MILLI,
    NAME,
    NODES,
    STRATEGY,
    TOTAL,
    TYPES,
    PlanRowReader,
    PlanRows,
    plan_row_reader,
)

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
_CELLS: Final = 1 << 20
"""Plans times nodes that are looked at together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanTable:
    """Plan i of the round is of job ``job[i]``; those of job j are ``first[j]`` up to ``first[j + 1]``.

    Each of its ``nodes[i]`` parts takes ``gpus[i]`` GPUs, ``milli[i]`` milli-CPUs and ``mib[i]`` MiB, on nodes of
    ``kind[i]`` of the ``places``. ``fits[i]`` says whether they all find room in the empty cluster. ``name[i]`` and
    ``strategy[i]`` are numbers, as the ``reader`` tells; ``rows[j]`` are the plans of job j by themselves, and
    ``stacked`` has what else they tell.
    """

    rows: Sequence[PlanRows]
    reader: PlanRowReader
    name: Ints
    strategy: Ints
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
    stacked: Stacked

    def plan(self, place: int) -> Plan:
        """Return one of the plans."""
        job = int(self.job[place])
        return self.rows[job].plans[place - int(self.first[job])]

    @classmethod
    def of(cls, round_: Round) -> PlanTable | None:
        """Return the table of a round, ``None`` where jobs must be read one by one.

        That is where they may not start just anywhere, where a plan has parts of two sizes, and where plans of a job
        contradict each other.
        """
        return _table(round_)


@last_recalled
def _table(round_: Round) -> PlanTable | None:
    places, reader = PlanPlaces(round_), plan_row_reader()
    if places.are_asked or not all(job.plans for job in round_.jobs):
        return None
    rows = reader.rows(round_.jobs)
    if rows is None:
        return None
    stacked = reader.stacked(rows)
    first, numbers = stacked.begins, stacked.column("numbers", np.zeros((0, TYPES + 1), dtype=np.int64))
    nodes, part = numbers[:, NODES].copy(), (numbers[:, GPUS].copy(), numbers[:, MILLI].copy(), numbers[:, MIB].copy())
    kind = _kinds(places, reader)[numbers[:, TYPES]]
    return PlanTable(
        rows=rows,
        reader=reader,
        name=numbers[:, NAME].copy(),
        strategy=numbers[:, STRATEGY].copy(),
        job=np.repeat(np.arange(len(rows)), np.diff(first)),
        first=first,
        nodes=nodes,
        total=numbers[:, TOTAL].copy(),
        gpus=part[0],
        milli=part[1],
        mib=part[2],
        kind=kind,
        fits=_fits(round_.amounts, places.hosts, kind, part, nodes),
        throughput=stacked.column("throughput", np.zeros(0)),
        stacked=stacked,
        places=places,
    )


def _kinds(places: PlanPlaces, reader: PlanRowReader) -> Ints:
    """Return the kind of places of each number of GPU types, -1 where no node has them."""
    found = (places.of_types(types) for types in reader.types)
    return np.array([-1 if kind is None else kind for kind in found], dtype=np.int64)


def _fits(amounts: Amounts, hosts: Bools, kind: Ints, part: tuple[Ints, Ints, Ints], nodes: Ints) -> Bools:
    """Return whether the nodes of its kind have room for all parts of each plan; equal ones are looked at once."""
    rows = np.stack([kind, *part, nodes])
    first, place = equal_rows(rows)
    every = np.vstack([amounts.G, amounts.C, amounts.M, hosts])
    some, look = equal_rows(every)
    has, nodes_alike = every[:, some], np.bincount(look, minlength=len(some))
    able = [np.zeros(0, dtype=np.bool_)]
    different, step = rows[:, first], max(1, _CELLS // max(1, len(nodes_alike)))
    for begin in range(0, different.shape[1], step):
        at, *takes, count = different[:, begin : begin + step]
        room = has[3:].astype(np.bool_)[at]
        for need, enough in zip(takes, has[:3], strict=True):
            room &= need[:, None] <= enough
        able.append((at >= 0) & (room @ nodes_alike >= count))
    found: Bools = np.concatenate(able)[place]
    return found
