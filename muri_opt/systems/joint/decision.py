"""From groups on nodes to a decision, with orders and periods, or plans."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np

from muri_opt.rounds import Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import Placed, group_decision
from muri_opt.systems.capacity.decision import left_by
from muri_opt.systems.capacity.free_capacity import Entries
from muri_opt.systems.capacity.shares import flat
from muri_opt.systems.joint.jobs.group_value import Group, Place, timed_groups
from muri_opt.systems.joint.jobs.job_model import PER_SECOND
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.nodes.waiting_plans import why_plans_wait
from muri_opt.systems.joint.rules import JointRules


def joint_decision(round_: Round, models: Models, rules: JointRules, placed: Mapping[Group, Place]) -> Decision:
    """Return the decision in which groups have GPUs of nodes; every other job waits.

    What a waiting job asks is the fewest GPUs that it can start with.
    """
    asks = models.least[models.kind]
    members, sizes = [*chain.from_iterable(placed)], [len(group) for group in placed]
    asks[members] = np.repeat([place.gpus for place in placed.values()], sizes)
    groups, of = timed_placed(round_, models, rules, placed)
    left = left_by(round_, groups, of, asks)
    told = why_plans_wait(round_, models, left, frozenset(members)) if models.are_planned else {}
    return group_decision(round_, groups, consolidate=False, of=of, left=left, told=told)


def timed_placed(
    round_: Round, models: Models, rules: JointRules, placed: Mapping[Group, Place]
) -> tuple[list[Placed], Entries]:
    """Return groups on their GPUs with the orders that reach the least periods, and who has how many GPUs where.

    Jobs with plans run by those.
    """
    items = {group: placed[group] for group in sorted(placed)}
    of = flat(place.parts for place in items.values())
    shares = np.zeros((len(items), len(round_.cluster.nodes)), dtype=np.int64)
    shares[of[0], of[1]] = of[2]
    times = [(factor.numerator, PER_SECOND * factor.denominator) for factor in rules.slowdown]
    found = []
    for (group, place), share, (period, order) in zip(items.items(), shares, timed_groups(models, items), strict=True):
        if place.way is not None:
            found.append(_planned(models, group, place, share, place.way))
            continue
        over, under = times[len(group) - 1]
        said = None if len(group) == 1 and _timeless(round_, group[0]) else period * over / under
        found.append(Placed(jobs=group, share=share, order=order, period_seconds=said))
    return found, of


def _planned(models: Models, group: Group, place: Place, share: Ints, number: int) -> Placed:
    """Return a job that runs by a plan, with what its parts take: the larger ones where it has more GPUs."""
    plans = models.plans_of(group[0])
    part_of = {part.gpus: part for part in plans.shape(number).parts}
    parts = [part_of[gpus] for _, gpus in place.parts]
    takes = tuple((part.milli, part.mib) for part in parts)
    return Placed(jobs=group, share=share, plan=plans.names[number], takes=takes)


def _timeless(round_: Round, job: int) -> bool:
    """Return whether nothing says how long an iteration of a job takes."""
    said = round_.jobs[job]
    return said.scaling is None and said.iteration_seconds is None and said.stage_seconds is None
