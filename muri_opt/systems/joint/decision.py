"""From groups on nodes to a decision, with orders and periods."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import Placed, group_decision
from muri_opt.systems.joint.cyclic_period import best_order
from muri_opt.systems.joint.job_model import PER_SECOND, Models
from muri_opt.systems.joint.rules import JointRules


def joint_decision(
    round_: Round, models: Models, rules: JointRules, placed: Mapping[tuple[int, ...], Ints]
) -> Decision:
    """Return the decision in which groups have ``placed[group][s]`` GPUs of node s; every other job waits.

    What a waiting job asks is the fewest GPUs that it can start with.
    """
    asks = np.array([models.of[kind].least for kind in models.kind.tolist()], dtype=np.int64)
    found = []
    for group, share in sorted(placed.items()):
        gpus = int(share.sum())
        asks[list(group)] = gpus
        found.append(timed(round_, models, rules, group, share, gpus))
    return group_decision(round_, found, consolidate=False, asks=asks)


def timed(round_: Round, models: Models, rules: JointRules, group: tuple[int, ...], share: Ints, gpus: int) -> Placed:
    """Return a placed group with the best order of its jobs and its period; a job alone has that of its share."""
    members = [models.of[kind] for kind in models.kind[list(group)].tolist()]
    if len(group) > 1:
        period, order = best_order([model.stages_on(gpus) for model in members])
        seconds = float(period * rules.slowdown[len(group) - 1] / PER_SECOND)
        return Placed(jobs=group, share=share, order=order, period_seconds=seconds)
    job = round_.jobs[group[0]]
    if job.scaling is None and job.iteration_seconds is None and job.stage_seconds is None:
        return Placed(jobs=group, share=share)
    return Placed(jobs=group, share=share, period_seconds=members[0].period[gpus] / PER_SECOND)
