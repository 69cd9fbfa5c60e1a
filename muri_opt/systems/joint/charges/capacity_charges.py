"""What CPUs, memory and quotas cost where they bind, by the groups that a search has found before it knew of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.charges.consumption import Consumption, members_of
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.price_search import Found
from muri_opt.systems.joint.jobs.group_value import Group
from muri_opt.systems.joint.jobs.job_model import Floats

_STEPS = 12
_CALMER = 3
"""Steps after which prices follow what is asked for half as fast."""
_MOST = 4.0
"""How many times as dear something gets in a step, or as cheap."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Capacities:
    """Of what there is only so much: ``left[0]`` GPUs, and ``left[1 + k]`` of the k-th thing taken with them."""

    left: Floats
    consumption: Consumption

    @classmethod
    def of_gpus(cls, gpus: int, jobs: int) -> Capacities:
        """Return limits of nothing but GPUs."""
        return cls(left=np.array([float(gpus)]), consumption=Consumption.nothing(jobs))

    @property
    def of_gpus_alone(self) -> bool:
        """Whether nothing but GPUs is limited."""
        return len(self.left) == 1

    def and_of(self, left: Sequence[float] | Ints, consumption: Consumption) -> Capacities:
        """Return the same with more things of which only so much is left."""
        return Capacities(left=np.append(self.left, left), consumption=self.consumption.and_of(consumption))

    def beside(self, groups: Mapping[Group, int]) -> Capacities:
        """Return what is left beside groups that have so many GPUs each."""
        asked = self.asked(*members_of(groups), np.array([*groups.values()], dtype=np.int64))
        return Capacities(left=self.left - asked, consumption=self.consumption)

    def part(self, count: int, more: float) -> Capacities:
        """Return one of so many equal parts of what there is, ``more`` of them of all but GPUs."""
        parts = np.full(len(self.left), count * more)
        parts[0] = count
        return Capacities(left=self.left / parts, consumption=self.consumption)

    def asked(self, members: Ints, sizes: Ints, gpus: Ints) -> Floats:
        """Return what groups of so many members and GPUs take: of all but GPUs what their members take together."""
        return np.append(gpus.sum(), self.consumption.of_groups(members, sizes).total(gpus))


def within(found: Found, limits: Capacities) -> bool:
    """Return whether there is enough of everything for what was found."""
    return limits.of_gpus_alone or bool((asked_by(found, limits) <= limits.left).all())


def asked_by(found: Found, limits: Capacities) -> Floats:
    """Return how much of everything that is limited the groups take that were found."""
    return limits.asked(*_flat(found.parts), found.gpus)


def capacity_charges(offers: Offers, jobs: Ints, found: Found, limits: Capacities) -> Floats:
    """Return what each job pays for all that it takes with each of its GPUs.

    Prices rise where the groups that were ``found`` among jobs ask for more than is left and fall where they ask for
    less, and those are taken at which the dual of the linear relaxation over these groups is least. Members of a group
    take CPUs and memory at the same time, and count for their tenants' quotas each, so that each pays for its own.
    """
    free = np.ones(len(offers.kind), dtype=np.bool_)
    for some in found.shared:
        free[some] = False
    alone = jobs[free[jobs]]
    value = np.concatenate([*(offers.groups(some) for some in found.shared), offers.alone(alone)])
    usual = found.value / max(1, int(found.gpus.sum()))  # for a GPU, where none is scarce
    members = _flat([*found.shared, alone[:, None]])
    return charges_of(value, offers.float_counts, members, limits, max(found.price, usual / 2))


def lone_charges(offers: Offers, jobs: Ints, found: Found, limits: Capacities) -> Floats:
    """Return the same where all run alone; powers of two of GPUs tell nearly the same prices as all sizes."""
    at = np.append(0, offers.coarse_grid)
    value, usual = offers.alone(jobs).take(at, axis=1), found.value / max(1, int(found.gpus.sum()))
    members = jobs, np.ones(len(jobs), dtype=np.int64)
    return charges_of(value, offers.float_counts[at], members, limits, max(found.price, usual / 2))


def charges_of(value: Floats, counts: Floats, members: tuple[Ints, Ints], limits: Capacities, first: float) -> Floats:
    """Return the same by groups that add ``value[u, k]`` with ``counts[k]`` GPUs, and a ``first`` price of a GPU.

    ``members`` are those of the groups one after another, and how many each has.
    """
    gpus = float(limits.left[0])
    unit = gpus / np.maximum(limits.left[1:], 1.0)  # so that there is as much of everything as there are GPUs
    needs = limits.consumption.of_groups(*members)
    needs = replace(needs, each=needs.each * unit[needs.what])
    return limits.consumption.cost(_prices(value, counts, needs, gpus, first) * unit)


def _prices(value: Floats, counts: Floats, needs: Consumption, left: float, first: float) -> Floats:
    """Return prices of things of which as much is left as of GPUs, by what is asked for at them.

    ``first`` is a price of GPUs to begin with.
    """
    price = np.full(1 + needs.things, first / 2)
    price[0] = first
    best, least = price, np.inf
    every = np.arange(len(value))
    for step in range(_STEPS):
        gain = value - (price[0] + needs.cost(price[1:]))[:, None] * counts
        asked = gain.argmax(axis=1)
        dual = float(price.sum() * left + gain[every, asked].sum())
        if dual < least:
            best, least = price, dual
        given = counts[asked]
        wanted = np.append(given.sum(), needs.total(given)) / max(1.0, left)
        price = price * np.clip(wanted, 1 / _MOST, _MOST) ** (1 / (1 + step / _CALMER))
    return best[1:]


def _flat(parts: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return the members of groups one after another, and how many each has, from arrays with a group in each row."""
    sizes = np.concatenate([np.full(len(part), part.shape[1], dtype=np.int64) for part in parts])
    return np.concatenate([part.ravel() for part in parts]), sizes
