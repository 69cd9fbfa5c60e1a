"""The joint round by priority: jobs of the largest are decided first, then those of the next beside them, and so on.

Jobs of one priority are a *level*. Under a limit of seconds a quick search finds an early answer first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.anytime import Steps, each_of, first_of, last_of
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.group_value import Group
from muri_opt.systems.joint.nodes.state import Case, State
from muri_opt.systems.joint.search.easy_priorities import EasyPriorities
from muri_opt.systems.joint.search.jobs_with_room import JobsWithRoom
from muri_opt.systems.joint.search.quota_search import placed_as_found
from muri_opt.systems.joint.search.revision import Beside, Places, revising
from muri_opt.systems.priority_levels import levels_of

_FEW_SIZES = 24
"""Numbers of GPUs up to which a quick search looks at all of them."""


def decided(case: Case) -> Places:
    """Return GPUs of nodes of all groups that are to run."""
    return last_of(deciding(case))


def best_decided(case: Case, groups: list[Ints], sizes: Mapping[Group, int]) -> Places:
    """Return the same from what another search found: ``groups`` to begin with, and groups with the GPUs of each.

    The best of all answers counts, as the round is now: the last one is that which stays if it is decided again, and
    where jobs run it can be worth less than one before it. Another is that the groups are placed as they were found,
    those that may go on as they are where they run.
    """
    state = State.of(case)
    found = [*each_of(deciding(case, groups)), placed_as_found(state, sizes)]
    return max(found, key=state.value)


def deciding(case: Case, groups: list[Ints] | None = None, *, early: bool = False) -> Steps[Places]:
    """Yield the same, ever better; where jobs have priorities, all at once.

    An ``early`` answer is that of a quick search. What is returned in the end is the same with and without one, so that
    a limit in seconds that is not reached changes nothing, and a decision that is decided again stays as it is. For
    that the last answer is returned even where the early one was worth more, which is rare.
    """
    level, state, reached = levels_of(case.round_), State.of(case), -1
    offers = _offers(case, few_sizes=early and not state.runs.any())
    if early:
        rough, is_last = _quickly(replace(state, case=replace(case, quick=True)), offers, level)
        every_size = len(offers.counts) > len(case.models.counts)
        if is_last and every_size:
            return rough
        yield rough
        reached = state.value(rough)
        offers = offers if every_size else _offers(case, few_sizes=False)
    if level.any():
        return _level_by_level(state, offers, level)[0]
    steps = revising(state, offers, Beside.nothing(), groups)
    while True:
        try:
            placed = next(steps)
        except StopIteration as end:
            found: Places = end.value
            return found
        if not early or state.value(placed) > reached:
            yield placed


def _offers(case: Case, *, few_sizes: bool) -> Offers:
    """Return what jobs offer for all numbers of GPUs, or if there are very many for ``few_sizes`` of these."""
    rough = few_sizes and len(case.models.counts) > _FEW_SIZES
    return Offers.of(case.round_, case.models, case.worth.as_if_nothing_ran(), case.rules, rough=rough)


def _quickly(state: State, offers: Offers, level: Ints) -> tuple[Places, bool]:
    """Return the first answer, and whether a search that is not quick would find the same."""
    if level.any():
        return _level_by_level(state, offers, level)
    return first_of(revising(state, offers, Beside.nothing()))


def _level_by_level(state: State, offers: Offers, level: Ints) -> tuple[Places, bool]:
    """Return what is to run of each level in turn, beside those before; of a quick search the first answer of each.

    The other says whether that it was quick made no difference.
    """
    case, placed, is_last = state.case, Places(), True
    easy = EasyPriorities(case, offers) if case.quick and not state.runs.any() else None
    levels = np.split(np.argsort(level, kind="stable"), np.cumsum(np.bincount(level))[:-1])
    jobs = JobsWithRoom.of(case)
    most = jobs.beside(placed)
    while levels:
        if easy is not None:
            more, count = easy.beside(placed, levels, most)
            if more is not placed:
                placed, most, is_last = more, jobs.beside(more), False
            if count:
                del levels[:count]
                continue
        among = levels.pop(0)
        among = among[(most[among] > 0) | (state.runs[among] > 0)]
        if not len(among):
            continue
        here = state.of_some(among, placed)
        fixed = {group: here.held[group[0]] or () for group in placed}
        steps = revising(here, offers, Beside(fixed=fixed, among=among))
        if case.quick:
            placed, ended = first_of(steps)
            is_last = is_last and ended
        else:
            placed = last_of(steps)
        if levels and placed.keys() != fixed.keys():
            most = jobs.beside(placed)
    return placed, is_last
