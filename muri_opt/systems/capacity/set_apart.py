"""What a policy does not decide, set apart: jobs that go on as they are, jobs that may not start, nodes that take none.

The rest is a smaller round, which the policy and its exact program decide as they decide any round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.cluster import Cluster, Node, Tenant
from muri_opt.rounds.decision import Assignment, Decision, Waiting, WaitingReason
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.field_groups import STATES
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.job import Job
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.rounds.sharing_now import on_same_gpus
from muri_opt.systems.capacity.binding_in_sets import kept_back
from muri_opt.systems.capacity.going_on import check_left
from muri_opt.systems.capacity.lacking_amounts import MOST_HOLDERS
from muri_opt.systems.capacity.waiting_words import LOST

_SHUT: Final = {"down": "are down", "drain": "drain"}
Groups = tuple[tuple[int, ...], ...]
"""Positions of jobs that have the same GPUs."""
Keep = Callable[[Round, Groups], tuple[tuple[Assignment, ...], FreeCapacity]]
"""Returns groups that go on as they are as assignments, and what they leave; refuses what the policy has no way for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetApart:
    """A round in two parts: the ``rest`` is to be decided; those ``kept`` run on, and those ``waiting`` wait."""

    whole: Round
    rest: Round
    kept: tuple[Assignment, ...]
    waiting: tuple[Waiting, ...]

    def joined(self, decision: Decision) -> Decision:
        """Return a decision of the rest as one of the whole round; a job that was lost with its node is stopped."""
        index = self.whole.job_index
        lost = {job.id for place, job in enumerate(self.whole.jobs) if is_lost(self.whole, place)}
        aside = self._aside()
        told = (_with(wait, aside) for wait in decision.waiting)
        waits = (_stopped(wait) if wait.job in lost else wait for wait in told)
        waiting = sorted((*waits, *self.waiting), key=lambda wait: index[wait.job])
        return Decision(assignments=(*self.kept, *decision.assignments), waiting=tuple(waiting))

    def _aside(self) -> str:
        """Return what a job of the rest cannot have: what goes on as it is holds, and what shut nodes have free."""
        held = {job: sum(one.gpus.values()) for one in self.kept for job in one.jobs[:1]}
        largest = sorted(held.items(), key=lambda item: -item[1])[:MOST_HOLDERS]
        on_nodes = Counter[str]()
        for one in self.kept:
            on_nodes.update(dict(one.gpus))
        shut = Counter[str]()
        for node in self.whole.cluster.nodes:
            shut[node.state] += node.gpus - on_nodes[node.id]
        names = ", ".join(f"{job!r} holds {gpus_text(gpus)}" for job, gpus in largest if gpus)
        others = ", ".join(f"{shut[state]} on nodes that {text}" for state, text in _SHUT.items() if shut[state])
        words = (f"beside what goes on as it is ({names})" * bool(names), f"others are: {others}" * bool(others))
        return "; ".join(filter(None, words))


def set_apart(round_: Round, keep: Keep, *, sharing: bool) -> SetApart | None:
    """Return the round in two parts, ``None`` where it does not use the fields that set anything apart.

    What runs goes on as it is if it may not be stopped, may not be moved, or is on a node that is being drained; so do
    those that have the same GPUs, where the policy lets jobs share (``sharing``). A job that is held or is to begin
    later waits. A node that is down, or being drained, takes nothing.
    """
    return None if STATES.isdisjoint(round_.used_fields) else _set_apart(round_, keep, sharing)


@recalled
def _set_apart(round_: Round, keep: Keep, sharing: bool) -> SetApart:
    groups = kept_groups(round_, sharing=sharing)
    back = round_.waits_by_order
    shut = {node.id for node in round_.cluster.nodes if node.state != "up"}
    kept, left = keep(round_, groups)
    check_left(round_, left)
    away = {job for group in groups for job in group}
    jobs = tuple(_open(job, shut) for place, job in enumerate(round_.jobs) if place not in away and not back[place])
    waiting = tuple(_waiting(round_, place) for place in back.nonzero()[0].tolist())
    rest = replace(round_, cluster=_rest_of(round_, left), jobs=jobs)
    return SetApart(whole=round_, rest=rest, kept=kept, waiting=waiting)


def kept_groups(round_: Round, *, sharing: bool) -> Groups:
    """Return the running jobs that go on as they are, those that have the same GPUs together, in the round's order."""
    draining = {node.id for node in round_.cluster.nodes if node.state == "drain"}
    found = list[tuple[int, ...]]()
    for group in on_same_gpus(round_) if sharing else _alone(round_):
        jobs = [round_.jobs[place] for place in group]
        fixed = any(job.stays or job.stays_put for job in jobs) or not draining.isdisjoint(jobs[0].placement or ())
        if fixed and not is_lost(round_, group[0]):
            found.append(group)
    return tuple(sorted(found))


def _alone(round_: Round) -> list[tuple[int, ...]]:
    return [(place,) for place, job in enumerate(round_.jobs) if job.state == "running"]


def _open(job: Job, shut: set[str]) -> Job:
    """Return a job as the rest of the round has it: what is set apart is not asked again, and what is lost waits."""
    lost = job.state == "running" and not shut.isdisjoint(job.placement or ())
    plain = replace(job, preemptible=None, movable=None, held=None, not_before=None)
    return replace(plain, state="waiting", placement=None) if lost else plain


def _stopped(wait: Waiting) -> Waiting:
    detail = f"{LOST}; {wait.detail}"
    return replace(wait, reason=WaitingReason.STOPPED, detail=detail)


def _with(wait: Waiting, aside: str) -> Waiting:
    """Return what a job is told with what is set apart, unless it could start."""
    if not aside or wait.reason is WaitingReason.PRIORITY:
        return wait
    return replace(wait, detail=f"{wait.detail}; {aside}")


def _waiting(round_: Round, place: int) -> Waiting:
    binding = kept_back(round_, place)
    return Waiting(job=round_.jobs[place].id, reason=binding.reason, detail=binding.detail, remedy=binding.remedy)


def _rest_of(round_: Round, left: FreeCapacity) -> Cluster:
    """Return the nodes that take jobs and the tenants, with what is left of both.

    Where jobs ask to be inside a unit of a level, nodes that take none stay as empty ones on which nothing may start:
    they may be the only ones of the level.
    """
    cluster, levels = round_.cluster, "job.within" in round_.used_fields
    amounts: Sequence[Sequence[int]] = left.left.T.tolist()
    nodes = [
        _node(node, *has) if node.state == "up" else _shut(node, round_.now)
        for node, has in zip(cluster.nodes, amounts, strict=True)
        if node.state == "up" or levels
    ]
    tenants = [_tenant(tenant, gpus) for tenant, gpus in zip(cluster.tenants, left.quota.tolist(), strict=True)]
    return replace(cluster, nodes=tuple(nodes), tenants=tuple(tenants))


def _node(node: Node, gpus: int, cpus: int, memory: int) -> Node:
    return replace(
        node,
        gpus=gpus,
        cpus=None if node.cpus is None else cpus / MILLI_PER_CPU,
        memory_gib=None if node.memory_gib is None else memory / MIB_PER_GIB,
    )


def _shut(node: Node, now: float) -> Node:
    return replace(node, state="up", gpus=0, cpus=0.0, memory_gib=0.0, available_until=now)


def _tenant(tenant: Tenant, left: int) -> Tenant:
    return tenant if tenant.quota_gpus is None else replace(tenant, quota_gpus=max(0, min(left, UNLIMITED)))
