"""What was found: moves, what they reach and cost, and who proves that fewer do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Certificate, Evidence, Proof, Round, Termination
from muri_opt.rounds.error_text import listed, shown


class Cost(NamedTuple):
    """Moved GPUs, then moved jobs. As a bound: no plan moves fewer GPUs, nor as few with fewer jobs.

    >>> Cost(gpus=2, jobs=1) < Cost(gpus=2, jobs=2)
    True
    """

    gpus: int
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One job taken off its nodes and put on others: GPUs per node before and after.

    >>> Move(job="a", source={"n0": 2}, target={"n1": 2}).target
    {'n1': 2}
    """

    job: str
    source: Mapping[str, int]
    target: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defragmentation:
    """Moves that free ``nodes`` nodes or make room for ``job``, within ``budget`` moved GPUs if there is one.

    Without an answer ``cost`` is ``None`` and there are no moves. ``freed`` are the nodes with GPUs and without a job
    in the end, if nodes were to be freed; ``placement`` is where the waiting job goes, otherwise. ``needed_budget`` is
    the smallest budget that would do, where the given one does not and it is known. ``proof`` is who claims the bound,
    and ``certificate`` what was checked of all this, if it was; then ``claimed_bound`` is a better bound on the word of
    one solver alone.

    >>> found = make_room(shipped_round("toy/three-fragments"), job="job-8")
    >>> found.placement, found.cost
    ({'n0': 4}, Cost(gpus=3, jobs=2))
    """

    nodes: int | None = None
    job: str | None = None
    budget: int | None = None
    moves: tuple[Move, ...] = ()
    freed: tuple[str, ...] = ()
    placement: Mapping[str, int] | None = None
    cost: Cost | None = None
    bound: Cost | None = None
    claimed_bound: Cost | None = None
    proof: Proof | None = None
    evidence: tuple[Evidence, ...] = ()
    needed_budget: int | None = None
    termination: Termination
    certificate: Certificate | None = None

    @property
    def moved_gpus(self) -> int | None:
        """GPUs of all moved jobs; ``None`` without an answer."""
        return None if self.cost is None else self.cost.gpus

    @property
    def moved_jobs(self) -> int | None:
        """Number of moved jobs; ``None`` without an answer."""
        return None if self.cost is None else self.cost.jobs


def moved_round(round_: Round, moves: Iterable[Move]) -> Round:
    """Return the round after the moves: the same jobs, the moved ones where they end.

    >>> nodes = (Node(id="n0", gpus=2), Node(id="n1", gpus=2))
    >>> a = Job(id="a", gpus=1, state="running", placement={"n0": 1}, restart_seconds=5)
    >>> b = Job(id="b", gpus=1, state="running", placement={"n1": 1}, restart_seconds=5)
    >>> round_ = Round(cluster=Cluster(nodes=nodes), jobs=(a, b))
    >>> moved_round(round_, [Move(job="b", source={"n1": 1}, target={"n0": 1})]).jobs[1].placement
    {'n0': 1}
    """
    target = {}
    for move in moves:
        position = round_.job_index.get(move.job)
        if position is None:
            running = (job.id for job in round_.jobs if job.state == "running")
            raise InputError("moves.job", shown(move.job), f"a running job: {listed(running)}")
        if round_.jobs[position].state != "running":
            raise InputError("moves.job", f"{shown(move.job)}, which is waiting", "a running job")
        target[move.job] = move.target
    jobs = tuple(
        msgspec.structs.replace(job, placement=target[job.id]) if job.id in target else job for job in round_.jobs
    )
    return msgspec.structs.replace(round_, jobs=jobs)
