"""By which rules a decision is judged, and what it is worth: those of a policy, or of plain gangs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec
import numpy as np

from muri_opt.rounds import Assignment, Decision, Job, Round, Violation, Waiting, WaitingReason
from muri_opt.systems.capacity import Leftover, best_fit
from muri_opt.verify import Rules, decision_value, rules_of
from muri_opt.verify.afs.value import Curve
from muri_opt.verify.amounts import empty_rooms, need_of
from muri_opt.verify.feasibility import broken_rules
from muri_opt.verify.plans.menu import Menu
from muri_opt.verify.plans.rules import taken_by_plans

PLAIN_RULES = "fifo:objective=weighted,preempt=yes"
"""Gangs anywhere within GPUs, CPUs, memory and quotas: the rules where no policy is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The rules of ``policy``, or of plain gangs, and a decision's worth: ``worth``, or what the policy counts.

    Without either, a decision is worth the GPUs in use.
    """

    policy: str | None = None
    worth: Callable[[Round, Decision], float] | None = None

    @property
    def rules(self) -> Rules:
        """The verifier's reading of the policy."""
        return rules_of(self.policy or PLAIN_RULES)

    def value(self, round_: Round, decision: Decision) -> float:
        """Return what a decision is worth in a round; more is better."""
        whole = self.completed(round_, decision)
        if self.worth is not None:
            return self.worth(round_, whole)
        if self.policy is not None:
            return decision_value(round_, self.policy, whole)
        return sum(sum(assignment.gpus.values()) for assignment in whole.assignments)

    def breaches(self, round_: Round, decision: Decision) -> list[Violation]:
        """Return every rule of the round that the decision breaks."""
        return broken_rules(round_, self.completed(round_, decision), self.rules)

    def completed(self, round_: Round, decision: Decision) -> Decision:
        """Return the decision with what an allocator may leave out: CPUs, the period of a job alone, who waits.

        Who waits is left out as a whole: a list that names some has to name all.
        """
        listed = bool(decision.waiting)
        silent = [] if listed else [job.id for job in round_.jobs if job.id not in decision.running]
        return Decision(
            assignments=tuple(self._completed(round_, assignment) for assignment in decision.assignments),
            waiting=(*decision.waiting, *(_waits(job) for job in silent)),
        )

    def _completed(self, round_: Round, assignment: Assignment) -> Assignment:
        jobs = [round_.jobs[round_.job_index[job]] for job in assignment.jobs if job in round_.job_index]
        filled: dict[str, object] = {}
        if assignment.period_seconds is None and len(jobs) == 1 and self.rules.plans is None:
            filled["period_seconds"] = self._period(jobs[0], sum(assignment.gpus.values()))
        if not assignment.cpus:
            filled["cpus"] = self._cpus(round_, jobs, assignment)
        return msgspec.structs.replace(assignment, **filled)

    def _period(self, job: Job, gpus: int) -> float | None:
        if self.rules.elastic is None:
            return job.iteration_seconds
        curve = Curve.of(job)
        return curve.period_seconds(gpus) if gpus in curve.speeds else None

    def _cpus(self, round_: Round, jobs: list[Job], assignment: Assignment) -> dict[str, float]:
        if self.rules.plans is not None:
            menu, nodes = Menu.of(round_, self.rules.plans), sorted(assignment.gpus)
            for job in jobs[:1]:
                for plan, piece in menu.entries[round_.job_index[job.id]]:
                    if (plan.name, plan.nodes, [piece.gpus] * plan.nodes) == (
                        assignment.plan,
                        len(nodes),
                        [assignment.gpus[node] for node in nodes],
                    ):
                        return dict.fromkeys(nodes, piece.milli / 1000) if piece.milli else {}
            return {}
        milli = sum(need_of(job).milli for job in jobs)
        return {node: gpus * milli / 1000 for node, gpus in assignment.gpus.items()} if milli else {}

    def starts(self, round_: Round, decision: Decision, job: str) -> Iterator[Decision]:
        """Yield ways to start one more job beside a decision that breaks no rule, none of them breaking one either.

        Not every way is tried; a gang is placed by best fit, a share from the smallest up, a plan on the first nodes.
        """
        whole = self.completed(round_, decision)
        for found in self._placed(round_, whole, round_.job_index[job]):
            larger = beside(whole, found)
            if not self.breaches(round_, larger):
                yield larger

    def _placed(self, round_: Round, decision: Decision, position: int) -> Iterator[Assignment]:
        job, rules = round_.jobs[position], self.rules
        if rules.plans is not None:
            yield from _by_plans(round_, decision, Menu.of(round_, rules.plans), position)
            return
        left = Leftover(round_)
        for assignment in decision.assignments:
            share = np.array([assignment.gpus.get(node.id, 0) for node in round_.cluster.nodes], dtype=np.int64)
            left.take(share, *(round_.job_index[other] for other in assignment.jobs))
        sizes = [job.gpus] if rules.elastic is None else list(Curve.of(job).speeds)
        for size in sizes:
            found = best_fit(left.room(position), size)
            if found is not None:
                held = {node.id: int(found[s]) for s, node in enumerate(round_.cluster.nodes) if found[s]}
                yield Assignment(jobs=(job.id,), gpus=held)


PLAIN = Judge()
"""Plain gangs, worth the GPUs in use."""


def beside(decision: Decision, found: Assignment) -> Decision:
    """Return the decision with one more assignment, its jobs no longer waiting."""
    waiting = tuple(wait for wait in decision.waiting if wait.job not in found.jobs)
    return Decision(assignments=(*decision.assignments, found), waiting=waiting)


def _by_plans(round_: Round, decision: Decision, menu: Menu, position: int) -> Iterator[Assignment]:
    taken = {node.id: [0, 0, 0] for node in round_.cluster.nodes}
    for node, piece in taken_by_plans(round_, menu, decision):
        taken[node] = [before + more for before, more in zip(taken[node], piece, strict=True)]
    rooms = dict(zip(taken, empty_rooms(round_), strict=True))
    types = {node.id: node.gpu_type for node in round_.cluster.nodes}
    for plan, piece in menu.entries[position]:
        able = [
            node
            for node, room in rooms.items()
            if (plan.gpu_type is None or plan.gpu_type == types[node])
            and all(
                limit is None or used + more <= limit
                for used, more, limit in zip(taken[node], piece, (room.gpus, room.milli, room.mebibytes), strict=True)
            )
        ]
        if len(able) >= plan.nodes:
            held = dict.fromkeys(islice(able, plan.nodes), piece.gpus)
            yield Assignment(jobs=(round_.jobs[position].id,), plan=plan.name, gpus=held)


def _waits(job: str) -> Waiting:
    reason, remedy = "the allocator does not name it", "none was given"
    return Waiting(job=job, reason=WaitingReason.PRIORITY, detail=reason, remedy=remedy)
