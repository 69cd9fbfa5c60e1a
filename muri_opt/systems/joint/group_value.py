"""What groups add, and their periods, in exact whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import SharingNow
from muri_opt.systems.joint.cyclic_period import best_order, best_orders
from muri_opt.systems.joint.job_model import Models
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import SCALE, Worth

Group = tuple[int, ...]
_LARGEST = 1 << 58
"""Times below it add up in a machine word, whatever the stages."""


def group_value(models: Models, worth: Worth, rules: JointRules, group: Group, gpus: int, *, goes_on: bool) -> int:
    """Return what a group adds on so many GPUs, if it goes on as it is, or if those of it that run have to restart."""
    kinds = [int(models.kind[member]) for member in group]
    if len(group) == 1:
        period = models.of[kinds[0]].period[gpus]
    else:
        period = _period(tuple(sorted(models.of[kind].stages_on(gpus) for kind in kinds)))
    return _added(worth, rules, group, period, goes_on=goes_on)


def placed_value(
    round_: Round, models: Models, worth: Worth, rules: JointRules, placed: Mapping[Group, Ints], now: SharingNow
) -> int:
    """Return what groups add on GPUs per node, where jobs run ``now`` as they do."""
    sizes = [int(share.sum()) for share in placed.values()]
    periods = (period for period, _ in timed_groups(models, list(placed), sizes))
    return sum(
        _added(worth, rules, group, period, goes_on=goes_on(round_, now, group, share))
        for (group, share), period in zip(placed.items(), periods, strict=True)
    )


def goes_on(round_: Round, now: SharingNow, group: Sequence[int], share: Ints) -> bool:
    """Return whether jobs go on as they are if they are given GPUs per node."""
    if now.of[group[0]] < 0:
        return False
    used = share.nonzero()[0]
    nodes = round_.cluster.nodes
    return now.goes_on(group, {nodes[s].id: int(share[s]) for s in used.tolist()})


def timed_groups(models: Models, groups: Sequence[Group], gpus: Sequence[int]) -> Iterable[tuple[int, tuple[int, ...]]]:
    """Return for each group on its GPUs the least period, without a slow-down, and the order that reaches it."""
    kind: list[int] = models.kind.tolist()
    found: list[tuple[int, tuple[int, ...]]] = [(0, (0,))] * len(groups)
    by_size: dict[int, list[int]] = {}
    for place, group in enumerate(groups):
        by_size.setdefault(len(group), []).append(place)
    for size, places in by_size.items():
        if size == 1:
            for place in places:
                found[place] = models.of[kind[groups[place][0]]].period[gpus[place]], (0,)
            continue
        times = [[models.of[kind[job]].stages_on(gpus[place]) for job in groups[place]] for place in places]
        most = max(max(map(max, some)) for some in times)
        periods, orders = best_orders(np.array(times, dtype=np.int64 if most < _LARGEST else object))
        for place, period, order in zip(places, periods, orders, strict=True):
            found[place] = period, order
    return found


def _added(worth: Worth, rules: JointRules, group: Group, period: int, *, goes_on: bool) -> int:
    factor = rules.slowdown[len(group) - 1]
    over, under = SCALE * factor.denominator, worth.unit * period * factor.numerator
    works = worth.work if goes_on else worth.changed
    return sum(over * int(works[job]) // under for job in group)


@lru_cache(maxsize=1 << 18)
def _period(stages: tuple[tuple[int, ...], ...]) -> int:
    return best_order(list(stages))[0]
