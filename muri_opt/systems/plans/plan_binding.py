"""Why a job with plans does not start beside what runs: all rules that bind, in words, and who holds what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text, listed
from muri_opt.rounds.decision import WaitingReason
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.capacity.barred_nodes import BarredNodes
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.lacking_amounts import holders_text
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.capacity.quota_text import short_tenants
from muri_opt.systems.plans.allocation import sizes
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.unfit_plans import unfit_plans

Bools = NDArray[np.bool_]


_Places = frozenset[tuple[int, ...]]
"""Kinds of nodes, each with the number of a home in it or -1."""


class PlanBinding(NamedTuple):
    """The first rule that binds, all of them in words, and what would help."""

    reason: WaitingReason
    detail: str
    remedy: str


class _Wants(NamedTuple):
    """The smallest option of a job (parts; GPUs, milli-CPUs and MiB of each), and the places of it and of all.

    Of unequal parts the smaller ones count; ``gpus`` are those of all parts. ``apart`` says that all parts of the
    smallest option are in one of several places.
    """

    size: tuple[int, ...]
    gpus: int
    places: _Places
    smallest: _Places
    apart: bool


def plan_holders(round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> Holders:
    """Return who holds what where option o runs in one part on each node of ``chosen[o]``."""
    some = np.fromiter(chosen, dtype=np.int64, count=len(chosen))
    counts = [len(nodes) for nodes in chosen.values()]
    group = np.repeat(np.arange(len(some), dtype=np.int64), counts)
    held = options.parts[some[group]]
    ends = np.cumsum(counts, dtype=np.int64)
    for place, o in enumerate(chosen) if options.larger else ():
        if o in options.larger:
            start = int(ends[place]) - counts[place]
            held[start : start + options.larger[o].number] += np.array(options.more(o))
    node = np.concatenate([np.zeros(0, dtype=np.int64), *chosen.values()])
    jobs = [(job,) for job in options.job[some].tolist()]
    return Holders.of_amounts(round_, jobs, group, node, (held[:, 0], held[:, 1], held[:, 2]))


def _widest(places: _Places) -> _Places:
    """Return the same nodes by fewer places: a home is inside its kind of nodes."""
    if len(places) == 1:
        return places
    return frozenset(place for place in places if place[1] < 0 or (place[0], -1) not in places)


class PlanBindingRules:
    """The rules that keep jobs from starting beside what runs; ``free`` is what that leaves.

    Jobs whose smallest options need the same, on the same nodes and of the same quotas, are looked at once, and of
    those with all the same options it is known what the smallest are.
    """

    def __init__(self, round_: Round, options: PlanOptions, free: FreeNodes, holders: Holders) -> None:
        self._round, self._options, self._free, self._holders = round_, options, free, holders
        self._total, self._now = round_.cluster.total_gpus, int(free.gpus.sum())
        self._sets, self._barred = node_sets(round_), BarredNodes(round_)
        self._types = [node.gpu_type for node in round_.cluster.nodes]
        self._typed = any(gpu_type is not None for gpu_type in self._types)
        self._known: dict[tuple[object, ...], PlanBinding] = {}
        self._alike: dict[tuple[object, ...], PlanBinding] = {}
        self._first: list[int] = options.first.tolist()
        self._guaranteed: list[bool] = options.guaranteed.tolist()
        self._asks: list[int] = round_.amounts.g.tolist()
        self._tenant: list[int] = round_.amounts.tenant.tolist()
        self._reached: dict[_Places, Bools] = {}
        self._largest: dict[tuple[str, bytes], list[tuple[str, int]]] = {}
        self._short: dict[tuple[_Places, int], str] = {}

    def of(self, job: int) -> PlanBinding:
        """Return what binds for a job that waits."""
        begin, end = self._first[job], self._first[job + 1]
        if begin == end:
            return self._found(job, None, able=False)
        beside = (
            (self._asks[job], self._tenant[job]) if self._guaranteed[job] else None,
            None if self._sets is None else int(self._sets.kind[job]),
            self._types_of(job) if self._typed else None,
        )
        key = tuple(self._options.demand[begin:end]), *beside
        if key not in self._known:
            mine = range(begin, end)
            wants = None if any(self._free.fits(o) for o in mine) else self._wants(job, mine)
            if (wants, *beside) not in self._alike:
                self._alike[wants, *beside] = self._found(job, wants, able=True)
            self._known[key] = self._alike[wants, *beside]
        return self._known[key]

    def _wants(self, job: int, mine: range) -> _Wants:
        """Return the smallest of the options, and where it and all of them may be."""
        options, there = self._options, slice(mine.start, mine.stop)
        columns = (options.q, options.g, options.c, options.m, options.kind, options.home)
        demands = list(zip(*(column[there].tolist() for column in columns), strict=True))
        smallest = self._smallest[job]
        size, gpus = demands[smallest - mine.start][:4], int(self._gpus[smallest])
        places = frozenset([one[4:] for one in demands])
        alike = places if len(places) == 1 else frozenset([one[4:] for one in demands if one[:4] == size])
        return _Wants(size=size, gpus=gpus, places=_widest(places), smallest=_widest(alike), apart=len(alike) > 1)

    @cached_property
    def _gpus(self) -> Ints:
        """The GPUs of each option."""
        return self._options.totals[0]

    @cached_property
    def _smallest(self) -> list[int]:
        """The option of each job with the fewest GPUs, then CPUs, then memory in all; of a job without any another."""
        order = np.lexsort((*reversed(sizes(self._options)), self._options.job))
        first = np.minimum(self._options.first[:-1], len(order) - 1)
        found: list[int] = order[first].tolist()
        return found

    def _found(self, job: int, wants: _Wants | None, *, able: bool) -> PlanBinding:
        """Return all that binds for a job that is ``able`` to run in the empty cluster, and ``wants`` what is taken."""
        said, remedies, reasons = list[str](), list[str](), list[WaitingReason]()
        if not able:
            words, remedy = unfit_plans(self._round, self._options.jobs, job)
            said += [words, *self._others(job, self._round.amounts.G, "others are")]
            remedies.append(remedy)
            reasons.append(WaitingReason.CAPACITY)
        if not self._free.within_quota(job):
            words, remedy = self._quota(job)
            said.append(words)
            remedies.append(remedy)
            reasons.append(WaitingReason.QUOTA)
        if wants is not None:
            reason, words, remedy = self._no_room(wants)
            said += [words, *self._others(job, self._free.gpus, "others are free")]
            remedies.append(remedy)
            reasons.append(reason)
        if not reasons:
            said.append("a plan fits what is free; the decision keeps it free")
            remedies.append("use method 'auto' or 'exact', which leave no such job waiting where it adds value")
            reasons.append(WaitingReason.PRIORITY)
        return PlanBinding(reasons[0], "; ".join(said), "; ".join(remedies))

    def _quota(self, job: int) -> tuple[str, str]:
        """Return which of its tenants may promise too few GPUs more, and what would help."""
        amounts, quota = self._round.amounts, self._free.quota
        asks, line = int(amounts.g[job]), amounts.line(int(amounts.tenant[job]))
        short = short_tenants(self._round, line, quota, asks)
        words = f"guaranteed for {gpus_text(asks)}; {'; '.join(short.values())}"
        if any(asks > amounts.U[one] for one in short):
            return words, f"raise the quota to {asks}, or let the job ask for less"
        lacks = asks - min(int(quota[one]) for one in short)
        return words, f"free {gpus_text(lacks)} of the tenant's guaranteed jobs, or raise its quota by as many"

    def _no_room(self, wants: _Wants) -> tuple[WaitingReason, str, str]:
        """Return what is free, and what the smallest plan lacks of it; it is told with the jobs that hold that."""
        parts, size, here = wants.size[0], wants.size, self._reach(wants.smallest)
        fewest, reach = wants.gpus, self._reach(wants.places)
        now = self._now if self._sets is None else int(self._free.gpus[reach].sum())
        usable = f"{now} of {self._total} are free" if self._sets is None else f"{now} that it could use are free"
        words = f"its smallest plan takes {gpus_text(fewest)}{f' on {parts} nodes' if parts > 1 else ''}; {usable}"
        if fewest > now:
            if (wants.places, fewest) not in self._short:
                self._short[wants.places, fewest] = holders_text(self._holders, np.flatnonzero(reach), fewest - now)
            words += self._short[wants.places, fewest]
            remedy = f"free {fewest - now} more GPU{'s' * (fewest - now != 1)}"
            remedy += " where it may be" * (self._sets is not None)
            lacking = self._lacking(size, here, gpus=False)
            return WaitingReason.CAPACITY, "; ".join([words, *lacking]), remedy
        words += ", but no plan finds its GPUs, CPUs and memory together on each of its nodes"
        words += ", in one part of the cluster" * (parts > 1 and wants.apart)
        remedy = "free more on one node, or move a running job"
        return WaitingReason.FRAGMENTATION, "; ".join([words, *self._lacking(size, here, gpus=True)]), remedy

    def _lacking(self, size: tuple[int, ...], here: Bools, *, gpus: bool) -> list[str]:
        """Return on how few nodes each resource is enough for a part, where they are too few, and who holds it."""
        free, holders, words = self._free, self._holders, list[str]()
        for name, need, unit, has, held in (
            ("GPUs", size[1] if gpus else 0, 1, free.gpus, holders.gpus),
            ("CPUs", size[2], MILLI_PER_CPU, free.cpus, holders.cpus),
            ("GiB", size[3], MIB_PER_GIB, free.memory, holders.memory),
        ):
            lacking = here & (has < need)
            count = int(np.count_nonzero(here & ~lacking))
            if count < size[0]:
                most = [f"{who} {amount / unit:g} {name}" for who, amount in self._most(name, held, lacking)]
                enough = f"{count} node{'s have' if count != 1 else ' has'} {need / unit:g} {name} free"
                words.append(enough + (f" ({', '.join(most)})" if most else ""))
        return words

    def _most(self, name: str, held: Ints, nodes: Bools) -> list[tuple[str, int]]:
        """Return who holds most of a resource on some nodes; many jobs lack it on the same ones."""
        key = name, nodes.tobytes()
        if key not in self._largest:
            self._largest[key] = self._holders.most(held, np.flatnonzero(nodes))
        return self._largest[key]

    def _reach(self, places: _Places) -> Bools:
        """Return the nodes of places: kinds of them, or homes of running jobs."""
        if places not in self._reached:
            masks = [self._options.place(kind, home) for kind, home in places]
            self._reached[places] = np.logical_or.reduce(masks)
        return self._reached[places]

    def _others(self, job: int, gpus: Ints, begin: str) -> list[str]:
        """Return which rules bar a job from other nodes with such GPUs, as one sentence or none."""
        words = list(self._barred.words(job, gpus)) if self._sets is not None else []
        types = self._types_of(job) if self._typed else None
        if types is not None:
            count = int(gpus[[gpu_type not in types for gpu_type in self._types]].sum())
            names = listed([repr(name) for name in sorted(types)])
            words += [f"{count} of other types than its plans are for: {names}"] * (count > 0)
        return [f"{begin}: {', '.join(words)}"] if words else []

    def _types_of(self, job: int) -> frozenset[str] | None:
        """Return the GPU types that the plans of a job are for; ``None`` where one is for any."""
        plans = self._round.jobs[job].plans or ()
        if any(plan.types is None for plan in plans):
            return None
        return frozenset(name for plan in plans for name in plan.types or ())
