"""Who sits where: the jobs on each node with the GPUs, CPUs and memory they take."""

from __future__ import annotations

from dataclasses import dataclass, field

from muri_opt.rounds import Assignment, Decision, Node, Round
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU, milli_cpus
from muri_opt.systems.plans.plan_parts import Entry, Part, entries_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The part of an assignment on one node; ``total_gpus`` are its GPUs on all nodes, 0 on CPUs only."""

    assignment: Assignment
    gpus: int
    total_gpus: int
    cpus: float
    memory_gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse:
    """One node and the blocks on it."""

    node: Node
    blocks: list[Block] = field(default_factory=list)

    @property
    def gpus(self) -> int:
        """GPUs in use."""
        return sum(block.gpus for block in self.blocks)

    @property
    def cpus(self) -> float:
        """CPUs in use."""
        return sum(block.cpus for block in self.blocks)

    @property
    def memory_gib(self) -> float:
        """Memory in use."""
        return sum(block.memory_gib for block in self.blocks)


def node_uses(round_: Round, decision: Decision) -> list[NodeUse]:
    """Return every node with what the decision puts on it."""
    uses = {node.id: NodeUse(node=node) for node in round_.cluster.nodes}
    for assignment in decision.assignments:
        members = [round_.job_index[job] for job in assignment.jobs]
        milli = sum(int(round_.amounts.c[job]) for job in members)
        mebibytes = sum(int(round_.amounts.m[job]) for job in members)
        total = sum(assignment.gpus.values())
        planned = _planned(round_, assignment)
        for node, gpus in assignment.gpus.items():
            part = Part(gpus, gpus * milli, gpus * mebibytes) if planned is None else planned.of_size(gpus)
            block = Block(
                assignment=assignment,
                gpus=gpus,
                total_gpus=total,
                cpus=part.milli / MILLI_PER_CPU,
                memory_gib=part.mib / MIB_PER_GIB,
            )
            uses[node].blocks.append(block)
    return list(uses.values())


def _planned(round_: Round, assignment: Assignment) -> Entry | None:
    """Return the plan of an assignment and what it takes, or ``None`` where it names no plan of its job."""
    if assignment.plan is None or not assignment.gpus:
        return None
    job, (node, gpus) = round_.jobs[round_.job_index[assignment.jobs[0]]], next(iter(assignment.gpus.items()))
    milli = milli_cpus(assignment.cpus.get(node, 0.0))
    alike = (assignment.plan, len(assignment.gpus), sum(assignment.gpus.values()), milli)
    entries = entries_of(job) if job.plans else ()
    found = ((e, (e.plan.name, e.plan.nodes, e.plan.gpus, e.of_size(gpus).milli)) for e in entries)
    return next((entry for entry, mine in found if mine == alike), None)


def present_decision(round_: Round) -> Decision:
    """Return what runs now, before any decision: each running job on its placement, no reasons for the others."""
    running = [job for job in round_.jobs if job.state == "running" and job.placement]
    return Decision(assignments=tuple(Assignment(jobs=(job.id,), gpus=job.placement or {}) for job in running))
