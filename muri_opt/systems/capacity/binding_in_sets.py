"""Why a gang does not start that may not start just anywhere: by order, by quota, or for want of nodes it may use.

All rules that bind are told: those that bar it from nodes with GPUs, its shape, CPUs and memory, and who holds others.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import WaitingReason
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.readable_time import duration, moment
from muri_opt.systems.capacity.barred_nodes import BarredNodes
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.lacking_amounts import LackingAmounts, most_holders, named_holders
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.quota_text import quota_remedy, type_quota_text
from muri_opt.systems.capacity.released import demand_of
from muri_opt.systems.capacity.rooms_in_sets import Needs, RoomsInSets
from muri_opt.systems.capacity.shaped_fit import only_where

_NO_NODES: Final[Ints] = np.zeros(0, dtype=np.int64)
_LOST: Final = "it is lost: it ran on a node that is down"


class Binding(NamedTuple):
    """The first rule that binds, all of them in words, and what would help where no change is worked out.

    ``quota`` are the GPUs above the tenant's quota, ``room`` whether it fits on what is free, the quota aside.
    """

    reason: WaitingReason
    detail: str
    remedy: str
    quota: int
    room: bool


def kept_back(round_: Round, job: int, otherwise: Binding | None = None) -> Binding:
    """Return what binds for a job that is held, or is to begin later; ``otherwise`` is what would bind if not."""
    one = round_.jobs[job]
    said, remedies = [_LOST] * is_lost(round_, job), list[str]()
    if one.held is not None:
        said.append(f"is held: {one.held}" if one.held else "is held")
        remedies.append("release it")
    if one.not_before is not None and one.not_before > round_.now:
        said.append(f"is not to start before {moment(one.not_before)}; now it is {moment(round_.now)}")
        remedies.append(f"wait for {duration(one.not_before - round_.now)}")
    if otherwise is not None and otherwise.reason is not WaitingReason.PRIORITY:
        said.append(otherwise.detail)
        remedies.append(otherwise.remedy)
    reason = WaitingReason.NOT_BEFORE if one.held is None else WaitingReason.HELD
    quota, room = (0, False) if otherwise is None else (otherwise.quota, otherwise.room)
    return Binding(reason, "; ".join(said), " and ".join(remedies), quota, room)


class _Part:
    """The ``nodes`` where some jobs may start, and the GPUs that are ``free`` there."""

    def __init__(self, round_: Round, left: Leftover, holders: Holders, demand: Demand) -> None:
        self._round, self._left, self._holders, self._demand = round_, left, holders, demand
        self.nodes = demand.sets[0] if len(demand.sets) == 1 else np.concatenate([_NO_NODES, *demand.sets])
        self.free = int(left.gpus[self.nodes].sum())

    @cached_property
    def lacking(self) -> LackingAmounts:
        """What lacks there besides GPUs."""
        return LackingAmounts(self._round, self._left, self._holders, only_where(self._left.gpus, self._demand))

    @cached_property
    def holders(self) -> list[tuple[str, int]]:
        """The jobs that hold most of its GPUs."""
        return most_holders(self._holders, self.nodes)


class _Room(NamedTuple):
    """What jobs of the same demand, needs and number of GPUs find: whether they fit now, and if not why, in words.

    ``ever`` says whether the empty cluster holds them, and ``by_type`` that quotas of GPU types keep them from all of
    it; ``free`` are the GPUs where they may start.
    """

    ever: bool
    by_type: bool
    fits: bool
    free: int
    said: str


class BindingInSets:
    """What binds for jobs that ask for certain nodes, beside what runs; ``left`` is what that leaves."""

    def __init__(self, round_: Round, left: Leftover, holders: Holders, *, consolidate: bool) -> None:
        self._round, self._left, self._holders, self._consolidate = round_, left, holders, consolidate
        self._barred = BarredNodes(round_)
        self._parts: dict[Demand, _Part] = {}
        self._found: dict[tuple[Demand, Needs, int], _Room] = {}
        self._empty = RoomsInSets(round_.amounts.G, round_.amounts.C, round_.amounts.M)
        self._rooms = RoomsInSets(left.gpus, left.cpus, left.memory)

    def binding(self, job: int, *, over: int, quota: str) -> Binding:
        """Return what binds for a job, were it not held; it is ``over`` its quota by so much, which says so."""
        left, asks = self._left, self._left.asks.item(job)
        said, remedies = [*_before(self._round, job), f"asks for {gpus_text(asks)}"], list[str]()
        reasons = list[WaitingReason]()
        room = self._room(job, asks)
        if not room.ever:
            said.append(room.said)
            remedies.append("ask for fewer GPUs or for other nodes, or enlarge the cluster")
            reasons.append(WaitingReason.CAPACITY)
        if over:
            said.append(quota)
            remedies.append(quota_remedy(left, over))
            reasons.append(WaitingReason.QUOTA)
        if room.by_type:
            said.append(type_quota_text(self._round, left, job))
            remedies.append("free GPUs of that type of the tenant, or raise its quota")
            reasons.append(WaitingReason.QUOTA)
        elif room.ever and not room.fits:
            said.append(room.said)
            more = asks - room.free
            remedies.append(_freed(more) if more > 0 else "free GPUs that it can use together")
            reasons.append(WaitingReason.CAPACITY if more > 0 else WaitingReason.FRAGMENTATION)
        if not reasons:
            said[-1] = f"asks for {gpus_text(asks)}, free now; the decision keeps them free"
            remedies.append("decide again; the methods 'auto' and 'exact' leave no such job waiting")
            reasons.append(WaitingReason.PRIORITY)
        return Binding(reasons[0], "; ".join(said), " and ".join(remedies), over, room.fits)

    def _room(self, job: int, asks: int) -> _Room:
        """Return what a job finds where it may start, less GPU types of which its tenants have too few left."""
        amounts, demand = self._round.amounts, demand_of(self._round, job)
        needs = amounts.c.item(job), amounts.m.item(job)
        open_to = self._left.within_type_quotas(job, demand)
        if open_to is not demand:
            return self._look(job, demand, open_to, needs, asks)
        key = demand, needs, asks
        found = self._found.get(key)
        if found is None:  # all jobs of one demand are barred by the same rules
            found = self._found[key] = self._look(job, demand, demand, needs, asks)
        return found

    def _look(self, job: int, demand: Demand, open_to: Demand, needs: Needs, asks: int) -> _Room:
        needed = self._empty.fewest_nodes(needs, asks, demand)
        if needed is None:
            said = self._never(job, demand, only_where(self._empty.of(needs), demand), asks)
            return _Room(ever=False, by_type=False, fits=False, free=0, said=said)
        by_type = open_to is not demand and self._empty.fewest_nodes(needs, asks, open_to) is None
        limit = needed if self._consolidate else len(self._left.gpus)
        fits = self._rooms.fewest_nodes(needs, asks, open_to, limit) is not None
        if fits or by_type:
            return _Room(ever=True, by_type=by_type, fits=fits, free=0, said="")
        said = self._now(job, open_to, needs, asks, limit)
        return _Room(ever=True, by_type=False, fits=False, free=self._part(open_to).free, said=said)

    def _part(self, demand: Demand) -> _Part:
        if demand not in self._parts:
            self._parts[demand] = _Part(self._round, self._left, self._holders, demand)
        return self._parts[demand]

    def _never(self, job: int, demand: Demand, room: Ints, asks: int) -> str:
        """Return why the empty cluster could not hold a job, and which rules bar it from other nodes."""
        most, total = int(room.sum()), int(only_where(self._round.amounts.G, demand).sum())
        fewer = "" if most == total else f" of {total}"
        words = f"the nodes where it may start have {most}{fewer} that it could use{_asked(demand) * (most >= asks)}"
        return self._with_barred(job, words, self._round.amounts.G, "others are")

    def _now(self, job: int, demand: Demand, needs: Needs, asks: int, limit: int) -> str:
        """Return what is free where a job may start, what it lacks there, and which rules bar it from other nodes."""
        part = self._part(demand)
        lacking = part.lacking.of(job, int(self._rooms.of(needs)[part.nodes].sum())) if any(needs) else []
        words = f"{part.free} are free where it may start"
        words += named_holders(part.holders, asks - part.free) if asks > part.free else _asked(demand)
        if self._consolidate and asks <= part.free:
            words += f", on {limit} node{'s' * (limit != 1)}"
        words += ", at most " + " and ".join(lacking) if lacking else ""
        return self._with_barred(job, words, self._left.gpus, "others are free")

    def _with_barred(self, job: int, words: str, gpus: Ints, others: str) -> str:
        barred = self._barred.words(job, gpus)
        return f"{words}; {others}: {', '.join(barred)}" if barred else words


def _before(round_: Round, job: int) -> list[str]:
    """Return what a running job must be told first: that it is lost, or that it may not go elsewhere."""
    if is_lost(round_, job):
        return [_LOST] * (not round_.waits_by_order[job])  # one that is kept back is told so before its order
    return ["it may not be moved from where it runs"] if round_.jobs[job].stays_put else []


def _asked(demand: Demand) -> str:
    """Return what a gang asks beside nodes, in words."""
    few = "" if demand.most is None else f" and at most {demand.most}"
    words = [f", on at least {demand.least}{few} nodes"] if demand.least > 1 or few else []
    words += [", equally many on each node"] * demand.even
    words += [", in one of several parts of the cluster"] * (len(demand.sets) > 1)
    return f", not as it asks for them{''.join(words)}"


def _freed(gpus: int) -> str:
    return f"free {gpus} more GPU{'s' * (gpus != 1)} where it may start"
