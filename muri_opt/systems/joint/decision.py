"""From groups on nodes to a decision, with orders and periods."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import Placed, group_decision
from muri_opt.systems.joint.group_value import timed_groups
from muri_opt.systems.joint.job_model import PER_SECOND, Models
from muri_opt.systems.joint.rules import JointRules


def joint_decision(
    round_: Round, models: Models, rules: JointRules, placed: Mapping[tuple[int, ...], Ints]
) -> Decision:
    """Return the decision in which groups have ``placed[group][s]`` GPUs of node s; every other job waits.

    What a waiting job asks is the fewest GPUs that it can start with.
    """
    asks = np.array([model.least for model in models.of], dtype=np.int64)[models.kind]
    for group, share in placed.items():
        asks[list(group)] = int(share.sum())
    return group_decision(round_, timed_placed(round_, models, rules, placed), consolidate=False, asks=asks)


def timed_placed(
    round_: Round, models: Models, rules: JointRules, placed: Mapping[tuple[int, ...], Ints]
) -> list[Placed]:
    """Return groups on their GPUs with the orders that reach the least periods."""
    items = sorted(placed.items())
    timed = timed_groups(models, [group for group, _ in items], [int(share.sum()) for _, share in items])
    found = []
    for (group, share), (period, order) in zip(items, timed, strict=True):
        factor = rules.slowdown[len(group) - 1]
        seconds = period * factor.numerator / (PER_SECOND * factor.denominator)
        said = None if len(group) == 1 and _timeless(round_, group[0]) else seconds
        found.append(Placed(jobs=group, share=share, order=order, period_seconds=said))
    return found


def _timeless(round_: Round, job: int) -> bool:
    """Return whether nothing says how long an iteration of a job takes."""
    said = round_.jobs[job]
    return said.scaling is None and said.iteration_seconds is None and said.stage_seconds is None
