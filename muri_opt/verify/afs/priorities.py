"""What a unit of a job's value counts where jobs have priorities: more than all smaller priorities can be worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muri_opt.rounds import Round

LONGEST = 10_000
"""Binary digits that the classes before the last may make together; those after are one class, with it."""


def by_priority(round_: Round, values: Sequence[Mapping[int, int]]) -> list[dict[int, int]]:
    """Return what each share of each job is worth, times what a unit of its class counts.

    A class can be worth at most the sum of the best share of each of its jobs. A unit of it counts one more than that
    of the class after it, times what a unit of that counts.
    """
    best = [max([0, *table.values()]) for table in values]
    levels: dict[int, list[int]] = {}
    for place, job in enumerate(round_.jobs):
        levels.setdefault(job.priority, []).append(place)
    classes: list[list[int]] = []
    reach, full = 1, False
    for priority in sorted(levels, reverse=True):
        if full:
            classes[-1] += levels[priority]
            continue
        classes.append(levels[priority])
        reach *= 1 + sum(best[place] for place in levels[priority])
        full = reach >= 1 << LONGEST
    counts, unit = [1] * len(values), 1
    for members in reversed(classes):
        for place in members:
            counts[place] = unit
        unit *= 1 + sum(best[place] for place in members)
    return [{gpus: value * count for gpus, value in table.items()} for table, count in zip(values, counts, strict=True)]
