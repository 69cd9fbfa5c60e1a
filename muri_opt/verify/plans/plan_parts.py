"""The verifier's own reading of execution plans: what a part takes, where it fits, and what contradicts itself."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan, Round
from muri_opt.verify.amounts import Need, empty_sizes, need_of

Ints = NDArray[np.int64]


class Piece(NamedTuple):
    """What one part of a plan takes from its node."""

    gpus: int
    milli: int
    mebibytes: int


class Entry(NamedTuple):
    """A plan of a job, and what each of its parts takes.

    Where the GPUs do not divide by the nodes, ``piece`` is a smaller part and ``wide`` a larger one.
    """

    plan: Plan
    piece: Piece
    wide: Piece | None = None

    def has_parts(self, given: Collection[int]) -> bool:
        """Return whether these are the GPUs of its parts, on a node each."""
        if len(given) != self.plan.nodes:
            return False
        if self.wide is None:
            return all(gpus == self.piece.gpus for gpus in given)
        sizes = {self.piece.gpus, self.wide.gpus}
        return all(gpus in sizes for gpus in given) and sum(given) == self.plan.gpus

    def piece_with(self, gpus: int) -> Piece:
        """Return what the part of so many GPUs takes."""
        return self.piece if self.wide is None or gpus != self.wide.gpus else self.wide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeAmounts:
    """What every node has left, as columns of GPUs, milli-CPUs and MiB, and of which type its GPUs are."""

    free: Ints
    types: list[str | None]

    @classmethod
    def of(cls, round_: Round) -> NodeAmounts:
        """Return the empty cluster."""
        return cls(free=empty_sizes(round_), types=[node.gpu_type for node in round_.cluster.nodes])


def nodes_with_room(free: Ints, piece: Piece) -> int:
    """Return how many nodes can take the piece; ``free`` has the GPUs, milli-CPUs and MiB of each in its rows."""
    gpus, milli, mebibytes = free
    return int(np.count_nonzero((gpus >= piece.gpus) & (milli >= piece.milli) & (mebibytes >= piece.mebibytes)))


def entries_of(job: Job) -> tuple[Entry, ...]:
    """Return the plans of a job; two that no decision could tell apart are refused."""
    if not job.plans:
        raise InputError("plans", "nothing", "at least one plan: the policy chooses among them")
    need = need_of(job)
    entries = tuple(Entry(plan, *pieces_of(plan, need)) for plan in job.plans)
    alike: dict[tuple[str, int, int, int], list[tuple[str, ...] | None]] = {}
    for plan, piece, _ in entries:
        types, mine = alike.setdefault((plan.name, plan.gpus, plan.nodes, piece.milli), []), plan.types
        if any(mine is None or other is None or not set(mine).isdisjoint(other) for other in types):
            nodes = f"{plan.nodes} node{'s' * (plan.nodes != 1)}"
            found = f"two plans {plan.name!r} of {plan.gpus} GPUs on {nodes} with equal CPUs"
            raise InputError("plans", found, "plans that differ in name, GPUs, nodes or CPUs")
        types.append(mine)
    return entries


def piece_of(plan: Plan, need: Need) -> Piece:
    """Return what each part takes: an equal share, rounded up; what the plan leaves out is as its job needs it."""
    milli = plan.gpus * need.milli if plan.cpus is None else round(plan.cpus * 1000)
    mebibytes = plan.gpus * need.mebibytes if plan.memory_gib is None else round(plan.memory_gib * 1024)
    parts = plan.nodes
    return Piece(plan.gpus // parts, (milli + parts - 1) // parts, (mebibytes + parts - 1) // parts)


def pieces_of(plan: Plan, need: Need) -> tuple[Piece, Piece | None]:
    """Return what a part takes, the smaller one where there are two sizes, and the larger one if there are."""
    if plan.gpus % plan.nodes == 0:
        return piece_of(plan, need), None
    milli = plan.gpus * need.milli if plan.cpus is None else round(plan.cpus * 1000)
    mebibytes = plan.gpus * need.mebibytes if plan.memory_gib is None else round(plan.memory_gib * 1024)

    def share(gpus: int) -> Piece:
        milli_part, rest = divmod(milli * gpus, plan.gpus)
        mebibytes_part, left = divmod(mebibytes * gpus, plan.gpus)
        return Piece(gpus, milli_part + (rest > 0), mebibytes_part + (left > 0))

    return share(plan.gpus // plan.nodes), share(plan.gpus // plan.nodes + 1)


def strategy_of(name: str) -> str:
    """Return a plan's name up to its shape (``@``), without its data-parallel degree."""
    kept = ""
    for number, word in enumerate(name.split("@")[0].split("-")):
        if re.fullmatch(r"dp[0-9]+", word) is None:
            kept += word if number == 0 else f"-{word}"
    return kept


def may_change_to(job: Job, plan: Plan, change: str) -> bool:
    """Return whether the policy lets the job run by the plan, as far as strategy and GPUs tell."""
    if change in ("resources", "neither"):
        if job.plan is None:
            raise InputError("plan", "nothing", "the plan it was given: the policy keeps its strategy")
        if strategy_of(plan.name) != strategy_of(job.plan):
            return False
    return change not in ("plans", "neither") or plan.gpus == job.gpus


def keeps_promise(job: Job, plan: Plan) -> bool:
    """Return whether the plan is as fast as the job was promised."""
    return job.guarantee is None or plan.throughput >= job.guarantee.throughput
