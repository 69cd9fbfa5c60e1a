"""Why a gang does not start that may not start just anywhere: by order, by quota, or for want of nodes it may use.

All rules that bind are told: those that bar it from nodes with GPUs, its shape, CPUs and memory, and who holds others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import WaitingReason
from muri_opt.rounds.eligibility import Bools, is_lost
from muri_opt.rounds.readable_time import duration, moment
from muri_opt.systems.capacity.barred_nodes import BarredNodes
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.lacking_amounts import MOST_HOLDERS, LackingAmounts, named_holders
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.quota_text import OverQuota, type_quota_text
from muri_opt.systems.capacity.released import demands_of
from muri_opt.systems.capacity.rooms_in_sets import GangsInSets, Needs, RoomsInSets
from muri_opt.systems.capacity.shaped_fit import only_where
from muri_opt.systems.capacity.waiting_words import DECIDE_AGAIN, KEPT_FREE, LOST


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
    said, remedies = [LOST] * is_lost(round_, job), list[str]()
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


class _Asked(NamedTuple):
    """What jobs ask for: CPUs and memory that they need with each of so many GPUs, and nodes.

    They are ``open_to`` those that they demand, less GPU types of which their tenants have too few left. One ``job`` of
    them stands for all: jobs of one demand are barred by the same rules.
    """

    job: int
    demand: Demand
    open_to: Demand
    needs: Needs
    asks: int


class _Room(NamedTuple):
    """What jobs that ask for the same find: whether they fit now, and if not why, in words.

    ``ever`` says whether the empty cluster holds them, and ``by_type`` that quotas of GPU types keep them from all of
    it; ``free`` are the GPUs where they may start, ``together`` the most of them in one part that could hold them, and
    ``usable`` those for which there are CPUs and memory, too.
    """

    ever: bool = True
    by_type: bool = False
    fits: bool = False
    free: int = 0
    together: int = 0
    usable: int = 0
    said: str = ""


class BindingInSets:
    """What binds for jobs that ask for certain nodes, beside what runs; ``left`` is what that leaves."""

    def __init__(self, round_: Round, left: Leftover, holders: Holders, *, consolidate: bool) -> None:
        self._round, self._left, self._holders, self._consolidate = round_, left, holders, consolidate
        self._barred = BarredNodes(round_)
        self._empty = RoomsInSets(round_.amounts.G, round_.amounts.C, round_.amounts.M)
        self._rooms = RoomsInSets(left.gpus, left.cpus, left.memory)
        self._found: dict[tuple[object, ...], _Room] = {}
        self._room_of: dict[int, _Room] = {}
        """What jobs find that were looked at."""
        self._other_nodes: dict[tuple[Demand, str], str] = {}
        """What is said of the nodes from which jobs are barred, by their demand and how it begins."""

    def binding(self, job: int, over: OverQuota) -> Binding:
        """Return what binds for a job, were it not held, and what quotas keep it from starting."""
        if job not in self._room_of:
            self.look_at([job])
        left, asks, room = self._left, self._left.asks.item(job), self._room_of[job]
        said, remedies = [*_before(self._round, job), f"asks for {gpus_text(asks)}"], list[str]()
        reasons = list[WaitingReason]()
        if not room.ever:
            said.append(room.said)
            remedies.append("ask for fewer GPUs or for other nodes, or enlarge the cluster")
            reasons.append(WaitingReason.CAPACITY)
        if over.gpus:
            said.append(over.said)
            remedies.append(over.remedy)
            reasons.append(WaitingReason.QUOTA)
        if room.by_type:
            said.append(type_quota_text(self._round, left, job))
            remedies.append("free GPUs of that type of the tenant, or raise its quota")
            reasons.append(WaitingReason.QUOTA)
        elif room.ever and not room.fits:
            said.append(room.said)
            remedies.append(_freed(asks, room))
            reasons.append(WaitingReason.CAPACITY if asks > room.free else WaitingReason.FRAGMENTATION)
        if not reasons:
            said[-1] = f"asks for {gpus_text(asks)}, {KEPT_FREE}"
            remedies.append(DECIDE_AGAIN)
            reasons.append(WaitingReason.PRIORITY)
        return Binding(reasons[0], "; ".join(said), " and ".join(remedies), over.gpus, room.fits)

    def look_at(self, jobs: Collection[int]) -> None:
        """Look at what many jobs find at once: what :meth:`binding` says of them is then known."""
        new: dict[tuple[object, ...], _Asked] = {}
        keys = []
        for asked in self._asked(jobs):
            open_to = asked.demand if asked.open_to is asked.demand else _sets(asked.open_to)
            key = asked.demand, open_to, asked.needs, asked.asks
            keys.append(key)
            if key not in self._found:
                new.setdefault(key, asked)
        self._found.update(zip(new, self._look([*new.values()]), strict=True))
        self._room_of.update(zip(jobs, map(self._found.__getitem__, keys), strict=True))

    def _asked(self, jobs: Collection[int]) -> Iterator[_Asked]:
        some, amounts, left = [*jobs], self._round.amounts, self._left
        demands = demands_of(self._round, some)
        columns = (column[some].tolist() for column in (amounts.c, amounts.m, left.asks))
        for job, demand, milli, mib, asks in zip(some, demands, *columns, strict=True):
            open_to = demand if left.types is None else left.within_type_quotas(job, demand)
            yield _Asked(job, demand, open_to, (milli, mib), asks)

    def _look(self, asked: Sequence[_Asked]) -> list[_Room]:
        """Return what jobs find where they may start, less GPU types of which their tenants have too few left."""
        found = [_Room(fits=True)] * len(asked)
        gangs = GangsInSets.of([(one.needs, one.asks, one.demand) for one in asked], len(self._left.gpus))
        most = self._most_nodes(gangs)
        for at, one in enumerate(asked):
            if most[at] is None:
                found[at] = _Room(ever=False, said=self._never(one))
        typed = [at for at, one in enumerate(asked) if most[at] is not None and one.open_to is not one.demand]
        if typed:
            gangs = GangsInSets.of([(one.needs, one.asks, one.open_to) for one in asked], len(self._left.gpus))
            now_most = self._most_nodes(gangs)
            for at in typed:
                if now_most[at] is None:
                    found[at] = _Room(by_type=True)
        fits = self._fit(gangs, most)
        able = ((at, limit) for at, limit in enumerate(most) if limit is not None and not found[at].by_type)
        short = [(at, limit) for at, limit in able if not fits[at]]
        rooms = self._now([asked[at] for at, _ in short], [limit for _, limit in short])
        for (at, _), room in zip(short, rooms, strict=True):
            found[at] = room
        return found

    def _most_nodes(self, gangs: GangsInSets) -> list[int | None]:
        """Return on how many nodes at most gangs may be, ``None`` where the empty cluster does not hold them."""
        if self._consolidate:
            return [self._empty.fewest_nodes(*one) for one in gangs.asked]
        return [len(self._left.gpus) if well else None for well in self._empty.hold(gangs)]

    def _fit(self, gangs: GangsInSets, limits: Sequence[int | None]) -> list[bool]:
        """Return whether gangs fit what is free, on so many nodes at most."""
        if not self._consolidate:
            return self._rooms.hold(gangs)
        fewest = self._rooms.fewest_nodes
        return [
            limit is not None and fewest(*one, limit) is not None
            for one, limit in zip(gangs.asked, limits, strict=True)
        ]

    def _never(self, asked: _Asked) -> str:
        """Return why the empty cluster could not hold a job, and which rules bar it from other nodes."""
        demand, gpus = asked.demand, self._round.amounts.G
        most = int(only_where(self._empty.of(asked.needs), demand).sum())
        total = int(only_where(gpus, demand).sum())
        fewer = "" if most == total else f" of {total}"
        shape = _shape(demand) if most >= asked.asks else ""
        return f"the nodes where it may start have {most}{fewer} that it could use{shape}" + self._others(
            asked, gpus, "others are"
        )

    def _now(self, asked: Sequence[_Asked], limits: Sequence[int]) -> list[_Room]:
        """Return what is free where jobs may start, what they lack there, and which rules bar them from other nodes."""
        left, holders = self._left, self._holders
        part, inside = _parts([one.open_to for one in asked], len(left.gpus))
        free: list[int] = (inside @ left.gpus).tolist()
        few = sorted({place for one, place in zip(asked, part, strict=True) if one.asks > free[place]})
        held = holders.most_of_each(holders.gpus, np.arange(len(left.gpus)), inside[few], MOST_HOLDERS)
        most = dict(zip(few, held, strict=True))
        rooms = self._rooms.together([one.needs for one in asked], inside[part])
        every_lack = LackingAmounts(self._round, left, holders, inside).of_each([one.job for one in asked], rooms, part)
        of_several = [at for at, one in enumerate(asked) if len(one.open_to.sets) > 1 and one.asks > free[part[at]]]
        several = [(asked[at].needs, asked[at].asks, asked[at].open_to) for at in of_several]
        in_one_part = dict(zip(of_several, self._empty.most_in_a_set(left.gpus, several), strict=True))
        found = []
        each = zip(asked, limits, part, rooms, every_lack, strict=True)
        for at, (one, limit, place, usable, lacks) in enumerate(each):
            here = free[place]
            together = in_one_part.get(at, here)
            words = f"{here} are free where it may start"
            words += f", at most {together} in one part" if together < here else ""
            if one.asks > here:
                words += named_holders(most[place], one.asks - here)
            elif usable >= one.asks:
                words += _shape(one.open_to)
            if self._consolidate and one.asks <= here:
                words += f", on {limit} node{'s' * (limit != 1)}"
            words += ", at most " + " and ".join(lacks) if lacks else ""
            words += self._others(one, left.gpus, "others are free")
            found.append(_Room(free=here, together=together, usable=usable, said=words))
        return found

    def _others(self, asked: _Asked, gpus: Ints, begin: str) -> str:
        """Return which rules bar jobs from other nodes, if there are any; those of one demand are told the same."""
        key = asked.demand, begin
        if key not in self._other_nodes:
            barred = self._barred.words(asked.job, gpus)
            self._other_nodes[key] = f"; {begin}: {', '.join(barred)}" if barred else ""
        return self._other_nodes[key]


def _sets(demand: Demand) -> tuple[int, ...]:
    """Return the sets of nodes of a demand, by their identity: equal ones are one array."""
    return tuple([id(nodes) for nodes in demand.sets])


def _parts(demands: Sequence[Demand], nodes: int) -> tuple[list[int], Bools]:
    """Return which part of the cluster each of some demands is open to, and whether each of so many nodes is in it."""
    number: dict[tuple[int, ...], int] = {}
    unlike = {id(demand): demand for demand in demands}
    part_of = {at: number.setdefault(_sets(demand), len(number)) for at, demand in unlike.items()}
    inside = np.zeros((len(number), nodes), dtype=np.bool_)
    each = [(part_of[at], some) for at, demand in unlike.items() for some in demand.sets]
    if each:
        rows = np.repeat([part for part, _ in each], [len(some) for _, some in each])
        inside[rows, np.concatenate([some for _, some in each])] = True
    return [part_of[id(demand)] for demand in demands], inside


def _before(round_: Round, job: int) -> list[str]:
    """Return what a running job must be told first: that it is lost, or that it may not go elsewhere."""
    if round_.jobs[job].state != "running":
        return []
    if is_lost(round_, job):
        return [LOST] * (not round_.waits_by_order[job])  # one that is kept back is told so before its order
    return ["it may not be moved from where it runs"] if round_.jobs[job].stays_put else []


def _shape(demand: Demand) -> str:
    """Return what a gang asks beside nodes, in words."""
    few = "" if demand.most is None else f" and at most {demand.most}"
    words = [f", on at least {demand.least}{few} nodes"] if demand.least > 1 or few else []
    words += [", equally many on each node"] * demand.even
    words += [", in one of several parts of the cluster"] * (len(demand.sets) > 1)
    return f", not as it asks for them{''.join(words)}"


def _freed(asks: int, room: _Room) -> str:
    """Return what a job that does not fit needs to be freed."""
    if asks > room.free:
        gpus = asks - room.together
        where = "where it may start" if room.together == room.free else "in one part where it may start"
        return f"free {gpus} more GPU{'s' * (gpus != 1)} {where}"
    if asks > room.usable:
        gpus = asks - room.usable
        return f"free room for {gpus} more GPU{'s' * (gpus != 1)} with what it needs besides, where it may start"
    return "free GPUs that it can use together"
