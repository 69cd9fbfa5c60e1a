"""Classes of priorities in the chapter *grouping*: what counts first, and by how much it outweighs the rest.

A group is worth something to every class that has a job in it. The value of a decision is that of the first class times
a power of ten, plus that of the next times a smaller one, and so on: large enough that nothing that lower classes can
gain or lose outweighs one unit of a higher class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.group_values import UNITS, GroupRules, Members


def class_ranges(rules: GroupRules, members: Members, class_of: Ints, gpus: int) -> list[int]:
    """Return for each class what lies, at most, between its least and its largest value in any two decisions.

    ``members`` has one job a row, of the class ``class_of`` it. No period is shorter than the stages of a job one after
    another; that of the authors' recurrence may be. ``gpus`` are those of the cluster.
    """
    if rules.objective == "efficiency":
        done, times = np.ones_like(members.gpus[:, 0]), members.stages.sum(axis=(1, 2))
    else:
        times = members.alone[:, 0]
        done = np.ones_like(times) if rules.objective == "completion" else members.gpus[:, 0]
        if rules.objective != "gpu-time":
            done = done * members.weight[:, 0]
    shortest = np.ones_like(times) if rules.pattern == "muri-4slot" else np.maximum(1, members.stages.sum(axis=(1, 2)))
    most = done.astype(object) * (times // shortest + 1)
    taken = gpus if rules.objective == "gpu-time" else 0
    unit, classes = UNITS[rules.objective], range(int(class_of.max(initial=0)) + 1)
    return [unit * (taken + sum(most[class_of == one].tolist())) for one in classes]


def class_weights(ranges: Sequence[int]) -> list[int]:
    """Return how often the value of each class counts: once that of the last one."""
    weights = [1]
    for range_ in reversed(ranges[1:]):
        weights.append(weights[-1] * 10 ** len(str(range_)))
    return weights[::-1]
