"""The verifier's own reading of what jobs ask of nodes and of when they may start, and the rules made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import RefusalError
from muri_opt.rounds import INFORMATION, Assignment, Decision, Job, Node, Round, Violation, WaitingReason
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import Need, Room, fewest_of, holding_nodes, micro
from muri_opt.verify.open_nodes import Parts, level_of, open_nodes

_UNASKED: Final = INFORMATION | {
    "job.priority",
    "job.deadline",
    "tenant.parent",
    "tenant.weight",
    "tenant.used_gpu_seconds",
    "tenant.borrow_gpus",
    "tenant.lend_gpus",
}
"""Fields that alone keep no job from any node."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Where a job may start, by positions of nodes: all of it inside one of the ``parts``; and its ``home``.

    It is on ``fewest`` to ``most`` nodes, with equally many GPUs on each if ``even``. ``home`` are the GPUs per node
    that a running job may keep, whatever it asks of a start. One that ``must`` run may not be stopped.
    """

    parts: Parts
    fewest: int
    most: int
    even: bool
    home: Mapping[int, int] | None
    must: bool

    @property
    def alike(self) -> tuple[int, int, int, bool]:
        """What is equal for jobs that ask for the same of a start; it knows parts by their identity.

        Whoever keeps it must keep the parts as well: the identity of parts that are gone may be that of others.
        """
        return id(self.parts), self.fewest, self.most, self.even

    @property
    def reach(self) -> frozenset[int]:
        """All nodes on which some of it may be."""
        return frozenset(node for part in (*self.parts, self.home or ()) for node in part)

    def shaped(self, gpus: int) -> bool:
        """Return whether it matters on how many nodes so many GPUs are."""
        return self.even or not self.fewest <= 1 <= gpus <= self.most

    def counts(self, gpus: int) -> list[int]:
        """Return the numbers of nodes on which so many GPUs may be."""
        return [
            number for number in range(self.fewest, min(self.most, gpus) + 1) if not self.even or gpus % number == 0
        ]

    def node_count(self, rooms: Sequence[Room], need: Need, added: Sequence[Room] = ()) -> int | None:
        """Return on how few nodes the job could start in these rooms, or ``None``; it may use what is ``added``."""
        every = (Counter([*(rooms[node] for node in part), *added]) for part in self.parts or ((),))
        found = (self.nodes_among(holding_nodes(counted, need), need.gpus) for counted in every)
        return min((number for number in found if number is not None), default=None)

    def nodes_among(self, holding: Mapping[int, int], gpus: int) -> int | None:
        """Return on how few nodes of one part so many GPUs could be, or ``None``; ``holding`` counts its nodes.

        That is how many nodes hold so many of them, or more than are asked for, by that number.
        """
        if self.even:
            return next((number for number in self.counts(gpus) if _at_least(holding, gpus // number) >= number), None)
        least = fewest_of(holding, gpus)
        number = None if least is None else max(least, self.fewest)
        able = number is not None and number <= min(self.most, gpus, _at_least(holding, 1))
        return number if able else None

    def most_among(self, holding: Mapping[int, int]) -> int:
        """Return how many GPUs could be on nodes of one part, counted like that; 0 where it has too few nodes.

        Any number could be from ``fewest`` on, for a job that does not ask for equally many on each node.
        """
        left, most = self.most, 0
        for gpus in sorted(holding, reverse=True):
            used = min(left, holding[gpus])
            left, most = left - used, most + used * gpus
        return most if _at_least(holding, 1) >= self.fewest else 0


def _at_least(holding: Mapping[int, int], gpus: int) -> int:
    """Return how many nodes hold so many GPUs or more."""
    return sum([nodes for most, nodes in holding.items() if most >= gpus])


def asked_of(round_: Round) -> dict[str, Asked] | None:
    """Return what each job asks, by its id, or refuse a job that prefers a place; ``None`` as :func:`starts_of`."""
    for job in round_.jobs if "job.within" in round_.used_fields else ():
        if job.within is not None and not job.within.required:
            allowed = "true: under these rules no place is preferred"
            raise RefusalError(f"job {job.id!r}.within.required", "false", allowed)
    return starts_of(round_)


@recalled
def starts_of(round_: Round) -> dict[str, Asked] | None:
    """Return what each job asks of a start, by its id; ``None`` where no job asks for anything but amounts.

    What a job only prefers is not asked.
    """
    if _UNASKED.issuperset(round_.used_fields):
        return None
    nodes = open_nodes(round_)
    return {job.id: _asked(round_, job, nodes.parts(job)) for job in round_.jobs}


def asked_job(round_: Round, job: Job) -> Asked:
    """Return what one job asks, which need not be as the round has it."""
    return _asked(round_, job, open_nodes(round_).parts(job))


def _asked(round_: Round, job: Job, parts: Parts) -> Asked:
    stuck, shape = job.stays_put and not is_lost(round_, job), job.nodes
    most = None if shape is None else shape.most
    return Asked(
        parts=() if stuck or kept_back(round_, job) is not None else parts,
        fewest=1 if shape is None else shape.least,
        most=job.gpus if most is None else most,
        even=job.even,
        home=_home(round_, job),
        must=job.stays,
    )


def kept_back(round_: Round, job: Job) -> WaitingReason | None:
    """Return why a job that waits, or was lost with its node, may not start now, whatever is free."""
    later = job.not_before is not None and micro(job.not_before) > micro(round_.now)
    if job.held is None and not later:
        return None
    if job.state == "running" and not is_lost(round_, job):
        return None
    return WaitingReason.NOT_BEFORE if job.held is None else WaitingReason.HELD


def is_lost(round_: Round, job: Job) -> bool:
    """Return whether a job ran on a node that is down."""
    if job.state != "running" or "node.state" not in round_.used_fields:
        return False
    nodes, index = round_.cluster.nodes, round_.cluster.node_index
    return any(nodes[index[name]].state == "down" for name in job.placement or ())


def start_breaches(round_: Round, job: Job, assignment: Assignment, where: str) -> Iterator[Violation]:
    """Yield what a job asks and does not get; what runs may go on where it is, unless a node there is down."""
    index = round_.cluster.node_index
    nodes = [round_.cluster.nodes[index[name]] for name in assignment.gpus]
    for node in nodes:
        if node.state == "down":
            yield Violation(rule="node-state", where=where, detail=f"node {node.id!r} is down")
    if job.state == "running" and dict(assignment.gpus) == dict(job.placement or {}):
        return
    if job.stays_put and not is_lost(round_, job):
        detail = f"job {job.id!r} may not be moved from {dict(job.placement or {})}"
        yield Violation(rule="movable", where=where, detail=detail)
    back = kept_back(round_, job)
    if back is not None:
        yield Violation(rule=str(back), where=where, detail=f"job {job.id!r} may not start now")
    yield from _shape_breaches(job, assignment, where)
    for node in nodes:
        for rule, detail in _unfit(round_, job, node):
            yield Violation(rule=rule, where=where, detail=f"job {job.id!r} on node {node.id!r}: {detail}")
    if len({node.gpu_type for node in nodes}) > 1:
        types = sorted({str(node.gpu_type) for node in nodes})
        yield Violation(rule="gpu-type", where=where, detail=f"job {job.id!r} has GPUs of the types {types}")
    level = level_of(job)
    if level is not None and len({node.units.get(level) for node in nodes}) > 1:
        units = sorted({str(node.units.get(level)) for node in nodes})
        yield Violation(rule="within", where=where, detail=f"job {job.id!r} is in the {level}s {units}")


def pinned_breaches(round_: Round, decision: Decision) -> Iterator[Violation]:
    """Yield a breach for each running job that may not be stopped and is."""
    for job in round_.jobs:
        if job.stays and job.id not in decision.running:
            yield Violation(rule="preemptible", where=job.id, detail="it runs and may not be stopped; it is stopped")


def _shape_breaches(job: Job, assignment: Assignment, where: str) -> Iterator[Violation]:
    used = len(assignment.gpus)
    if job.nodes is not None and not job.nodes.least <= used <= (job.nodes.most or used):
        most = "any number" if job.nodes.most is None else job.nodes.most
        detail = f"job {job.id!r} is on {used} nodes; it asks for {job.nodes.least} to {most}"
        yield Violation(rule="shape", where=where, detail=detail)
    if job.even and len(set(assignment.gpus.values())) > 1:
        detail = f"job {job.id!r} has {sorted(assignment.gpus.values())} GPUs on its nodes, and asks for equally many"
        yield Violation(rule="even", where=where, detail=detail)


def _unfit(round_: Round, job: Job, node: Node) -> Iterator[tuple[str, str]]:
    """Yield the rules by which a job may not start on a node, with what is wrong."""
    if node.state == "drain":
        yield "node-state", "it is being drained and takes nothing new"
    if job.gpu_types is not None and node.gpu_type not in job.gpu_types:
        yield "gpu-type", f"its GPUs are {node.gpu_type!r}, not one of {list(job.gpu_types)}"
    for label in job.requires:
        if label not in node.labels:
            yield "labels", f"it lacks the label {label!r}"
    for label in job.excludes:
        if label in node.labels:
            yield "labels", f"it has the label {label!r}"
    level = level_of(job)
    if level is not None and level not in node.units:
        yield "within", f"it is in no {level}"
    if node.available_until is not None:
        ends = micro(round_.now) + (1 if job.time_limit_seconds is None else micro(job.time_limit_seconds))
        if ends > micro(node.available_until):
            yield "available-until", f"it is available until {node.available_until:g} s only"


def _home(round_: Round, job: Job) -> Mapping[int, int] | None:
    held = job.placement or {}
    if job.state != "running" or sum(held.values()) != job.gpus or is_lost(round_, job):
        return None
    return {round_.cluster.node_index[name]: gpus for name, gpus in held.items()}
