"""A bound on the value of any grouping, from prices of jobs and of what they use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import ceil, comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, OddSet, Prices, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import need_of, word_for
from muri_opt.verify.demands import asked_of
from muri_opt.verify.dual_bound import PriceTable, pooled_supply
from muri_opt.verify.muri.able import able_to_share
from muri_opt.verify.muri.job_bound import JobCaps, added
from muri_opt.verify.muri.pair_scan import MONOTONE, Bidders, most_profitable
from muri_opt.verify.muri.periods import Ints
from muri_opt.verify.muri.places import Cheapest
from muri_opt.verify.muri.rules import Sharing
from muri_opt.verify.muri.value import MILLION, Sharers, sharers_of
from muri_opt.verify.sharing_now import RunningJobs

MOST_GROUPS = 3_000_000
"""Groups beyond which they are not all looked at, and no bound is given."""
LISTED = 50_000
"""Groups of one size that are rather listed than looked for."""
_AT_ONCE = 100_000


@recalled
def sharing_bound(round_: Round, rules: Sharing, duals: Prices) -> int | None:
    """Return the largest total value that prices of jobs and of what they use allow any grouping.

    Each job has a price, and so has everything that the nodes have together. Where groups pay up to ``short`` too
    little, a grouping has at most as many groups as jobs, and as GPUs over the smallest job, so that many times
    ``short`` is its profit. Groups with two jobs or more of an odd set of 2k + 1 jobs are at most k, so the price of
    the set counts k times. Every group that the rules allow is looked at; a job that could not run alone is in none.
    Where jobs ask for certain nodes, GPUs have a price for each node, and a group pays the least of where it may be.
    Where there are several priorities, prices are for what groups are worth to the first class, and of the others all
    is granted that they can be worth. Where changes are paid for, a group that may be one that runs is looked at as it
    is, too: it then pays for each of its jobs that goes on (``kept``) and, besides, for its GPUs of each node
    (``home``) where GPUs have one price. Where jobs pay enough one by one (:mod:`.job_bound`), no group is looked at,
    and where there are too many groups their jobs are. ``None`` where a job has no GPUs or no stage times to share.
    """
    asked = asked_of(round_)
    able = {place: round_.jobs[place] for place in able_to_share(round_, rules)}
    supply = {"once": [int(job in able) for job in range(len(round_.jobs))], **pooled_supply(round_)}
    sharers = sharers_of(round_, rules)
    if sharers.pays:
        supply["kept"] = [int(job.state == "running") for job in round_.jobs]
    if asked is not None:
        supply["gpus"] = [node.gpus for node in round_.cluster.nodes]
    elif sharers.pays:
        supply["home"] = [node.gpus for node in round_.cluster.nodes]
    prices = PriceTable.read(duals, supply)
    for place, odd in enumerate(duals.odd_sets):
        _check_odd_set(f"odd_sets[{place}]", odd, len(round_.jobs))
    if any(job.gpus < 1 or job.stage_seconds is None for job in round_.jobs):
        return None
    cheapest = None if asked is None else Cheapest(round_, asked, prices.of["gpus"])
    offers = _Offers.of(round_, sharers, prices, duals.odd_sets, cheapest)
    largest = rules.most_jobs(len(round_.resources))
    profit = offers.profit_of_jobs([*able], largest)
    short = _most_short(round_, rules, able, offers, largest) if profit else 0
    if short is not None:
        smallest = min((job.gpus for job in able.values()), default=1)
        profit = short * min(len(able), round_.cluster.total_gpus // smallest)
    odd_sets = (odd.price * (len(odd.jobs) // 2) for odd in duals.odd_sets)
    first = sharers.classes.weights[0]
    return first * prices.bound([profit, *odd_sets]) + first - 1


def _most_short(round_: Round, rules: Sharing, able: Mapping[int, Job], offers: _Offers, largest: int) -> int | None:
    """Return by how much any group pays too little, at most; ``None`` where there are too many to look at."""
    buckets: dict[int, list[int]] = {}
    for position, job in able.items():
        buckets.setdefault(0 if rules.mixed else job.gpus, []).append(position)
    short = 0
    for members in buckets.values():
        unpaid = offers.most_unpaid(members, largest)
        if unpaid is None:
            return None
        short = max(short, unpaid)
    for group in _placements(round_, rules, able, largest) if offers.sharers.pays else ():
        unpaid = offers.most_unpaid_as_it_is(group)
        if unpaid is None:
            return None
        short = max(short, unpaid)
    return short


class _Placement(NamedTuple):
    """Jobs that run on the same GPUs of nodes, or may do so, and how many of them may be a group that runs."""

    members: list[int]
    sizes: list[int]
    gpus: list[tuple[int, int]]


def _placements(round_: Round, rules: Sharing, able: Mapping[int, Job], largest: int) -> Iterator[_Placement]:
    """Yield the jobs of each placement that may share it: of one GPU count where counts may not be mixed."""
    running, index = RunningJobs(round_), round_.cluster.node_index
    for same in running.alike.values():
        places = [round_.job_index[job.id] for job in same.jobs]
        members = [place for place in places if place in able]
        held = dict(same.where)
        names = [job.id for job in same.jobs]
        sizes = [size for size in range(1, min(largest, len(names)) + 1) if running.may_be(names[:size], held)]
        if not rules.mixed:
            members = [place for place in members if able[place].gpus == sum(held.values())]
        yield _Placement(members, sizes, [(index[node], gpus) for node, gpus in same.where])


def _check_odd_set(field: str, odd: OddSet, jobs: int) -> None:
    if odd.price < 0:
        raise InputError(f"{field}.price", str(odd.price), "a whole number of at least 0")
    if len(odd.jobs) % 2 == 0 or len(set(odd.jobs)) < len(odd.jobs) or not set(odd.jobs) <= set(range(jobs)):
        raise InputError(f"{field}.jobs", str(odd.jobs), f"an odd number of different positions of {jobs} jobs")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Offers:
    """Jobs by position, with what they are worth together and what they pay, over a denominator.

    Job j pays ``pay[j]`` for itself and its GPUs of a quota. A GPU of a group costs ``gpu``, or what is ``cheapest``
    where prices differ by node, and, for each of its jobs, ``per_gpu[j]`` for CPUs and memory. A group with two jobs or
    more of an odd set pays the price of the set. A group that goes on as it is pays ``kept[j]`` for each job and
    ``gpu_of_node[s]`` for each of its GPUs of node s, with the price of the GPU.
    """

    sharers: Sharers
    denominator: int
    gpu: int
    pay: Ints
    per_gpu: Ints
    odd_sets: tuple[OddSet, ...]
    within: NDArray[np.bool_]
    """At ``[s, j]`` whether odd set s has job j."""
    cheapest: Cheapest | None
    kept: Ints
    gpu_of_node: Sequence[int]

    @classmethod
    def of(
        cls,
        round_: Round,
        sharers: Sharers,
        prices: PriceTable,
        odd_sets: tuple[OddSet, ...],
        cheapest: Cheapest | None,
    ) -> _Offers:
        (milli,), (mebibyte,) = prices.of["cpus"], prices.of["memory"]
        gpu = max(prices.of["gpus"], default=0)
        quota = prices.of_tenants(round_)
        pay, per_gpu = [], []
        for job, once in zip(round_.jobs, prices.of["once"], strict=True):
            need = need_of(job)
            pay.append(once + quota.get(job.tenant or "", 0) * job.gpus)
            per_gpu.append(milli * need.milli + mebibyte * need.mebibytes)
        most = max((job.gpus for job in round_.jobs), default=0)
        kept = prices.of.get("kept", (0,) * len(pay))
        nodes = prices.of.get("home", (0,) * len(round_.cluster.nodes))
        # Prices are anybody's: they may be too large for a machine word.
        paid = 4 * max(pay, default=0) + (4 * max(per_gpu, default=0) + gpu + max(nodes, default=0)) * most
        paid += 4 * max(kept, default=0)
        word = word_for(paid + sum(odd.price for odd in odd_sets))
        within = np.zeros((len(odd_sets), len(round_.jobs)), dtype=np.bool_)
        for place, odd in enumerate(odd_sets):
            within[place, list(odd.jobs)] = True
        return cls(
            sharers=sharers,
            denominator=prices.denominator,
            gpu=gpu,
            pay=np.array(pay, dtype=word),
            per_gpu=np.array(per_gpu, dtype=word),
            odd_sets=odd_sets,
            within=within,
            cheapest=cheapest,
            kept=np.array(kept, dtype=word),
            gpu_of_node=[gpu + more for more in nodes] if cheapest is None else prices.of["gpus"],
        )

    def profit_of_jobs(self, members: list[int], largest: int) -> int:
        """Return by how much jobs can add more than they pay, each looked at by itself, in groups of any others."""
        caps = JobCaps.of(self.sharers, members, largest)
        gpus = self.sharers.gpus[members].astype(self.pay.dtype)
        gpu = self.gpu if self.cheapest is None else min(self.gpu_of_node, default=0)
        return caps.profit(self.denominator, gpu, self.pay[members] + gpus * self.per_gpu[members])

    def most_unpaid(self, members: list[int], largest: int) -> int | None:
        """Return by how much the value of any group of the members exceeds what it pays, at most; at least 0."""
        worst, alike = 0, self._alike(members, as_it_is=False)
        for size in range(1, min(largest, len(members)) + 1):
            if size > 1 and _number(len(alike[0]), size) > LISTED and self._can_scan:
                worst = self._scanned(*alike, size, worst)
                continue
            for groups in _blocks(*alike, size):
                if groups is None:
                    return None
                worst = max(worst, self._unpaid(groups))
        return worst

    @property
    def _can_scan(self) -> bool:
        """Whether no group has a shorter period than some of its jobs."""
        sharing = self.sharers.sharing
        return sharing.run == "lock-step" and sharing.pattern in MONOTONE and not sharing.worst

    def _scanned(self, jobs: Ints, count: Ints, size: int, worst: int) -> int:
        """Return the same of groups of one size, without looking at each of them (:mod:`.pair_scan`).

        A group pays for the GPUs of its largest job: groups of jobs with no more GPUs than some number are looked at as
        if they had so many. Those that have fewer are in truth worth more, and pay less: they are looked at by theirs.
        """
        places = np.repeat(jobs, np.minimum(count, size))
        ranks = np.argsort(self.sharers.stages[places].astype(np.float64), axis=1, kind="stable")
        places = places[np.lexsort(ranks.T)]  # jobs whose longest stages are the same are looked at together
        asked = self.sharers.gpus[places].astype(np.int64)
        for gpus in np.unique(asked).tolist():
            some = places[asked <= gpus]
            bidders = self._bidders(some, gpus, size)
            found = most_profitable(bidders, size, worst / self.denominator)
            if len(found.groups):
                worst = max(worst, self._unpaid(some[found.groups]))
            if found.conceded:
                worst = max(worst, ceil((found.conceded + bidders.margin) * self.denominator))
        return worst

    def _bidders(self, places: Ints, gpus: int, size: int) -> Bidders:
        """Return jobs as members of groups of so many jobs on so many GPUs."""
        sharers, sharing = self.sharers, self.sharers.sharing
        adds = added(sharers, places) / float(sharing.slowdown(size))
        if sharing.objective == "efficiency":
            adds *= sharers.gpus[places].astype(np.float64) / gpus
        pays = (self.pay[places] + gpus * self.per_gpu[places]).astype(np.float64) / self.denominator
        gpu = self.gpu if self.cheapest is None else min(self.gpu_of_node, default=0)
        lost = MILLION if sharing.objective == "gpu-time" else 0
        horizon, left = sharing.horizon or 1, np.ones(len(places))
        if sharers.pays:
            left = np.maximum(0, horizon - sharers.restart[places]).astype(np.float64) / horizon
        # A group that keeps a part of its value loses only that part of what its GPUs cost.
        least = float(left.min(initial=1.0)) if lost else 1.0
        return Bidders(
            pattern=sharing.pattern,
            stages=sharers.stages[places].astype(np.float64),
            adds=adds,
            pays=pays,
            left=left,
            fixed=gpus * (lost * least + gpu / self.denominator),
            exact=self.cheapest is None and not self.odd_sets and least == 1.0,
        )

    def most_unpaid_as_it_is(self, placement: _Placement) -> int | None:
        """Return the same of groups that go on as they are."""
        worst, gpus = 0, sum(given for _, given in placement.gpus)
        cost = sum(self.gpu_of_node[node] * given for node, given in placement.gpus)
        alike = self._alike(placement.members, as_it_is=True)
        for size in placement.sizes if placement.members else ():
            for groups in _blocks(*alike, size):
                if groups is None:
                    return None
                whole = groups[self.sharers.gpus[groups].max(axis=1, initial=0) == gpus]
                paid = self.pay[whole].sum(axis=1) + self.kept[whole].sum(axis=1)
                paid = paid + gpus * self.per_gpu[whole].sum(axis=1) + cost
                worst = max(worst, self._above(self.sharers.of_class(whole, 0), whole, paid))
        return worst

    def _alike(self, members: list[int], *, as_it_is: bool) -> tuple[Ints, Ints]:
        """Return one job of each kind, and how many there are of it."""
        kinds = [(*self._kind(job), int(self.kept[job]) if as_it_is else 0) for job in members]
        count = Counter(kinds)
        first = dict(zip(reversed(kinds), reversed(members), strict=True))
        jobs = np.array([first[kind] for kind in count], dtype=np.int64)
        return jobs, np.array(list(count.values()), dtype=np.int64)

    def _kind(self, job: int) -> tuple[object, ...]:
        """Return all that tells a job from others: of jobs alike in it, any may stand for another."""
        sharers = self.sharers
        rank = (sharers.alone, sharers.weight, sharers.classes.of_job, sharers.restart)
        traits = (sharers.gpus, *rank, self.pay, self.per_gpu)
        place = 0 if self.cheapest is None else self.cheapest.kind[job]
        times = sharers.stages[job].tolist()
        model = -1 if sharers.free is None else int(sharers.free.model[job])
        return (*(int(trait[job]) for trait in traits), place, model, *times, self.within[:, job].tobytes())

    def _unpaid(self, groups: Ints) -> int:
        gpus = self.sharers.gpus[groups].max(axis=1).astype(self.pay.dtype)
        cost = gpus * self.gpu
        if self.cheapest is not None:
            told = self._told(self.cheapest, groups, gpus)
            together = np.array([one is not None for one in told], dtype=np.bool_)
            groups, gpus = groups[together], gpus[together]
            cost = np.array([one for one in told if one is not None], dtype=self.pay.dtype)
        paid = self.pay[groups].sum(axis=1) + gpus * self.per_gpu[groups].sum(axis=1) + cost
        return self._above(self.sharers.changed(groups, 0), groups, paid)

    def _above(self, value: Ints, groups: Ints, paid: Ints) -> int:
        """Return by how much a value is above what its group pays with the prices of odd sets, at most; at least 0."""
        scale = self.denominator
        for odd, has in zip(self.odd_sets, self.within, strict=True):
            paid[has[groups].sum(axis=1) >= 2] += odd.price
        word = word_for((int(np.abs(value).max(initial=0)) + 1) * scale + int(paid.max(initial=0)))
        return int((value.astype(word) * scale - paid.astype(word)).max(initial=0))

    def _told(self, cheapest: Cheapest, groups: Ints, gpus: Ints) -> list[int | None]:
        """Return what the GPUs of each group cost at least, ``None`` where its jobs can be nowhere together."""
        looks = np.column_stack(
            [np.sort(np.array(cheapest.kind, dtype=np.int64)[groups], axis=1), gpus.astype(np.int64)]
        )
        different, of = np.unique(looks, axis=0, return_inverse=True)
        costs = [cheapest.cost(frozenset(kinds), size) for *kinds, size in different.tolist()]
        return [costs[one] for one in of.reshape(-1).tolist()]


def _blocks(jobs: Ints, count: Ints, size: int) -> Iterator[Ints | None]:
    """Yield all groups of so many jobs, of each kind one as often as there are; ``None`` where they are too many."""
    groups = _groups(len(count), size)
    if groups is None:
        yield None
        return
    for block in np.array_split(groups, len(groups) // _AT_ONCE + 1):
        yield jobs[block[_within(block, count)]]


def _number(kinds: int, size: int) -> int:
    """Return how many groups of so many jobs there are of some kinds."""
    return comb(kinds + size - 1, size)


def _groups(kinds: int, size: int) -> Ints | None:
    total = _number(kinds, size)
    if total > MOST_GROUPS:
        return None
    flat = (kind for group in combinations_with_replacement(range(kinds), size) for kind in group)
    return np.fromiter(flat, dtype=np.int64, count=total * size).reshape(total, size)


def _within(groups: Ints, count: Ints) -> NDArray[np.bool_]:
    """Return which groups take no kind more often than there are jobs of it."""
    used = (groups[:, :, None] == groups[:, None, :]).sum(axis=2)
    return np.asarray((used <= count[groups]).all(axis=1))
