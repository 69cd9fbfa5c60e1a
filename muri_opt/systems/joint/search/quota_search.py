"""The joint round within quotas, CPUs and memory: who asks for more than there is pays for its GPUs besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints, rooms_that_fit, unlike
from muri_opt.rounds.anytime import Steps, first_of, last_of
from muri_opt.rounds.sharing_now import Held
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity.free_capacity import summed
from muri_opt.systems.joint.charges.capacity_charges import Capacities, capacity_charges, within
from muri_opt.systems.joint.charges.consumption import Consumption
from muri_opt.systems.joint.charges.quotas import Quotas
from muri_opt.systems.joint.charges.search_terms import NOT_DEARER, Terms, priced_together, terms_of
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.price_search import BLOCK, DEARER, Found, search
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.jobs.job_model import Floats
from muri_opt.systems.joint.nodes.home_room import usable_gpus
from muri_opt.systems.joint.nodes.places import Stay, has_limited_nodes, has_scarce_nodes, place_groups
from muri_opt.systems.joint.nodes.state import State

_STEPS = 8


class _Order(Enum):
    """Which groups are placed first where not all may find room."""

    WORTH = "those worth most for a GPU"
    LARGEST = "the largest"
    LEAST_ROOM = "those that find CPUs and memory for the fewest GPUs"


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchResult:
    """Groups on their nodes, and the search that led there with its charges of quotas."""

    state: State
    placed: dict[Group, Place]
    found: Found
    charge: Floats

    @cached_property
    def value(self) -> int:
        """What they are worth in all, in the state that they were found for."""
        return self.state.value(self.placed)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Search:
    """A price search for jobs ``among`` some beside groups that are ``kept``; ``groups`` are to be improved, if any."""

    state: State
    offers: Offers
    kept: Mapping[Group, Held]
    among: Ints | None
    groups: list[Ints] | None

    @property
    def jobs(self) -> Ints:
        """The jobs that are to be decided."""
        return np.arange(len(self.offers.kind)) if self.among is None else self.among

    @cached_property
    def held(self) -> dict[Group, int]:
        """The GPUs of the groups that are kept."""
        return {group: _gpus(held) for group, held in self.kept.items()}

    @cached_property
    def gpus(self) -> int:
        """The GPUs that are left beside the groups, as far as there are CPUs and memory for any of the jobs."""
        round_ = self.state.case.round_
        left = round_.cluster.total_gpus - sum(self.held.values())
        return left if self.resources.of_gpus_alone else min(left, usable_gpus(round_, self.kept, self.jobs))

    @cached_property
    def resources(self) -> Capacities:
        """The GPUs that are left beside the groups, and the CPUs and memory of which nodes say how much they have."""
        amounts = self.state.case.round_.amounts
        limits = Capacities.of_gpus(int(amounts.G.sum()), len(amounts.c))
        if not self.state.case.models.are_planned:  # plans say themselves what they take
            for need, has in ((amounts.c, amounts.C), (amounts.m, amounts.M)):
                if need.any() and (has < UNLIMITED).any():
                    limits = limits.and_of([float(has.sum(dtype=np.float64))], Consumption.of_one(need))
        return limits.beside(self.held) if self.kept else limits

    def at(self, paid: Floats) -> SearchResult:
        """Return what is found where each job pays so much for a GPU, and for CPUs and memory besides if they bind."""
        found = self._found(paid)
        first = self._better_placed(found, paid)
        if within(found, self.resources):
            return first
        offers = replace(self.offers, charge=paid)
        other = paid + capacity_charges(offers, self.jobs, found, self.resources)
        again = self._better_placed(self._found(other, NOT_DEARER), other)
        return max(first, again, key=lambda one: one.value)

    @cached_property
    def quotas(self) -> Quotas:
        """The quotas that are left beside the groups."""
        return Quotas.of(self.state.case.round_).beside(self.held)

    @cached_property
    def lone_terms(self) -> Terms:
        """The terms that jobs alone tell."""
        return terms_of(self.offers, self.jobs, self.gpus, self.resources, self.quotas)

    @cached_property
    def terms(self) -> Terms:
        """The terms on which jobs share."""
        return priced_together(self.lone_terms, self.offers, self.jobs)

    def at_once(self) -> Steps[SearchResult]:
        """Yield what is found at once on the terms that jobs alone tell.

        Where that asks for more than there is, another search is made at the prices that it tells, and the best is
        taken. Jobs alone come first where quotas bind even for them, as sharing then gains little; on which terms they
        would share is not asked before.
        """
        found, lone = [], self.lone_terms.lone if self.lone_terms.bind_alone else None
        if lone is not None:
            first = self._placed(lone, self.lone_terms.charge)
            yield first
            found.append(replace(first, charge=self.terms.charge))
        terms = self.terms
        shared = self._on(terms, quick=True)
        if shared.found.rough:
            yield _best(*found, shared)
            shared = shared if self.state.case.quick else self._on(terms)
        found.append(shared)
        if within(shared.found, terms.limits):
            return _best(*found)
        yield _best(*found)
        look_at_clock()
        other = capacity_charges(self.offers, self.jobs, shared.found, terms.limits)
        found.append(self._on(replace(terms, charge=other, dearer=NOT_DEARER)))
        if lone is None:
            found.append(self._on(replace(terms, members=1)))
        return _best(*found)

    def _on(self, terms: Terms, *, quick: bool = False) -> SearchResult:
        quick = quick or self.state.case.quick
        offers = terms.of(self.offers)
        found = search(offers, self.gpus, self.among, self.groups, dearer=terms.dearer, quick=quick)
        return self._placed(found, terms.charge)

    def _found(self, paid: Floats, dearer: float = DEARER) -> Found:
        offers = replace(self.offers, charge=paid)
        return search(offers, self.gpus, self.among, self.groups, dearer=dearer)

    def _placed(self, found: Found, paid: Floats, order: _Order = _Order.WORTH) -> SearchResult:
        placed = placed_beside(self.state, self.kept, found, order)
        return SearchResult(state=self.state, placed=placed, found=found, charge=paid)

    def _better_placed(self, found: Found, paid: Floats) -> SearchResult:
        """Return groups placed in the best order where not all may find room."""
        round_, orders = self.state.case.round_, [_Order.WORTH]
        if has_scarce_nodes(round_):
            orders.append(_Order.LARGEST)
        if has_limited_nodes(round_):
            orders.append(_Order.LEAST_ROOM)
        return _best(*[self._placed(found, paid, order) for order in orders])


def _best(*found: SearchResult) -> SearchResult:
    """Return what is worth most, of equal ones the first; of one alone it is not worked out what it is worth."""
    return found[0] if len(found) == 1 else max(found, key=lambda one: one.value)


def searched(
    state: State,
    offers: Offers,
    kept: Mapping[Group, Held],
    among: Ints | None = None,
    groups: list[Ints] | None = None,
) -> SearchResult:
    """Return the last of what is found by :func:`searching`; of a quick search the first."""
    steps = searching(state, offers, kept, among, groups)
    return first_of(steps)[0] if state.case.quick else last_of(steps)


def searching(
    state: State,
    offers: Offers,
    kept: Mapping[Group, Held],
    among: Ints | None = None,
    groups: list[Ints] | None = None,
) -> Steps[SearchResult]:
    """Yield the best placed groups that the price search finds beside those ``kept``, with charges of quotas.

    Where no tenant asks for more than its quota, that is the first search; else the best of several by bisection, and
    of what is found as for very many jobs, for which there is no bisection. ``groups`` are those of another search, to
    be improved instead.
    """
    looked = _Search(state=state, offers=offers, kept=kept, among=among, groups=groups)
    if state.case.quick or len(looked.jobs) > BLOCK:
        return (yield from looked.at_once())
    quotas = looked.quotas
    low, high = np.zeros(len(quotas.left)), np.full(len(quotas.left), np.inf)
    charge = low
    best = this = looked.at(quotas.counted.cost(charge))
    if len(looked.jobs) == 1:  # where it is placed it gets as many GPUs as its quota and the nodes leave it
        return best
    over = quotas.held(this.found.sizes()) > quotas.left
    if not looked.terms.charge.any() and not over.any():
        return best
    yield best
    best = _best(best, (yield from looked.at_once()))
    if not over.any():
        return best
    yield best
    for _ in range(_STEPS - 1):
        low, high = np.where(over, charge, low), np.where(over | (charge == 0), high, charge)
        charge = np.where(np.isfinite(high), (low + high) / 2, np.where(over, _first(offers, charge), charge))
        this = looked.at(quotas.counted.cost(charge))
        over = quotas.held(this.found.sizes()) > quotas.left
        if this.value > best.value:
            yield (best := this)
    return best


def placed_beside(
    state: State, kept: Mapping[Group, Held], found: Found, order: _Order = _Order.WORTH
) -> dict[Group, Place]:
    """Return GPUs of nodes of groups: those kept where they are, those that can go on as they are there, too.

    Where not all may find room, they are placed in an ``order``.
    """
    case = state.case
    wanted = found.sizes()
    sizes = {group: _gpus(held) for group, held in kept.items() if group not in state.fixed} | wanted
    stays = [_stay(state, group, gpus) for group, gpus in sizes.items()]
    groups, gpus, first = [*sizes], [*sizes.values()], None
    if order is _Order.WORTH and has_scarce_nodes(case.round_):
        each = dict(zip(wanted, found.each_gpu(), strict=True))
        first = [each.get(group, 0.0) for group in sizes]
    elif order is _Order.LEAST_ROOM:
        first = [-float(room) for room in _rooms(case.round_, groups)]
    return place_groups(case.round_, case.models, case.worth, groups, gpus, stays, first, state.among, state.fixed)


def placed_as_found(state: State, sizes: Mapping[Group, int]) -> dict[Group, Place]:
    """Return GPUs of nodes of groups that are to have so many each: those that can go on as they are stay."""
    case = state.case
    stays = [_stay(state, group, gpus) for group, gpus in sizes.items()]
    return place_groups(case.round_, case.models, case.worth, [*sizes], [*sizes.values()], stays)


def _rooms(round_: Round, groups: Sequence[Group]) -> list[int]:
    """Return for how many GPUs of the empty cluster there are the CPUs and memory of each group."""
    amounts = round_.amounts
    needs, of = unlike(np.column_stack([summed(amounts.c, groups), summed(amounts.m, groups)]))
    rooms: list[int] = rooms_that_fit(needs, amounts.G, amounts.C, amounts.M).sum(axis=1)[of].tolist()
    return rooms


def _stay(state: State, group: Group, gpus: int) -> Stay:
    """Return where a group goes on as it is, and what it saves by that."""
    at = state.home_of_all(group)
    if at is None or state.gpus_of_homes[at] != gpus:
        return 0, None
    home = state.at_home(group, state.now.homes[at].held)
    return (0, None) if home is None else (1 + sum([state.saved[job] for job in group]), home)


def _gpus(held: Held) -> int:
    return sum([gpus for _, gpus in held])


def _first(offers: Offers, charge: Floats) -> Floats:
    """Return a charge to try where none is known to be enough: twice as much, or a part of what a GPU is worth."""
    most = float((offers.alone(np.arange(len(offers.kind)))[:, 1:] / offers.counts[1:]).max(initial=0.0))
    return np.where(charge > 0, 2 * charge, most / 4)
