"""By which rules a decision is judged, and what it is worth: those of a policy, or of plain gangs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from muri_opt.rounds import Assignment, Decision, Plan, Round, Violation
from muri_opt.systems import PLAIN_RULES, Policy, policy_from
from muri_opt.systems.capacity import Leftover, best_fit
from muri_opt.systems.capacity.shaped_fit import fit_in_sets
from muri_opt.verify import Chapter, Rules, chapter_of
from muri_opt.verify.amounts import empty_rooms
from muri_opt.verify.chapter import Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The rules of ``policy``, or of plain gangs, and a decision's worth: ``worth``, or what the policy counts.

    Without either, a decision is worth the GPUs in use.
    """

    policy: str | Policy | None = None
    worth: Callable[[Round, Decision], float] | None = None

    @property
    def rules(self) -> Rules:
        """The rules of the policy."""
        return PLAIN_RULES if self.policy is None else policy_from(self.policy).rules

    def chapter(self, round_: Round) -> Chapter:
        """Return the verifier's reading of a round by these rules."""
        return chapter_of(round_, self.rules)

    def value(self, round_: Round, decision: Decision) -> float:
        """Return what a decision is worth in a round; more is better."""
        whole = self.completed(round_, decision)
        if self.worth is not None:
            return self.worth(round_, whole)
        if self.policy is not None:
            return self.chapter(round_).value(whole)
        return sum(sum(assignment.gpus.values()) for assignment in whole.assignments)

    def breaches(self, round_: Round, decision: Decision) -> list[Violation]:
        """Return every rule of the round that the decision breaks."""
        return self.chapter(round_).breaches(self.completed(round_, decision))

    def completed(self, round_: Round, decision: Decision) -> Decision:
        """Return the decision with what an allocator may leave out: CPUs, the period of a job alone, who waits."""
        return self.chapter(round_).completed(decision)

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
        job, chapter = round_.jobs[position], self.chapter(round_)
        plans = chapter.plan_parts(position)
        if plans is not None:
            yield from _by_plans(round_, chapter.taken(decision), plans, position)
            return
        left = Leftover(round_)
        for assignment in decision.assignments:
            share = np.array([assignment.gpus.get(node.id, 0) for node in round_.cluster.nodes], dtype=np.int64)
            left.take(share, *(round_.job_index[other] for other in assignment.jobs))
        sets = left.sets
        for size in chapter.sizes(job):
            room = left.room(position)
            found = best_fit(room, size) if sets is None else fit_in_sets(room, size, sets.of(position))
            if found is not None:
                held = {node.id: int(found[s]) for s, node in enumerate(round_.cluster.nodes) if found[s]}
                yield Assignment(jobs=(job.id,), gpus=held)


PLAIN = Judge()
"""Plain gangs, worth the GPUs in use."""


def beside(decision: Decision, found: Assignment) -> Decision:
    """Return the decision with one more assignment, its jobs no longer waiting."""
    waiting = tuple(wait for wait in decision.waiting if wait.job not in found.jobs)
    return Decision(assignments=(*decision.assignments, found), waiting=waiting)


def _by_plans(
    round_: Round, in_use: Iterable[tuple[str, Amounts]], plans: Iterable[tuple[Plan, Amounts]], position: int
) -> Iterator[Assignment]:
    taken = {node.id: [0, 0, 0] for node in round_.cluster.nodes}
    for node, piece in in_use:
        taken[node] = [before + more for before, more in zip(taken[node], piece, strict=True)]
    rooms = dict(zip(taken, empty_rooms(round_), strict=True))
    types = {node.id: node.gpu_type for node in round_.cluster.nodes}
    for plan, piece in plans:
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
            held = dict.fromkeys(islice(able, plan.nodes), piece[0])
            yield Assignment(jobs=(round_.jobs[position].id,), plan=plan.name, gpus=held)
