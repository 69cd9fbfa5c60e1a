"""Groups with their periods: which are slower than their jobs one after another, and in what order the others run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.capacity import Placed
from muri_opt.systems.muri.interleaving import SLOWDOWN, periods_alone
from muri_opt.systems.muri.job_weights import all_times_alone
from muri_opt.systems.muri.mean_value import MILLION
from muri_opt.systems.muri.options import GroupingOptions
from muri_opt.systems.muri.periods import Group, periods_of
from muri_opt.systems.muri.ways import Ways

UNSAID: Final[Ints] = np.zeros(0, dtype=np.int64)
"""In place of GPUs per node of a group, where its nodes are known: a group has few of very many."""


def packed_groups(round_: Round, stages: Ints, groups: Sequence[Group], options: GroupingOptions) -> Iterator[Group]:
    """Yield the groups; one that is slower than its jobs one after another, even in its best order, job by job."""
    slow, worthwhile = _slow(round_, stages, groups, options), _worthwhile_freely(round_, stages, groups, options.ways)
    for group, is_slow in zip(groups, slow, strict=True):
        if is_slow and group not in worthwhile:
            yield from ((job,) for job in group)
        else:
            yield group


def _slow(round_: Round, stages: Ints, groups: Sequence[Group], options: GroupingOptions) -> list[bool]:
    """Return which groups of several jobs are slower in lock step than these one after another, or may not be so."""
    found, alone = np.zeros(len(groups), dtype=np.bool_), all_times_alone(round_)
    for size in {len(group) for group in groups} - {1}:
        at = [place for place, group in enumerate(groups) if len(group) == size]
        rows = np.array([groups[place] for place in at])
        slowed = periods_alone(stages[rows], options.pattern) * SLOWDOWN[options.slowdown][size]
        found[at] = (slowed > alone[rows].sum(axis=1)) | (options.ways.run == "free")
    return [*found.tolist()]


def _worthwhile_freely(round_: Round, stages: Ints, groups: Sequence[Group], ways: Ways) -> set[Group]:
    """Return the groups that may run freely and do as much so as one job alone, but for the rounding of rates."""
    if ways.run == "lock-step":
        return set()
    found, models = set[Group](), ways.numbers(round_.jobs)
    for size in {len(group) for group in groups} - {1}:
        some = [group for group in groups if len(group) == size]
        done = ways.rates(stages[np.array(some)], models[np.array(some)]).sum(axis=1) + size > MILLION
        found |= {group for group, well in zip(some, done.tolist(), strict=True) if well}
    return found


def timed_groups(round_: Round, stages: Ints, groups: Sequence[Group], options: GroupingOptions) -> Iterator[Placed]:
    """Yield the groups with their orders and periods; under the ablation, of the worst order."""
    shared = [group for group in groups if len(group) > 1]
    timed = zip(*periods_of(stages, shared, options.pattern, worst=options.worst_order), strict=True)
    for group in groups:
        if len(group) == 1:
            alone = round_.jobs[group[0]].iteration_seconds
            yield Placed(jobs=group, share=UNSAID, period_seconds=alone)
        else:
            period, order = next(timed)
            seconds = period / MICROSECONDS_PER_SECOND * SLOWDOWN[options.slowdown][len(group)]
            yield Placed(jobs=group, share=UNSAID, order=order, period_seconds=seconds)
