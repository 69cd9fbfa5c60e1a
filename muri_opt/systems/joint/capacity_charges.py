"""What CPUs, memory and quotas cost where they bind, by the groups that a search has found before it knew of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import summed_each
from muri_opt.systems.joint.group_value import Group
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.price_search import Found

_STEPS = 12
_CALMER = 3
"""Steps after which prices follow what is asked for half as fast."""
_MOST = 4.0
"""How many times as dear something gets in a step, or as cheap."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Capacities:
    """Of what there is only so much: ``left[r]``, of which job j takes ``each[j, r]`` with a GPU; GPUs come first."""

    left: Floats
    each: Ints

    @classmethod
    def of_gpus(cls, gpus: int, jobs: int) -> Capacities:
        """Return that nothing but GPUs is limited."""
        return cls(left=np.array([float(gpus)]), each=np.ones((jobs, 1), dtype=np.int64))

    def and_of(self, left: Sequence[float] | Ints, each: Ints) -> Capacities:
        """Return the same with more that is limited: ``each[j, r]`` is what job j takes of it with a GPU."""
        return Capacities(left=np.append(self.left, left), each=np.column_stack([self.each, each]))

    def beside(self, groups: Mapping[Group, int]) -> Capacities:
        """Return what is left beside groups that have so many GPUs each."""
        if not groups:
            return self
        return Capacities(left=self.left - np.array([*groups.values()]) @ self.taken([*groups]), each=self.each)

    def part(self, count: int, more: float) -> Capacities:
        """Return one of so many equal parts of what there is, ``more`` of them of all but GPUs."""
        parts = np.full(len(self.left), count * more)
        parts[0] = count
        return Capacities(left=self.left / parts, each=self.each)

    def taken(self, groups: Sequence[Sequence[int]]) -> Ints:
        """Return what groups take with each GPU: of GPUs one, of all else what their members take together."""
        taken = np.column_stack(summed_each([*self.each.T], groups))
        taken[:, 0] = 1
        return taken


def within(found: Found, limits: Capacities) -> bool:
    """Return whether there is enough of everything for what was found."""
    return len(limits.left) == 1 or bool((found.gpus @ limits.taken(found.groups()) <= limits.left).all())


def capacity_charges(offers: Offers, jobs: Ints, found: Found, limits: Capacities) -> Floats:
    """Return what each job pays for all that it takes with each of its GPUs.

    Prices rise where the groups that were ``found`` among jobs ask for more than is left and fall where they ask for
    less, and those are taken at which the dual of the linear relaxation over these groups is least. Members of a group
    take CPUs and memory at the same time, and count for their tenants' quotas each, so that each pays for its own.
    """
    shared: list[Group] = [tuple(group) for some in found.shared for group in some.tolist()]
    alone = np.setdiff1d(jobs, [job for group in shared for job in group])
    value = np.concatenate([*(offers.groups(some) for some in found.shared), offers.alone(alone)])
    unit = limits.left[0] / np.maximum(limits.left, 1.0)  # so that there is as much of everything as there are GPUs
    taken = limits.taken([*shared, *alone[:, None].tolist()]) * unit
    usual = found.value / max(1, int(found.gpus.sum()))  # for a GPU, where none is scarce
    price = _prices(value, offers.counts, taken, float(limits.left[0]), max(found.price, usual / 2)) * unit
    charge: Floats = limits.each[:, 1:] @ price[1:]
    return charge


def _prices(value: Floats, counts: Ints, needs: Floats, left: float, first: float) -> Floats:
    """Return prices of things of which as much is left, by what is asked for at them, from a price of GPUs on."""
    price = np.full(needs.shape[1], first / 2)
    price[0] = first
    best, least = price, np.inf
    every = np.arange(len(value))
    for step in range(_STEPS):
        gain = value - (needs @ price)[:, None] * counts
        asked = gain.argmax(axis=1)
        dual = float(price.sum() * left + gain[every, asked].sum())
        if dual < least:
            best, least = price, dual
        wanted = counts[asked] @ needs / max(1.0, left)
        price = price * np.clip(wanted, 1 / _MOST, _MOST) ** (1 / (1 + step / _CALMER))
    return best
