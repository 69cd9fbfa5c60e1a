"""Rounds of which a part is not to be decided: the rules for that part, and the chapter of the rest.

What runs goes on exactly as it is if it may not be stopped or moved, or if its node is being drained. What is held, or
is to begin later, waits. The rest is a round of its own on what that leaves, and is checked as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from muri_opt.rounds import (
    Assignment,
    Decision,
    Job,
    Node,
    Plan,
    Prices,
    Round,
    Tenant,
    Violation,
    Waiting,
    WaitingReason,
)
from muri_opt.verify.amounts import empty_rooms, node_with
from muri_opt.verify.chapter import Amounts, Bound, Chapter
from muri_opt.verify.demands import is_lost, kept_back
from muri_opt.verify.feasibility import listing_breaches
from muri_opt.verify.sharing_now import running_groups
from muri_opt.verify.tenant_lines import with_parents


class RestChapter(Chapter):
    """Decisions of a round of which only the ``rest`` is decided; ``whole`` is the chapter of the round itself."""

    def __init__(self, whole: Chapter) -> None:
        super().__init__(whole.round_, whole.rules)
        self.whole = whole
        self.groups = staying_groups(whole.round_, sharing=whole.most_jobs > 1)
        self._stay = {job: group for group in self.groups for job in group}
        self.most_jobs, self.mixed, self.has_plans = whole.most_jobs, whole.mixed, whole.has_plans

    @cached_property
    def rest(self) -> Chapter:
        """The chapter of what is left to decide."""
        kept = [_as_it_is(self.whole, group) for group in self.groups]
        return type(self.whole)(_rest_round(self.whole, kept), self.rules)

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> object:
        """Return the settings: the chapter of the rest has read them."""
        return settings

    def decided(self, decision: Decision) -> tuple[Round, Decision]:
        """Return the rest of the round, and the part of a decision that is about it."""
        jobs = self.rest.jobs
        return self.rest.round_, Decision(
            assignments=tuple(one for one in decision.assignments if one.jobs and one.jobs[0] in jobs),
            waiting=tuple(wait for wait in decision.waiting if wait.job in jobs),
        )

    def parts(self, decision: Decision) -> Iterable[tuple[str, int]]:
        """Yield what each assignment of the rest is worth."""
        return self.rest.parts(self.decided(decision)[1])

    def over_quotas(self, decision: Decision) -> dict[str, tuple[int, int]]:
        """Return what tenants have above their quotas in the rest."""
        return self.rest.over_quotas(self.decided(decision)[1])

    def value(self, decision: Decision) -> int:
        """Return what the decision of the rest is worth."""
        return self.rest.value(self.decided(decision)[1])

    def breaches(self, decision: Decision) -> list[Violation]:
        """Return what is wrong with the part that is not decided, and every rule that the rest breaks."""
        found = [*listing_breaches(self.jobs, decision), *self._staying(decision)]
        for wait in decision.waiting:
            if wait.job in self._stay:
                detail = "it runs and goes on as it is; it is stopped"
                found.append(Violation(rule=self._rule(wait.job), where=wait.job, detail=detail))
        for assignment in decision.assignments:
            for job in assignment.jobs:
                back = kept_back(self.round_, self.jobs[job]) if job in self.jobs else None
                if back is not None:
                    found.append(Violation(rule=str(back), where=job, detail=f"job {job!r} may not start now"))
        return found or self.rest.breaches(self.decided(decision)[1])

    def _staying(self, decision: Decision) -> Iterator[Violation]:
        """Yield what has changed of groups that go on as they are."""
        for place, assignment in enumerate(decision.assignments):
            where = f"assignments[{place}]"
            together = {self._stay[job] for job in assignment.jobs if job in self._stay}
            for group in together:
                members = [self.jobs[job] for job in assignment.jobs if job in self.jobs]
                if set(assignment.jobs) != set(group):
                    detail = f"{list(group)} go on as they are; here are {list(assignment.jobs)}"
                    yield Violation(rule="stays", where=where, detail=detail)
                elif dict(assignment.gpus) != dict(self.jobs[group[0]].placement or {}):
                    detail = f"{list(group)} go on where they are, {dict(self.jobs[group[0]].placement or {})}"
                    yield Violation(rule=self._rule(group[0]), where=where, detail=detail)
                else:
                    yield from self.whole.as_it_is_breaches(members, assignment, where)
            for node in assignment.gpus if not together else ():
                position = self.round_.cluster.node_index.get(node)
                if position is not None and self.round_.cluster.nodes[position].state != "up":
                    state = self.round_.cluster.nodes[position].state
                    yield Violation(rule="node-state", where=where, detail=f"node {node!r} is {state!r}")

    def _rule(self, name: str) -> str:
        """Return why a job goes on as it is."""
        jobs = [self.jobs[job] for job in self._stay[name]]
        if any(job.stays for job in jobs):
            return "preemptible"
        return "movable" if any(job.stays_put for job in jobs) else "node-state"

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> Iterable[Violation]:
        """Yield what is wrong with one assignment that makes sense in itself."""
        return self.whole.assignment_breaches(members, assignment, where)

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits: by order, or in the rest; what was lost with its node is stopped."""
        for wait in decision.waiting:
            back = kept_back(self.round_, self.jobs[wait.job])
            if back is not None:
                yield wait, back
        for wait, reason in self.rest.true_reasons(self.decided(decision)[1]):
            lost = is_lost(self.round_, self.jobs[wait.job])
            yield wait, WaitingReason.STOPPED if lost else reason

    def change_breaches(self, decision: Decision) -> Iterable[Violation]:
        """Yield what is wrong with the changes that waiting jobs of the rest are told."""
        return self.rest.change_breaches(self.decided(decision)[1])

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best bound of the rest."""
        return self.rest.bound(self.decided(decision)[1], prices)

    def quick_bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the one of the rest that is found sooner."""
        return self.rest.quick_bound(self.decided(decision)[1], prices)

    @property
    def undecided(self) -> int:
        """How many jobs the rest has."""
        return self.rest.undecided

    def optimum(self, steps: int) -> int | None:
        """Return the value of the best decision of the rest."""
        return self.rest.optimum(steps)

    def quota_gpus(self, job: Job, assignment: Assignment) -> int:
        """Return the GPUs that a running job takes of its tenant's quota."""
        return self.whole.quota_gpus(job, assignment)

    @property
    def has_quotas(self) -> bool:
        """Whether no tenant may have more than its quota."""
        return self.whole.has_quotas

    def taken(self, decision: Decision) -> Iterable[tuple[str, Amounts]]:
        """Yield what every assignment takes from each of its nodes."""
        return self.whole.taken(decision)

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the GPU counts that a job may run with."""
        return self.whole.sizes(job)

    def plan_parts(self, position: int) -> Sequence[tuple[Plan, Amounts]] | None:
        """Return the plans that a job may run by."""
        return self.whole.plan_parts(position)

    def period_alone(self, job: Job, gpus: int) -> float | None:
        """Return how long an iteration of a job that shares with nobody takes."""
        return self.whole.period_alone(job, gpus)

    def cpus(self, members: Sequence[Job], assignment: Assignment) -> dict[str, float]:
        """Return the CPUs that the jobs of an assignment need on each node."""
        return self.whole.cpus(members, assignment)


def staying_groups(round_: Round, *, sharing: bool) -> tuple[tuple[str, ...], ...]:
    """Return the running jobs that go on as they are, those with the same GPUs together where jobs may share."""
    draining = {node.id for node in round_.cluster.nodes if node.state == "drain"}
    together = running_groups(round_)
    groups = together if sharing else [(job,) for group in together for job in group]
    return tuple(
        tuple(job.id for job in group)
        for group in groups
        if not is_lost(round_, group[0])
        and (draining & set(group[0].placement or ()) or any(job.stays or job.stays_put for job in group))
    )


def _as_it_is(chapter: Chapter, group: tuple[str, ...]) -> Assignment:
    first = chapter.jobs[group[0]]
    members = [chapter.jobs[job] for job in group]
    plan = first.plan if chapter.has_plans else None
    bare = Assignment(jobs=group, order=tuple(range(len(group))), plan=plan, gpus=dict(first.placement or {}))
    return replace(bare, cpus=chapter.cpus(members, bare))


def _rest_round(chapter: Chapter, kept: Sequence[Assignment]) -> Round:
    """Return the round that is left to decide: without the jobs that stay or wait, and what those that stay hold."""
    round_, held = chapter.round_, Counter[str]()
    rooms = dict(zip(round_.cluster.node_index, empty_rooms(round_), strict=True))
    for node, (gpus, milli, mebibytes) in chapter.taken(Decision(assignments=tuple(kept))):
        rooms[node] = rooms[node].less(gpus, milli, mebibytes)
    for assignment in kept:
        for name in assignment.jobs:
            job = chapter.jobs[name]
            held[job.tenant or ""] += chapter.quota_gpus(job, assignment)
    held = with_parents(round_, held)
    stay = {job for assignment in kept for job in assignment.jobs}
    jobs = [job for job in round_.jobs if job.id not in stay and kept_back(round_, job) is None]
    cluster = replace(
        round_.cluster,
        nodes=tuple(
            node_with(node, rooms[node.id]) if node.state == "up" else _closed(node, round_.now)
            for node in round_.cluster.nodes
            if node.state == "up" or any(job.within is not None for job in round_.jobs)
        ),
        tenants=tuple(_tenant(tenant, held[tenant.id]) for tenant in round_.cluster.tenants),
    )
    return replace(round_, cluster=cluster, jobs=tuple(_plain(round_, job) for job in jobs))


def _plain(round_: Round, job: Job) -> Job:
    """Return a job of the rest; what was lost with its node waits."""
    asks: dict[str, Any] = {"preemptible": None, "movable": None, "held": None, "not_before": None}
    if is_lost(round_, job):
        asks |= {"state": "waiting", "placement": None}
    return replace(job, **asks)


def _closed(node: Node, now: float) -> Node:
    """Return a node that has nothing and takes nothing; its level may have no other."""
    return replace(node, state="up", gpus=0, cpus=0.0, memory_gib=0.0, available_until=now)


def _tenant(tenant: Tenant, held: int) -> Tenant:
    return tenant if tenant.quota_gpus is None else replace(tenant, quota_gpus=max(0, tenant.quota_gpus - held))
