"""Prices of a GPU and of every job that bound a joint round of any size, by column generation over classes of jobs.

The linear program over all groups is solved for jobs of the same model, those of similar worth together: columns are
priced for all groups of models at once, and never listed. Then every job has as its price what it could gain at most in
any group, model by model, so that no group of jobs is worth more than its jobs and GPUs cost.

What runs is worth its full worth only where it goes on as it is: in columns of its own, which are known job by job
(:mod:`.home_columns`). In groups of models, and with other GPUs, it is worth what a restart leaves of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from muri_opt.rounds import Budget, LinearDuals, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.group_value import Group
from muri_opt.systems.joint.jobs.job_model import Floats
from muri_opt.systems.joint.jobs.worth import SCALE
from muri_opt.systems.joint.program.alike import Alike
from muri_opt.systems.joint.program.home_columns import HomeColumns
from muri_opt.systems.joint.program.rounded_columns import rounded

_BANDS = 4
"""Bands of worth among the jobs of a class that wait, and among those that run."""
_TURNS = 40
"""How often columns are taken up at most."""
_NEW = 300
"""Columns that are taken up in a turn."""
_CLOSE = 2e-3
"""Columns that are worth less than this part of the largest price are not taken up."""
_AT_ONCE = 1_000_000
"""Numbers that are compared together."""
_WORK = 2e-6
"""Units of work of a column of the program, each time it is solved."""


class Priced(NamedTuple):
    """Prices of a round, and the groups of jobs that the program over classes asks for, with their GPUs."""

    duals: LinearDuals
    groups: dict[Group, int]

    def shared(self) -> list[Ints]:
        """Return the groups of several jobs, in rows by how many they have."""
        found: dict[int, list[Group]] = {}
        for group in self.groups:
            if len(group) > 1:
                found.setdefault(len(group), []).append(group)
        return [np.array(groups) for groups in found.values()]


class Column(NamedTuple):
    """Bands of the members, value and GPUs of a column, and how often it can be taken, if that is limited.

    It is of jobs that go on as they are if there are ``homes``: one of these groups.
    """

    bands: Ints
    value: float
    gpus: float
    most: float = np.inf
    homes: tuple[int, ...] = ()


def class_prices(round_: Round, offers: Offers, changed: Floats, budget: Budget) -> Priced | None:
    """Return prices of a GPU and of every job, with the classes that show that they are enough.

    An iteration of job j is worth ``changed[j]`` if it restarts. ``None`` where there are too many groups of models to
    look at.
    """
    alike = Alike.read(offers)
    if alike is None:
        return None
    loses = bool((changed < offers.work).any())
    homes = HomeColumns.of(round_, offers) if loses else HomeColumns.none(offers, [])
    work = changed.copy()
    work[homes.crowded] = offers.work[homes.crowded]
    moved = replace(offers, work=work) if loses else offers
    master = Master.of(moved, offers.work, alike, homes, round_.cluster.total_gpus)
    price, bands = master.solved(budget)
    job = homes.charged(_job_prices(moved, alike, master, price, bands), price)
    duals = LinearDuals(
        denominator=1,
        multipliers={
            "gpus": (ceil(price * SCALE),),
            "once": tuple(ceil(each * SCALE) for each in job.tolist()),
            "alike": tuple((alike.of + 1).tolist()),
        },
    )
    return Priced(duals=duals, groups=rounded(master))


@dataclass(kw_only=True, eq=False)
class Master:
    """The program over the known columns: bands of worth in each class, a row each, and a row for the GPUs.

    ``offers`` are those of jobs that restart if they run; ``homes`` are the groups that need not.
    """

    offers: Offers
    alike: Alike
    homes: HomeColumns
    gpus: int
    band: Ints
    """Of each job."""
    number: Ints
    """Jobs of each band."""
    work: Floats
    """Worth of an iteration of each band, as a mean."""
    inside: list[Ints]
    """Bands of each class."""
    entries: list[Column] = field(default_factory=list)
    amounts: Floats = field(default_factory=lambda: np.zeros(0))
    """How often the program takes each column."""

    @classmethod
    def of(cls, offers: Offers, fresh: Floats, alike: Alike, homes: HomeColumns, gpus: int) -> Master:
        """Return the program with all columns of one job; ``fresh`` is what those that go on as they are are worth."""
        keys = np.where(alike.of >= 0, alike.of, alike.of.max(initial=-1) + 1 + offers.kind)
        runs = np.zeros(len(keys), dtype=np.bool_)
        runs[homes.members[homes.members >= 0]] = True
        band = np.zeros(len(keys), dtype=np.int64)
        inside: list[Ints] = [np.zeros(0, dtype=np.int64)] * (int(alike.of.max(initial=-1)) + 1)
        first = 0
        for key in np.unique(keys).tolist():
            jobs, begin = np.flatnonzero(keys == key), first
            for some in (jobs[~runs[jobs]], jobs[runs[jobs]]):
                for part in _divided(some, fresh):
                    band[part], first = first, first + 1
            if key < len(inside):
                inside[key] = np.arange(begin, first)
        number = np.bincount(band, minlength=first)
        work = np.bincount(band, weights=offers.work, minlength=first) / number
        found = cls(
            offers=offers, alike=alike, homes=homes, gpus=gpus, band=band, number=number, work=work, inside=inside
        )
        found._take_alone()
        return found

    def _take_alone(self) -> None:
        """Take up the columns of one job: of several models in a band the fastest counts; jobs that go on as a mean."""
        rate = np.zeros((len(self.number), len(self.offers.counts)))
        np.maximum.at(rate, self.band, self.offers.rate[self.offers.kind])
        for band, at in np.argwhere(rate > 0).tolist():
            value = self.work[band] * rate[band, at]
            self.entries.append(Column(np.array([band]), value, float(self.offers.counts[at])))
        homes, alone = self.homes, self.homes.alone
        both = np.column_stack([self.band[homes.members[alone, 0]], homes.gpus[alone]])
        alike, of = np.unique(both, axis=0, return_inverse=True)
        count = np.bincount(of.ravel(), minlength=len(alike))
        total = np.bincount(of.ravel(), weights=homes.value[alone], minlength=len(alike))
        for place, ((band, gpus), most, value) in enumerate(
            zip(alike.tolist(), count.tolist(), total.tolist(), strict=True)
        ):
            those = tuple(alone[of.ravel() == place].tolist())
            self.entries.append(Column(np.array([band]), value / most, float(gpus), float(most), those))

    def solved(self, budget: Budget) -> tuple[float, Floats]:
        """Return the price of a GPU and of each band, when no column is worth more, or turns or budget are over."""
        if not self.entries:  # no job can have any GPUs of the cluster
            return 0.0, np.zeros(len(self.number))
        price, bands = self._solve()
        for _ in range(_TURNS):
            if budget.over() or not self._take_up(price, bands) + self._take_up_at_home(price, bands):
                break
            price, bands = self._solve()
            budget.spend(_WORK * len(self.entries))
        return price, bands

    def _solve(self) -> tuple[float, Floats]:
        from scipy.optimize import linprog
        from scipy.sparse import csc_matrix

        sizes = [len(one.bands) for one in self.entries]
        column = np.repeat(np.arange(len(sizes)), sizes)
        row = np.concatenate([one.bands for one in self.entries])
        value = np.array([one.value for one in self.entries])
        use = np.array([one.gpus for one in self.entries])
        most = np.array([[0.0, one.most] for one in self.entries])
        rows, columns = len(self.number), len(sizes)
        matrix = csc_matrix(
            (
                np.concatenate([np.ones(len(row)), use]),
                (np.concatenate([row, np.full(columns, rows)]), np.concatenate([column, np.arange(columns)])),
            ),
            shape=(rows + 1, columns),
        )
        scale = max(1e-300, float(value.max()))
        held = np.append(self.number, self.gpus)
        answer = linprog(-value / scale, A_ub=matrix, b_ub=held, bounds=most, method="highs-ds")
        self.amounts = answer.x
        duals = np.maximum(0.0, -answer.ineqlin.marginals) * scale
        return float(duals[-1]), duals[:-1]

    def _take_up(self, price: float, bands: Floats) -> int:
        """Take up columns that are worth more than they cost; return how many."""
        groups, offers = self.alike.groups, self.offers
        if not len(groups):
            return 0
        profit = -price * np.broadcast_to(offers.counts, self.alike.rate.shape).astype(np.float64)
        best = self.best_bands(bands)
        for member in range(groups.shape[1]):
            there = groups[:, member] >= 0
            profit[there] += best(groups[there, member], self.alike.rate[there])[0]
        profit[self.alike.rate <= 0] = -np.inf
        at = profit.argmax(axis=1)
        most = profit[np.arange(len(groups)), at]
        line = np.argsort(-most, kind="stable")[:_NEW]
        line = line[most[line] > _CLOSE * max(price, float(bands.max(initial=0.0)))]
        for place in line.tolist():
            members = groups[place][groups[place] >= 0]
            rate = self.alike.rate[place, at[place]]
            chosen = best(members, np.full((len(members), 1), rate))[1][:, 0]
            value = float(self.work[chosen].sum() * rate)
            self.entries.append(Column(chosen, value, float(offers.counts[at[place]])))
        return len(line)

    def _take_up_at_home(self, price: float, bands: Floats) -> int:
        """Take up groups that go on and are worth more than they cost; return how many. None can be taken twice."""
        homes = self.homes
        if not len(homes):
            return 0
        profit = homes.value - price * homes.gpus - homes.paid(bands[self.band])
        profit[[place for one in self.entries for place in one.homes]] = 0.0
        line = np.argsort(-profit, kind="stable")[:_NEW]
        line = line[profit[line] > _CLOSE * max(price, float(bands.max(initial=0.0)))]
        for place in line.tolist():
            members = homes.members[place]
            own = self.band[members[members >= 0]]
            self.entries.append(Column(own, float(homes.value[place]), float(homes.gpus[place]), 1.0, (place,)))
        return len(line)

    def best_bands(self, bands: Floats) -> Callable[[Ints, Floats], tuple[Floats, Ints]]:
        """Return a function that says what members of classes gain at most at some rates, and which bands do."""
        width = max(len(some) for some in self.inside)
        table = np.array([np.append(some, np.full(width - len(some), some[0])) for some in self.inside])

        def best(classes: Ints, rate: Floats) -> tuple[Floats, Ints]:
            own = table[classes]
            gain = self.work[own[:, 0]][:, None] * rate - bands[own[:, 0]][:, None]
            chosen = np.repeat(own[:, :1], rate.shape[1], axis=1)
            for column in range(1, width):
                other = self.work[own[:, column]][:, None] * rate - bands[own[:, column]][:, None]
                better = other > gain
                chosen = np.where(better, own[:, column, None], chosen)
                gain = np.maximum(gain, other)
            return gain, chosen

        return best


def _divided(jobs: Ints, by: Floats) -> list[Ints]:
    """Return jobs in bands of nearly one size, those worth least first; no band is empty."""
    line = jobs[np.argsort(by[jobs], kind="stable")]
    bands = min(_BANDS, len(jobs))
    return [line[np.arange(len(line)) * bands // len(line) == band] for band in range(bands)]


def _job_prices(offers: Offers, alike: Alike, master: Master, price: float, bands: Floats) -> Floats:
    """Return what each job gains at most, alone or in any group, if the others of the group have their prices."""
    counts = offers.counts.astype(np.float64)
    jobs = np.arange(len(offers.kind))
    found: Floats = np.maximum(0.0, (offers.alone(jobs) - price * counts).max(axis=1))
    groups, rate = alike.groups, alike.rate
    if not len(groups):
        return found
    best = master.best_bands(bands)
    gain = np.zeros((*groups.shape, rate.shape[1]))
    for member in range(groups.shape[1]):
        there = groups[:, member] >= 0
        gain[there, member] = best(groups[there, member], rate[there])[0]
    able = rate > 0
    for one in range(len(master.inside)):
        mine = groups == one
        rows = np.flatnonzero(mine.any(axis=1))
        times = mine[rows].sum(axis=1)[:, None]
        others = np.where(mine[rows][:, :, None], 0.0, gain[rows]).sum(axis=1)
        allowed = (price * counts - others) / times
        here = able[rows]
        if not here.any():
            continue  # no number of GPUs is for all members of a group
        own = np.flatnonzero(alike.of == one)
        slope, paid = rate[rows][here], allowed[here]
        work = offers.work[own]
        gains = _most(work, slope, paid)
        found[own] = np.maximum(found[own], gains)
        after = _most(slope, work, found[own])
        spread = np.zeros(here.shape)
        spread[here] = after
        gain[rows] = np.where(mine[rows][:, :, None], spread[:, None, :], gain[rows])
    return found


def _most(work: Floats, slope: Floats, paid: Floats) -> Floats:
    """Return the largest of work x slope - paid for each work."""
    found = np.empty(len(work))
    step = max(1, _AT_ONCE // len(slope))
    for start in range(0, len(work), step):
        found[start : start + step] = (work[start : start + step, None] * slope - paid).max(axis=1)
    return found
