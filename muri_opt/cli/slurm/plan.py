"""What to tell Slurm: held jobs of partitions that opted in are given nodes and released; nothing else is touched."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from muri_opt.cli.slurm.nodes import Record, partition_of
from muri_opt.cli.slurm.reader import Reading
from muri_opt.cli.slurm.text import word
from muri_opt.errors import InputError
from muri_opt.rounds import Limits, Result, Round
from muri_opt.rounds.error_text import listed, shown
from muri_opt.solve.round import solve_round

OWN_HOLD = "JobHeldUser"
"""The one hold that a plan lifts: whoever submits a job held asks for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A held job that is to start on nodes."""

    job: str
    nodes: tuple[str, ...]

    @property
    def place(self) -> list[str]:
        """The command that says on which nodes."""
        return ["scontrol", "update", f"JobId={self.job}", f"ReqNodeList={','.join(self.nodes)}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmPlan:
    """The round with the candidates released, what was decided, and which of them start."""

    round_: Round
    result: Result
    candidates: tuple[str, ...]
    starts: tuple[Start, ...]

    def commands(self) -> list[list[str]]:
        """Return the commands of the whole plan: places one by one, then one release of all."""
        placed = [start.place for start in self.starts]
        return [*placed, release(self.starts)] if placed else []


def plan_of(reading: Reading, partitions: Collection[str], policy: str, method: str, limits: Limits) -> SlurmPlan:
    """Return what a policy would start of the held jobs of some partitions."""
    if not partitions:
        raise InputError("--partition", "none", "the partitions whose held jobs may be started")
    _check_known(reading, partitions)
    candidates = tuple(job for job, record in reading.records.items() if may_start(record, partitions))
    wanted = set(candidates)
    released = (replace(job, held=None) if job.id in wanted else job for job in reading.round_.jobs)
    round_ = replace(reading.round_, jobs=tuple(released))
    result = solve_round(round_, policy, method, limits)
    assignments = () if result.decision is None else result.decision.assignments
    starts = [
        Start(job=one.jobs[0], nodes=tuple(sorted(one.gpus)))
        for one in assignments
        if len(one.jobs) == 1 and one.jobs[0] in wanted
    ]
    return SlurmPlan(round_=round_, result=result, candidates=candidates, starts=tuple(starts))


def _check_known(reading: Reading, partitions: Collection[str]) -> None:
    """Refuse a partition that no node and no job is in: nothing of it could ever start."""
    labels = (label for node in reading.round_.cluster.nodes for label in node.labels)
    known = {name for label in labels for name in partition_of(label).split(",")}
    known |= {name for record in reading.records.values() for name in _partitions(record)}
    unknown = sorted(set(partitions) - known)
    if unknown:
        there = listed(name for name in known if name) or "none"
        raise InputError("--partition", shown(unknown[0]), f"partitions of this Slurm: {there}")


def may_start(record: object, partitions: Collection[str]) -> bool:
    """Return whether a job is held by its user, in the partitions and no other, so that a plan may release it."""
    if not isinstance(record, dict):
        return False
    held = word(record.get("job_state")) == "PENDING" and word(record.get("state_reason")) == OWN_HOLD
    return held and {*_partitions(record)} <= {*partitions}


def _partitions(record: Record) -> list[str]:
    """Return the partitions in which a job may run."""
    return word(record.get("partition")).split(",")


def release(starts: Sequence[Start]) -> list[str]:
    """Return the command that releases jobs."""
    return ["scontrol", "release", ",".join(start.job for start in starts)]
