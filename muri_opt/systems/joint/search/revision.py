"""The joint round where jobs run: what runs goes on unless a change pays.

The round is decided once as if nothing ran, by what work is worth to those who have yet to start: that is the same
whoever runs, and so it is not looked at again. It says what a GPU costs, and what each job would gain beyond its GPUs.
Groups that run and gain less than their jobs would, restarts paid, are given up, and their jobs and those that wait are
decided anew beside the others. That is looked at again as if it ran already, until nothing is gained: so a decision
that is decided again at once stays as it is. Of very many jobs those that run are changed only for a hundredth of the
value.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.anytime import Steps, last_of
from muri_opt.rounds.sharing_now import Held
from muri_opt.systems.joint.charges.quotas import within_quotas
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.running_groups import running_groups
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.jobs.job_model import Floats
from muri_opt.systems.joint.jobs.worth import SCALE
from muri_opt.systems.joint.nodes.home_room import within_room
from muri_opt.systems.joint.nodes.state import State
from muri_opt.systems.joint.search.quota_search import SearchResult, placed_beside, searched, searching

_LOOKS = 8
_PARTS = (1.0, 0.5, 0.25)
"""Which part of the groups that gain too little are given up, those that gain least first."""
_MATTERS = 1e-9
_MANY = 400
"""Jobs beyond which what runs is changed only where that adds a part of the value."""
_PART_OF_VALUE = 100


Places = dict[Group, Place]
"""GPUs of nodes of all groups that are to run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """Groups that are ``fixed`` with their GPUs, and the jobs ``among`` which the others are, ``None`` for all."""

    fixed: dict[Group, Held]
    among: Ints | None

    @classmethod
    def nothing(cls) -> Beside:
        """Return that all jobs are to be decided, beside none."""
        return cls(fixed={}, among=None)


def revising(state: State, offers: Offers, beside: Beside, groups: list[Ints] | None = None) -> Steps[Places]:
    """Yield GPUs of nodes of all groups that are to run, those that are fixed among them, ever better.

    ``groups`` are those of another search, to begin with.
    """
    case = state.case
    many = len(case.models) > _MANY
    look = _Look(state, offers, beside)
    if look.kept_beside and (many or case.quick):
        yield look.first
    steps = searching(state, offers, beside.fixed, beside.among)
    anew = last_of(steps) if look.kept_beside else (yield from _each_placed(steps))
    if groups is not None:
        anew = max(anew, searched(state, offers, {}, None, groups), key=lambda one: one.value)
    if many and int(state.runs.sum()) == sum(map(len, beside.fixed)):
        return anew.placed
    fresh = _FreshSearch.of(offers, anew, case.left_by_restart())
    chosen: Places = {}
    reached = -1
    for _ in range(_LOOKS):
        best, state = look.at_home, look.state
        value = most = state.value(best)
        matters = value // _PART_OF_VALUE if many else 0
        for placed, changes in _others(look, fresh, anew, least=matters):
            worth = state.value(placed)
            # a restart can be too short to be seen in the value: of equal ones that is taken which changes fewer jobs
            changes_fewer = worth == most > value and state.going_on(placed) > state.going_on(best)
            if (worth > most or changes_fewer) and (not changes or worth > value + matters):
                best, most = placed, worth
                if not many or most > state.value(look.first):
                    yield best if most > reached else chosen
        then = state.after(best)
        if most <= value or then.held == state.held:
            return best if most > reached else chosen
        chosen, look = best, replace(look, state=then)
        reached = then.value(best)
    return chosen


def _each_placed(steps: Steps[SearchResult]) -> Generator[Places, None, SearchResult]:
    """Yield where what is found is placed, and return what is found last."""
    while True:
        try:
            yield next(steps).placed
        except StopIteration as end:
            found: SearchResult = end.value
            return found


@dataclass(frozen=True, eq=False)
class _Look:
    """What runs, and what is decided beside it before anything is given up."""

    state: State
    offers: Offers
    beside: Beside

    @cached_property
    def going_on(self) -> Offers:
        """What jobs offer if those that run go on."""
        return _times(self.offers, self.state, self.state.case.more_by_going_on())

    @cached_property
    def changed(self) -> Offers:
        """What jobs offer if those that run are changed."""
        return _times(self.offers, self.state, self.state.case.left_by_restart())

    @cached_property
    def kept(self) -> dict[Group, Held]:
        """The groups that run and can go on, those that are fixed first."""
        round_ = self.state.case.round_
        fixed = {job for group in self.beside.fixed for job in group}
        others = int(self.state.runs.sum()) > len(fixed)
        running = running_groups(round_, self.going_on, self.state.now) if others else {}
        able = {
            group: held
            for group, held in running.items()
            if fixed.isdisjoint(group) and self.state.at_home(group, held) is not None
        }
        if not able:  # those that are fixed were given their places already
            return self.beside.fixed
        return within_room(self.state, within_quotas(round_, self.beside.fixed | able))

    @property
    def kept_beside(self) -> int:
        """How many groups run and can go on beside those that are fixed."""
        return len(self.kept) - len(self.beside.fixed)

    @cached_property
    def at_home(self) -> Places:
        """These groups alone."""
        homes = ((group, self.state.at_home(group, held)) for group, held in self.kept.items())
        return {group: home for group, home in homes if home is not None}

    @property
    def is_full(self) -> bool:
        """Whether nobody finds a GPU beside them."""
        gpus = sum(gpus for held in self.kept.values() for _, gpus in held)
        return gpus == self.state.case.round_.cluster.total_gpus

    @cached_property
    def filled(self) -> Places:
        """These groups with all other jobs decided beside them."""
        return self.at_home if self.is_full else self.with_others(self.kept)

    @cached_property
    def first(self) -> Places:
        """The better of both: where all stay, others only add to it."""
        if self.at_home.items() <= self.filled.items():
            return self.filled
        return max(self.filled, self.at_home, key=self.state.value)

    def with_others(self, stays: dict[Group, Held]) -> Places:
        """Return groups that stay, and all other jobs, or those among some, decided beside them."""
        free = np.ones(len(self.offers.kind), dtype=np.bool_)
        if self.beside.among is not None:
            free[:] = False
            free[self.beside.among] = True
        free[[job for group in stays for job in group]] = False
        return searched(self.state, self.changed, stays, np.flatnonzero(free)).placed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FreshSearch:
    """What a search finds as if nothing ran: job j gains ``gain[j]`` beyond the price of its GPUs.

    Of one that runs that is less by its restart. ``price`` is that of a GPU, ``charge[j]`` what job j pays besides.
    """

    gain: Floats
    price: float
    charge: Floats

    @classmethod
    def of(cls, offers: Offers, anew: SearchResult, left: Floats) -> _FreshSearch:
        """Return what the search says: groups share the price of their GPUs as they share their value.

        A job that runs keeps the part ``left[j]`` of its value if it is changed.
        """
        gain = np.zeros(len(offers.kind))
        found, groups = anew.found, anew.found.groups()
        by_size: dict[int, list[int]] = {}
        for place, group in enumerate(groups):
            by_size.setdefault(len(group), []).append(place)
        for places in by_size.values():
            members = np.array([groups[place] for place in places])
            gpus = found.gpus[places]
            at = offers.position(gpus)
            each = offers.groups_on(members, at)[:, None]
            share = offers.work[members] / offers.work[members].sum(axis=1, keepdims=True)
            cost = (found.price * gpus)[:, None] * share
            gain[members] = np.maximum(0.0, each * share * left[members] - cost)
        return cls(gain=gain, price=found.price, charge=anew.charge)


def _times(offers: Offers, state: State, factor: Floats) -> Offers:
    """Return the offers where the work of jobs that run is worth some times as much."""
    return replace(offers, work=np.where(state.runs > 0, offers.work * factor, offers.work))


def _others(look: _Look, fresh: _FreshSearch, anew: SearchResult, *, least: int) -> Iterator[tuple[Places, bool]]:
    """Yield what else could run, and whether that changes what runs: all as if nothing ran; or some groups go on.

    The others are decided anew. Where all that they lack is less than ``least``, none is given up.
    """
    if not look.kept_beside:
        yield anew.placed, False
        return
    state, fixed = look.state, look.beside.fixed
    as_new = anew.placed
    if state is not anew.state:  # what runs has changed since, and with it who can stay
        as_new = placed_beside(state, fixed, anew.found)
    yield as_new, state.held_after(as_new) != state.held
    groups = [group for group in look.kept if group not in fixed]
    lacks = _lacks(look.going_on, fresh, {group: look.kept[group] for group in groups})
    line = np.argsort(-lacks, kind="stable")
    many = int((lacks > _MATTERS * max(1e-300, fresh.price)).sum())
    if SCALE * lacks[line[:many]].sum() < least:
        many = 0
    for count in dict.fromkeys([0, *(int(np.ceil(part * many)) for part in _PARTS)]):
        if count:
            stays = {groups[place]: look.kept[groups[place]] for place in sorted(line[count:].tolist())}
            yield look.with_others(fixed | stays), True
        elif not look.is_full:
            yield look.filled, False


def _lacks(offers: Offers, fresh: _FreshSearch, kept: dict[Group, Held]) -> Floats:
    """Return how much less than its jobs would gain elsewhere each group gains where it is."""
    lacks = np.zeros(len(kept))
    groups, gpus = list(kept), np.array([sum(gpus for _, gpus in held) for held in kept.values()])
    for size in {len(group) for group in groups}:
        places = [place for place, group in enumerate(groups) if len(group) == size]
        members = np.array([groups[place] for place in places])
        at = offers.position(gpus[places])
        worth = offers.groups_on(members, at)
        paid = gpus[places] * (fresh.price + fresh.charge[members].sum(axis=1))
        lacks[places] = fresh.gain[members].sum(axis=1) - (worth - paid)
    return lacks
