"""From shares of gangs to a decision: assignments for those that run, a reason for each that waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType

import msgspec
import numpy as np
from msgspec import UNSET

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import change_text
from muri_opt.rounds.decision import Assignment, Decision, Waiting, WaitingReason
from muri_opt.rounds.quantities import MILLI_PER_CPU
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity.binding_rules import BindingRules
from muri_opt.systems.capacity.free_capacity import Entries, Leftover, entries, summed
from muri_opt.systems.capacity.held_parts import Parts
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.known_parts import KnownParts
from muri_opt.systems.capacity.shares import flat
from muri_opt.systems.capacity.smallest_changes import GangChanges


class Placed(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Jobs that run on the same GPUs, ``share[s]`` of node s, in an order and with a period, or each at its rate.

    One that runs by a ``plan`` says what that takes of its nodes, in their order: milli-CPUs and MiB.

    >>> Placed(jobs=(0, 2), share=np.array([2, 0])).jobs
    (0, 2)
    """

    jobs: tuple[int, ...]
    share: Ints
    order: tuple[int, ...] = (0,)
    period_seconds: float | None = None
    rates: tuple[float, ...] | None = None
    plan: str | None = None
    takes: tuple[tuple[int, int], ...] | None = None


def gang_decision(
    round_: Round,
    shares: Mapping[int, Ints],
    *,
    consolidate: bool,
    preempt: bool = True,
    known: KnownParts | None = None,
) -> Decision:
    """Return the decision that gives job j ``shares[j][s]`` GPUs of node s, alone; all other jobs wait.

    ``preempt`` says whether the policy moves gangs that run; ``known`` has the parts of shares.

    >>> gang_decision(shipped_round("toy/two-gangs"), {1: np.array([4, 2])}, consolidate=False).assignments[0].gpus
    {'n0': 4, 'n1': 2}
    """
    placed = _alone(round_, shares)
    of = (known or KnownParts()).entries([group.share for group in placed])
    left = left_by(round_, placed, of, None)
    holders, waits = _beside(round_, placed, of)
    changes = GangChanges(round_, left, holders, consolidate=consolidate, preempt=preempt)
    rules = BindingRules(round_, left, holders, consolidate=consolidate)
    return Decision(
        assignments=assignments_of(round_, placed, of), waiting=_waiting(round_, left, waits, rules, changes)
    )


def gang_assignments(round_: Round, shares: Mapping[int, Ints], known: KnownParts | None = None) -> Decision:
    """Return the same decision without those that wait."""
    placed = _alone(round_, shares)
    of = (known or KnownParts()).entries([group.share for group in placed])
    return Decision(assignments=assignments_of(round_, placed, of))


def _alone(round_: Round, shares: Mapping[int, Ints]) -> list[Placed]:
    return [
        Placed(jobs=(job,), share=share, period_seconds=round_.jobs[job].iteration_seconds)
        for job, share in sorted(shares.items())
    ]


def group_decision(
    round_: Round,
    groups: Sequence[Placed],
    *,
    consolidate: bool,
    asks: Ints | None = None,
    of: Entries | None = None,
    left: Leftover | None = None,
    told: Mapping[int, Waiting] = MappingProxyType({}),
) -> Decision:
    """Return the decision in which the groups run and all other jobs wait, with the reason.

    ``consolidate`` says that a gang must sit on as few nodes as it could in the empty cluster. ``asks`` are the GPUs
    each job runs with, or would need to start, where that is not what the round says. ``of`` says which group has how
    many GPUs of which node, where that is known: shares are then not looked at. ``left`` is what they leave, where that
    is known: it says what jobs ask, too. ``told`` has jobs for which it is known why they wait.

    >>> group = Placed(jobs=(0,), share=np.array([3, 0]))
    >>> group_decision(shipped_round("toy/two-gangs"), [group], consolidate=False).assignments[0].gpus
    {'n0': 3}
    """
    of = entries([group.share for group in groups]) if of is None else of
    left = left_by(round_, groups, of, asks) if left is None else left
    holders, waits = _beside(round_, groups, of)
    rules = BindingRules(round_, left, holders, consolidate=consolidate)
    others = _waiting(round_, left, [job for job in waits if job not in told], rules, None) if waits else ()
    found, each = assignments_of(round_, groups, of), iter(others)
    return Decision(assignments=found, waiting=tuple([told[job] if job in told else next(each) for job in waits]))


def parts_decision(round_: Round, placed: Mapping[int, Parts], periods: Mapping[int, float], asks: Ints) -> Decision:
    """Return the decision in which jobs run alone, each with GPUs of nodes and its period; all others wait.

    The round says nothing of where jobs may be. ``asks`` are the GPUs each job runs with, or would need to start.

    >>> round_ = shipped_round("toy/two-gangs")
    >>> parts_decision(round_, {0: [(0, 3)]}, {0: 1.0}, round_.amounts.g).assignments[0].gpus
    {'n0': 3}
    """
    of, unsaid = flat(sorted(parts) for _, parts in sorted(placed.items())), np.zeros(0, dtype=np.int64)
    groups = [Placed(jobs=(job,), share=unsaid, period_seconds=periods[job]) for job in sorted(placed)]
    return group_decision(round_, groups, consolidate=False, asks=asks, of=of)


def _beside(round_: Round, groups: Sequence[Placed], of: Entries) -> tuple[Holders, list[int]]:
    """Return who holds what, and the jobs that are in none of the groups."""
    running = {job for group in groups for job in group.jobs}
    waits = [job for job in range(len(round_.jobs)) if job not in running]
    if not waits:
        return Holders.of(round_, []), waits
    return Holders.of_entries(round_, [group.jobs for group in groups], of), waits


def left_by(round_: Round, groups: Sequence[Placed], of: Entries, asks: Ints | None) -> Leftover:
    """Return what groups leave; a plan takes what it says of its nodes, not what its job needs with each GPU."""
    left = Leftover(round_, asks)
    left.take_entries([(group.jobs, group.share) for group in groups], of)
    takes = {at: group.takes for at, group in enumerate(groups) if group.takes is not None}
    if takes:
        whose, node, gpus = (some[np.isin(of[0], [*takes])] for some in of)
        job = np.array([group.jobs[0] for group in groups], dtype=np.int64)[whose]
        milli, mib = np.array([*chain.from_iterable(takes.values())], dtype=np.int64).T
        np.add.at(left.cpus, node, gpus * left.amounts.c[job] - milli)
        np.add.at(left.memory, node, gpus * left.amounts.m[job] - mib)
    return left


def assignment_of(round_: Round, group: Placed) -> Assignment:
    """Return the assignment of placed jobs, with the CPUs that go with their GPUs."""
    return assignments_of(round_, [group])[0]


def assignments_of(round_: Round, groups: Sequence[Placed], of: Entries | None = None) -> tuple[Assignment, ...]:
    """Return the assignments of groups of placed jobs, with the CPUs that go with their GPUs.

    ``of`` says which group has how many GPUs of which node, where that is known.
    """
    of = entries([group.share for group in groups]) if of is None else of
    nodes, gpus = round_.cluster.nodes, of[2].tolist()
    names = [nodes[place].id for place in of[1].tolist()]
    ends = np.cumsum(np.bincount(of[0], minlength=len(groups))).tolist()
    needs = summed(round_.amounts.c, [group.jobs for group in groups]).tolist()
    found, start, jobs = [], 0, round_.jobs
    for group, milli, end in zip(groups, needs, ends, strict=True):
        if end == start + 1:  # on one node, as nearly all are
            node, part = names[start], gpus[start]
            given, needs_of = {node: part}, {node: part * milli}
        else:
            given = dict(zip(names[start:end], gpus[start:end], strict=True))
            needs_of = {node: part * milli for node, part in given.items()}
        start = end
        if group.takes is not None:
            needs_of = dict(zip(given, (cpus for cpus, _ in group.takes), strict=True))
        found.append(
            Assignment(
                jobs=tuple([jobs[job].id for job in group.jobs]),
                order=group.order,
                plan=group.plan,
                gpus=given,
                cpus={node: cpus / MILLI_PER_CPU for node, cpus in needs_of.items()} if any(needs_of.values()) else {},
                period_seconds=group.period_seconds,
                rates=UNSET if group.rates is None else group.rates,
            )
        )
    return tuple(found)


def _waiting(
    round_: Round, left: Leftover, jobs: Sequence[int], rules: BindingRules, changes: GangChanges | None
) -> tuple[Waiting, ...]:
    """Return why each of the jobs does not run beside what does; alike ones are asked once.

    A job that runs now and is not among those that go on is stopped, whatever binds; one that is lost and is held, or
    is to begin later, waits for that.
    """
    amounts = round_.amounts
    alike_of = [left.asks, amounts.c, amounts.m, *_unlike(round_, left)]
    alike_of += [amounts.g] if rules.consolidates else []  # on as few nodes as for these
    tenants = amounts.tenant[jobs] if changes is not None else rules.tenants_told(jobs)
    demands = [*map(tuple, np.vstack([np.stack(alike_of)[:, jobs], tenants]).T.tolist())]
    rules.look_at(dict(zip(reversed(demands), reversed(jobs), strict=True)).values())
    known: dict[tuple[int, ...], Waiting] = {}
    found = []
    for job, demand in zip(jobs, demands, strict=True):
        said = round_.jobs[job]
        if demand not in known:
            look_at_clock()
            binding = rules.of(job)
            ways = () if changes is None else changes.of(job, binding)
            remedy = change_text(ways[0], nested=len(left.line(job)) > 1) if ways else binding.remedy
            known[demand] = Waiting(
                job=said.id, reason=binding.reason, detail=binding.detail, remedy=remedy, changes=ways
            )
        stops = said.state == "running" and not round_.waits_by_order[job]
        alike = known[demand]
        if alike.job != said.id or stops:
            reason = WaitingReason.STOPPED if stops else alike.reason
            alike = msgspec.structs.replace(alike, job=said.id, reason=reason)
        found.append(alike)
    return tuple(found)


def _unlike(round_: Round, left: Leftover) -> list[Ints]:
    """Return what else jobs must have in common to be told the same: where they may start, and that none runs."""
    if left.sets is None:
        return []
    runs = np.array([job.state == "running" for job in round_.jobs], dtype=np.bool_)
    return [left.sets.kind, np.where(runs | round_.waits_by_order, np.arange(len(runs)), -1)]
