"""The joint round where jobs run: what runs goes on unless a change pays.

The round is decided once as if nothing ran, by what work is worth to those who have yet to start: that is the same
whoever runs, and so it is not looked at again. It says what a GPU costs, and what each job would gain beyond its GPUs.
Groups that run and gain less than their jobs would, restarts paid, are given up, and their jobs and those that wait are
decided anew beside the others. That is looked at again as if it ran already, until nothing is gained: so a decision
that is decided again at once stays as it is. Of very many jobs those that run are stirred only for a hundredth of the
value, which makes a second look needless.

Where jobs have priorities, those of the largest are decided first, then those of the next beside them, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import Held
from muri_opt.systems.joint.group_value import Group, Place
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.quota_search import Searched, placed_beside, searched, within_quotas
from muri_opt.systems.joint.running_groups import running_groups
from muri_opt.systems.joint.state import Case, State
from muri_opt.systems.joint.worth import SCALE
from muri_opt.systems.priority_levels import levels_of

_LOOKS = 8
_PARTS = (1.0, 0.5, 0.25)
"""Which part of the groups that gain too little are given up, those that gain least first."""
_MATTERS = 1e-9
_MANY = 400
"""Jobs beyond which what runs is only stirred where that adds a part of the value, and a first decision stands."""
_PART_OF_VALUE = 100


def revised(case: Case, groups: list[Ints] | None = None) -> dict[Group, Place]:
    """Return GPUs of nodes of all groups that are to run; ``groups`` are those of another search, to begin with."""
    offers = Offers.of(case.round_, case.models, case.worth.as_if_nothing_ran(), case.rules)
    level, state = levels_of(case.round_), State.of(case)
    if not level.any():
        return _revised(state, offers, Beside.nothing(), groups)
    placed: dict[Group, Place] = {}
    for one in range(int(level.max()) + 1):
        among = np.flatnonzero(level == one)
        here = state.of_some(among, placed)
        fixed = {group: here.held[group[0]] or () for group in placed}
        placed = _revised(here, offers, Beside(fixed=fixed, among=among), None)
    return placed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """Groups that are ``fixed`` with their GPUs, and the jobs ``among`` which the others are, ``None`` for all."""

    fixed: dict[Group, Held]
    among: Ints | None

    @classmethod
    def nothing(cls) -> Beside:
        """Return that nothing is fixed, and all jobs are to be decided."""
        return cls(fixed={}, among=None)


def _revised(state: State, offers: Offers, beside: Beside, groups: list[Ints] | None) -> dict[Group, Place]:
    """Return what is to run beside groups that are fixed, those among it."""
    case = state.case
    many = len(case.models) > _MANY
    anew = searched(state, offers, beside.fixed, beside.among)
    if groups is not None:
        anew = max(anew, searched(state, offers, {}, None, groups), key=lambda one: one.value)
    if many and int(state.runs.sum()) == sum(map(len, beside.fixed)):
        return anew.placed
    wishes = _Wishes.of(case, offers, anew)
    chosen: dict[Group, Place] = {}
    reached = -1
    for _ in range(_LOOKS):
        kept = _kept(state, _times(offers, state, wishes.stays), beside)
        best = _at_home(state, kept)
        value = most = state.value(best)
        matters = value // _PART_OF_VALUE if many else 0
        for placed, stirs in _others(state, offers, wishes, kept, anew, beside, least=matters):
            worth = state.value(placed)
            # a restart can be too short to be seen in the value: of equal ones that is taken which changes fewer jobs
            calmer = worth == most > value and state.going_on(placed) > state.going_on(best)
            if (worth > most or calmer) and (not stirs or worth > value + matters):
                best, most = placed, worth
        then = state.after(best)
        if most <= value or then.held == state.held:
            return best if most > reached else chosen
        chosen, state = best, then
        reached = state.value(best)
    return chosen


def _kept(state: State, offers: Offers, beside: Beside) -> dict[Group, Held]:
    """Return the groups that run and can go on, those that are fixed first."""
    running = running_groups(state.case.round_, offers, state.now)
    fixed = {job for group in beside.fixed for job in group}
    able = {
        group: held
        for group, held in running.items()
        if fixed.isdisjoint(group) and state.at_home(group, held) is not None
    }
    return within_quotas(state.case.round_, beside.fixed | able)


def _at_home(state: State, kept: dict[Group, Held]) -> dict[Group, Place]:
    homes = ((group, state.at_home(group, held)) for group, held in kept.items())
    return {group: home for group, home in homes if home is not None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Wishes:
    """What jobs have where nothing runs yet: ``gain[j]`` beyond the price of GPUs, less the restart if it runs.

    ``price`` is that of a GPU, ``charge[j]`` what job j pays besides. A job that runs is worth ``left[j]`` times as
    much if it is changed, and ``stays[j]`` times as much if it goes on as it is.
    """

    gain: Floats
    left: Floats
    stays: Floats
    price: float
    charge: Floats

    @classmethod
    def of(cls, case: Case, offers: Offers, anew: Searched) -> _Wishes:
        """Return what the search says: groups share the price of their GPUs as they share their value."""
        gain, left = np.zeros(len(offers.kind)), case.left_by_restart()
        found = anew.found
        by_size: dict[int, list[int]] = {}
        for place, group in enumerate(found.groups):
            by_size.setdefault(len(group), []).append(place)
        for size, places in by_size.items():
            members = np.array([found.groups[place] for place in places])
            gpus = found.gpus[places]
            at = offers.position(gpus)
            alone = offers.alone(members[:, 0])[np.arange(len(members)), at]
            each = (alone if size == 1 else offers.groups_on(members, at))[:, None]
            share = offers.work[members] / offers.work[members].sum(axis=1, keepdims=True)
            cost = (found.price * gpus)[:, None] * share
            gain[members] = np.maximum(0.0, each * share * left[members] - cost)
        return cls(gain=gain, left=left, stays=case.more_by_going_on(), price=found.price, charge=anew.charge)


def _times(offers: Offers, state: State, factor: Floats) -> Offers:
    """Return the offers where the work of jobs that run is worth some times as much."""
    return replace(offers, work=np.where(state.runs > 0, offers.work * factor, offers.work))


def _others(
    state: State,
    offers: Offers,
    wishes: _Wishes,
    kept: dict[Group, Held],
    anew: Searched,
    beside: Beside,
    *,
    least: int,
) -> Iterator[tuple[dict[Group, Place], bool]]:
    """Yield what else could run, and whether that stirs what runs: all as if nothing ran; or some groups go on.

    The others are decided anew. Where all that they lack is less than ``least``, none is given up.
    """
    if len(kept) == len(beside.fixed):
        yield anew.placed, False
        return
    as_new = anew.placed
    if state is not anew.state:  # what runs has changed since, and with it who can stay
        as_new = placed_beside(state, beside.fixed, dict(zip(anew.found.groups, anew.found.gpus.tolist(), strict=True)))
    yield as_new, state.held_after(as_new) != state.held
    changed = _times(offers, state, wishes.left)
    groups = [group for group in kept if group not in beside.fixed]
    lacks = _lacks(_times(offers, state, wishes.stays), wishes, {group: kept[group] for group in groups})
    line = np.argsort(-lacks, kind="stable")
    many = int((lacks > _MATTERS * max(1e-300, wishes.price)).sum())
    if SCALE * lacks[line[:many]].sum() < least:
        many = 0
    full = _gpus_of(kept) == state.case.round_.cluster.total_gpus  # beside all that run nobody finds a GPU
    for count in dict.fromkeys([0, *(int(np.ceil(part * many)) for part in _PARTS)]):
        if count == 0 and full:
            continue
        stays = {groups[place]: kept[groups[place]] for place in sorted(line[count:].tolist())}
        yield _beside(state, changed, beside.fixed | stays, beside.among), count > 0


def _gpus_of(kept: dict[Group, Held]) -> int:
    return sum(gpus for held in kept.values() for _, gpus in held)


def _beside(state: State, offers: Offers, stays: dict[Group, Held], among: Ints | None) -> dict[Group, Place]:
    """Return groups that stay, and all other jobs, or those among some, decided beside them."""
    free = np.ones(len(offers.kind), dtype=np.bool_)
    if among is not None:
        free[:] = False
        free[among] = True
    for group in stays:
        free[list(group)] = False
    return searched(state, offers, stays, np.flatnonzero(free)).placed


def _lacks(offers: Offers, wishes: _Wishes, kept: dict[Group, Held]) -> Floats:
    """Return how much less than its jobs would gain elsewhere each group gains where it is."""
    lacks = np.zeros(len(kept))
    groups, gpus = list(kept), np.array([sum(gpus for _, gpus in held) for held in kept.values()])
    for size in {len(group) for group in groups}:
        places = [place for place, group in enumerate(groups) if len(group) == size]
        members = np.array([groups[place] for place in places])
        at = offers.position(gpus[places])
        alone = offers.alone(members[:, 0])[np.arange(len(members)), at]
        worth = alone if size == 1 else offers.groups_on(members, at)
        paid = gpus[places] * (wishes.price + wishes.charge[members].sum(axis=1))
        lacks[places] = wishes.gain[members].sum(axis=1) - (worth - paid)
    return lacks
