"""What no set of moves can cost less than, from prices of jobs, in the verifier's own arithmetic.

Every job that leaves a node enters one, so paying for what enters and being paid for what leaves changes nothing in
sum. At any prices, what the nodes would do each for itself therefore costs no more than any plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.verify.amounts import empty_rooms, need_of, smallest_node_count

NO_LIMIT = 1 << 62
_STEPS = 20_000
"""Contents of one node that are looked at before CPUs and memory are left aside, which weakens the bound only."""

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A running job that may move: what each of its GPUs takes (or all of it, without GPUs), and where it is."""

    id: str
    gpus: int
    unit: Triple
    held: Mapping[int, int]

    @property
    def whole(self) -> Triple:
        """What the whole job takes."""
        return times(self.unit, max(self.gpus, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Nodes with what they have beside pinned jobs, who may move, and what is wanted.

    ``wanted`` nodes are to be empty, or to hold ``guest``, of which each takes at least ``least`` GPUs. ``weight`` is
    how many moved jobs a moved GPU outweighs.
    """

    rooms: tuple[Triple, ...]
    pinned: tuple[bool, ...]
    movers: tuple[Mover, ...]
    wanted: int
    guest: Mover | None = None
    least: int = 0

    @property
    def weight(self) -> int:
        """How many moved jobs a moved GPU outweighs."""
        return len(self.movers) + 1

    def cost(self, mover: Mover) -> int:
        """Return what moving a job costs in one number."""
        return mover.gpus * self.weight + 1

    @property
    def most(self) -> int:
        """What moving everything costs."""
        return sum(map(self.cost, self.movers))

    @staticmethod
    def of(round_: Round, nodes: int | None, job: str | None) -> Ground:
        """Return the ground of a round whose running jobs are placed."""
        index = round_.cluster.node_index
        rooms = capacities(round_)
        pinned = [False] * len(rooms)
        movers = []
        for each in round_.jobs:
            if each.state != "running":
                continue
            mover = _mover(each, {index[node]: gpus for node, gpus in (each.placement or {}).items()})
            if each.restart_seconds is not None:
                movers.append(mover)
                continue
            for s, gpus in mover.held.items():
                rooms[s] = minus(rooms[s], times(mover.unit, max(gpus, 1)))
                pinned[s] = True
        if job is None:
            return Ground(rooms=tuple(rooms), pinned=tuple(pinned), movers=tuple(movers), wanted=nodes or 0)
        asked = round_.jobs[round_.job_index[job]]
        need, every = need_of(asked), empty_rooms(round_)
        wanted = smallest_node_count(Counter(every), need)
        holds = sorted((room.holds(need) for room in every), reverse=True)
        return Ground(
            rooms=tuple(rooms),
            pinned=tuple(pinned),
            movers=tuple(movers),
            wanted=len(rooms) + 1 if wanted is None else wanted,
            guest=_mover(asked, {}),
            least=max(1, asked.gpus - sum(holds[: (wanted or 1) - 1])),
        )


def times(amount: Triple, number: int) -> Triple:
    """Return so many times an amount."""
    return amount[0] * number, amount[1] * number, amount[2] * number


def minus(one: Triple, other: Triple) -> Triple:
    """Return what is left of an amount."""
    return one[0] - other[0], one[1] - other[1], one[2] - other[2]


def capacities(round_: Round) -> list[Triple]:
    """Return what every empty node has."""
    rooms = empty_rooms(round_)
    return [
        (
            room.gpus,
            NO_LIMIT if room.milli is None else room.milli,
            NO_LIMIT if room.mebibytes is None else room.mebibytes,
        )
        for room in rooms
    ]


def counted_out(ground: Ground, gpus: Sequence[int]) -> bool:
    """Return whether counting nodes and GPUs alone shows that nothing reaches the goal; ``gpus`` are those of nodes."""
    used = sum(gpus) - sum(room[0] for room in ground.rooms) + sum(mover.gpus for mover in ground.movers)
    if ground.guest is not None:
        unit = ground.guest.unit
        holds = sorted((_holds(room, unit, ground.guest.gpus) for room in ground.rooms), reverse=True)
        return used + ground.guest.gpus > sum(gpus) or sum(holds[: ground.wanted]) < ground.guest.gpus
    open_nodes = sorted(has for has, pinned in zip(gpus, ground.pinned, strict=True) if has and not pinned)
    return ground.wanted > len(open_nodes) or used > sum(gpus) - sum(open_nodes[: ground.wanted])


def price_bound(ground: Ground, denominator: int, multipliers: Mapping[str, Sequence[int]]) -> int:
    """Return what no plan costs less than, from prices: per type of job, per GPU of spread jobs and of the guest."""
    if denominator < 1:
        raise InputError("evidence.denominator", str(denominator), "a whole number of at least 1")
    sizes = list(dict.fromkeys(mover.whole for mover in ground.movers if len(mover.held) == 1))
    spread = [mover for mover in ground.movers if len(mover.held) > 1]
    lengths = {"jobs": len(sizes), "gang": len(spread), "waiting": 1}
    for label, length in lengths.items():
        if len(multipliers.get(label, ())) != length:
            raise InputError(f"evidence.{label}", f"{len(multipliers.get(label, ()))} prices", f"{length} prices")
    waiting = multipliers["waiting"][0]
    here: list[Counter[Triple]] = [Counter() for _ in ground.rooms]
    for mover in ground.movers:
        if len(mover.held) == 1:
            here[next(iter(mover.held))][mover.whole] += 1
    bench = _Bench(
        ground=ground,
        denominator=denominator,
        price=dict(zip(sizes, multipliers["jobs"], strict=True)),
        spread=list(zip(spread, multipliers["gang"], strict=True)),
        total=sum(here, Counter()),
        waiting=waiting,
        here=here,
    )
    alone = [bench.values(s) for s in range(len(ground.rooms))]
    more = sorted(chosen - unchosen for unchosen, chosen in alone if chosen is not None)
    gpus = 0 if ground.guest is None else ground.guest.gpus
    least = sum(unchosen for unchosen, _ in alone) + sum(more[: ground.wanted]) + waiting * gpus
    return -(-least // denominator)


Option = tuple[Triple, int]


class _ManyError(Exception):
    """There are too many contents to look at."""


@dataclass(slots=True, kw_only=True)
class _Bench:
    """What nodes would do at prices; equal nodes are asked once."""

    ground: Ground
    denominator: int
    price: Mapping[Triple, int]
    spread: Sequence[tuple[Mover, int]]
    total: Counter[Triple]
    waiting: int
    here: Sequence[Counter[Triple]]
    known: dict[object, tuple[int, int | None]] = field(default_factory=dict)

    def values(self, s: int) -> tuple[int, int | None]:
        """Return the least value of a node, and the least if it is among those wanted, ``None`` where it cannot be."""
        here = self.here[s]
        parts = tuple((i, m.held[s], s == next(iter(m.held))) for i, (m, _) in enumerate(self.spread) if s in m.held)
        key = (self.ground.rooms[s], self.ground.pinned[s], frozenset(here.items()), parts)
        if key not in self.known:
            self.known[key] = self._asked(s, here)
        return self.known[key]

    def _asked(self, s: int, here: Counter[Triple]) -> tuple[int, int | None]:
        room, guest = self.ground.rooms[s], self.ground.guest
        goods = self._goods(s, here)
        unchosen = self._least(room, goods)
        if guest is None:
            if self.ground.pinned[s] or room[0] == 0:
                return unchosen, None
            return unchosen, sum(next(value for use, value in options if not any(use)) for options in goods)
        most = _holds(room, guest.unit, guest.gpus)
        shares = range(self.ground.least, most + 1)
        found = [self._least(minus(room, times(guest.unit, share)), goods) - self.waiting * share for share in shares]
        return unchosen, min(found, default=None)

    def _goods(self, s: int, here: Counter[Triple]) -> list[list[Option]]:
        """Return what may be on the node of each good, and its value: cost of leaving, and prices of the difference.

        The first option of a good is that nothing of it is there.
        """
        goods: list[list[Option]] = []
        for size, price in self.price.items():
            cost = self.denominator * (size[0] * self.ground.weight + 1)
            most = self.total[size] if price < 0 else here[size]
            goods.append(
                [
                    (times(size, number), price * (number - here[size]) + cost * max(0, here[size] - number))
                    for number in range(most + 1)
                ]
            )
        for mover, price in self.spread:
            gpus = mover.held.get(s, 0)
            cost = self.denominator * (gpus * self.ground.weight + (s == next(iter(mover.held)))) if gpus else 0
            entering = range(mover.gpus + 1 if price < 0 else 1)
            goods.append([(times(mover.unit, number), cost + price * (number - gpus)) for number in entering])
            if gpus:
                goods[-1].append((times(mover.unit, gpus), 0))
        return [options for options in goods if options != [((0, 0, 0), 0)]]

    def _least(self, room: Triple, goods: Sequence[Sequence[Option]]) -> int:
        try:
            return _cheapest(room, goods)
        except _ManyError:
            return _cheapest(
                (room[0], 0, 0), [[((use[0], 0, 0), value) for use, value in options] for options in goods], NO_LIMIT
            )


def _cheapest(room: Triple, goods: Sequence[Sequence[Option]], steps: int = _STEPS) -> int:
    """Return the least value of one option per good that fit together; too many to look at are an error."""
    front = {room: 0}
    for options in goods:
        after: dict[Triple, int] = {}
        for left, value in front.items():
            for use, more in options:
                rest = minus(left, use)
                if min(rest) >= 0 and (rest not in after or after[rest] > value + more):
                    after[rest] = value + more
        steps -= len(after)
        if steps < 0:
            raise _ManyError
        front = after
    return min(front.values())


def _holds(room: Triple, unit: Triple, gpus: int) -> int:
    """Return how many GPUs of a job a room has place for."""
    return max(0, min([gpus, *(has // each for has, each in zip(room, unit, strict=True) if each)]))


def _mover(job: Job, held: Mapping[int, int]) -> Mover:
    need = need_of(job)
    return Mover(id=job.id, gpus=job.gpus, unit=(min(job.gpus, 1), need.milli, need.mebibytes), held=held)
