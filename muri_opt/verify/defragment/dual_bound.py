"""What no set of moves can cost less than, from prices of jobs.

Every job that leaves a node enters one, so paying for what enters and being paid for what leaves changes nothing in
sum. At any prices, what the nodes would do each for itself therefore costs no more than any plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muri_opt.rounds import Job, LinearDuals, Round
from muri_opt.verify.amounts import Sizes, empty_rooms, held_by, minus, need_of, smallest_node_count, times
from muri_opt.verify.demands import Asked, asked_of, is_lost
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.node_filling import profit_of_room
from muri_opt.verify.node_items import Item

Kind = tuple[Sizes, frozenset[int] | None]
"""What a job takes, and the nodes on which it may be put; ``None``: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A running job that may move: what each of its GPUs takes (or all of it, without GPUs), and where it is.

    Moved, it is inside one of the ``parts`` of nodes; ``None``: anywhere.
    """

    id: str
    gpus: int
    unit: Sizes
    held: Mapping[int, int]
    parts: tuple[frozenset[int], ...] | None = None

    @property
    def reach(self) -> frozenset[int] | None:
        """All nodes on which some of it may be put; ``None``: any."""
        return None if self.parts is None else frozenset[int]().union(*self.parts)

    def may_use(self, node: int) -> bool:
        """Return whether some of it may be put on a node."""
        return self.parts is None or any(node in part for part in self.parts)

    @property
    def kind(self) -> Kind:
        """What makes it the same as others on one node: what it takes, and where it may be put."""
        return self.whole, self.reach

    @property
    def whole(self) -> Sizes:
        """What the whole job takes."""
        return times(self.unit, max(self.gpus, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Nodes with what they have beside pinned jobs, who may move, and what is wanted.

    ``wanted`` nodes are to be empty, or to hold ``guest``, of which each takes at least ``least`` GPUs. ``weight`` is
    how many moved jobs a moved GPU outweighs.
    """

    rooms: tuple[Sizes, ...]
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

    def guest_gpus(self, node: int) -> int:
        """Return how many GPUs of the guest a node holds beside its pinned jobs."""
        if self.guest is None or not self.guest.may_use(node):
            return 0
        return held_by(self.rooms[node], self.guest.unit, self.guest.gpus)

    @staticmethod
    def of(round_: Round, nodes: int | None, job: str | None) -> Ground:
        """Return the ground of a round whose running jobs are placed."""
        index = round_.cluster.node_index
        asked_for = asked_of(round_)
        rooms = [
            (0, 0, 0) if node.state == "down" else room.sizes
            for node, room in zip(round_.cluster.nodes, empty_rooms(round_), strict=True)
        ]
        pinned = [False] * len(rooms)
        movers = []
        for each in round_.jobs:
            if each.state != "running" or is_lost(round_, each):
                continue
            mover = _mover(each, {index[node]: gpus for node, gpus in (each.placement or {}).items()}, asked_for)
            if each.restart_seconds is not None and not each.stays_put:
                movers.append(mover)
                continue
            for s, gpus in mover.held.items():
                rooms[s] = minus(rooms[s], times(mover.unit, max(gpus, 1)))
                pinned[s] = True
        if job is None:
            return Ground(rooms=tuple(rooms), pinned=tuple(pinned), movers=tuple(movers), wanted=nodes or 0)
        asked = round_.jobs[round_.job_index[job]]
        guest = _mover(asked, {}, asked_for)
        need, every = need_of(asked), empty_rooms(round_)
        counts = [
            smallest_node_count(Counter(every[node] for node in part), need)
            for part in ([range(len(every))] if guest.parts is None else guest.parts)
        ]
        wanted = min((number for number in counts if number is not None), default=None)
        holds = sorted((room.holds(need) for s, room in enumerate(every) if guest.may_use(s)), reverse=True)
        return Ground(
            rooms=tuple(rooms),
            pinned=tuple(pinned),
            movers=tuple(movers),
            wanted=len(rooms) + 1 if wanted is None else wanted,
            guest=guest,
            least=max(1, asked.gpus - sum(holds[: (wanted or 1) - 1])),
        )


def counted_out(ground: Ground, gpus: Sequence[int]) -> bool:
    """Return whether counting nodes and GPUs alone shows that nothing reaches the goal; ``gpus`` are those of nodes."""
    used = sum(gpus) - sum(room[0] for room in ground.rooms) + sum(mover.gpus for mover in ground.movers)
    if ground.guest is not None:
        holds = sorted((ground.guest_gpus(s) for s in range(len(ground.rooms))), reverse=True)
        return used + ground.guest.gpus > sum(gpus) or sum(holds[: ground.wanted]) < ground.guest.gpus
    open_nodes = sorted(has for has, pinned in zip(gpus, ground.pinned, strict=True) if has and not pinned)
    return ground.wanted > len(open_nodes) or used > sum(gpus) - sum(open_nodes[: ground.wanted])


def price_bound(ground: Ground, duals: LinearDuals) -> int:
    """Return what no plan costs less than, from prices: per type of job, per GPU of spread jobs and of the guest."""
    whole = [mover.kind for mover in ground.movers if len(mover.held) == 1]
    spread = [mover for mover in ground.movers if len(mover.held) > 1]
    asked = 0 if ground.guest is None else ground.guest.gpus
    supply = {"jobs": (0,) * len(set(whole)), "gang": (0,) * len(spread), "waiting": (-asked,)}
    prices = PriceTable.read(duals, supply, signed=True)
    (waiting,) = prices.of["waiting"]
    here: list[Counter[Kind]] = [Counter() for _ in ground.rooms]
    for mover in ground.movers:
        if len(mover.held) == 1:
            here[next(iter(mover.held))][mover.kind] += 1
    nodes = _Nodes(
        ground=ground,
        denominator=prices.denominator,
        price=dict(zip(dict.fromkeys(whole), prices.of["jobs"], strict=True)),
        spread=list(zip(spread, prices.of["gang"], strict=True)),
        total=Counter(whole),
        waiting=waiting,
        here=here,
    )
    alone = [nodes.profits(s) for s in range(len(ground.rooms))]
    less = sorted((unchosen - chosen for unchosen, chosen in alone if chosen is not None))
    profits = [*(unchosen for unchosen, _ in alone), -sum(less[: ground.wanted])]
    return -prices.bound(profits)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes:
    """What nodes would do at prices; equal nodes are asked once."""

    ground: Ground
    denominator: int
    price: Mapping[Kind, int]
    spread: Sequence[tuple[Mover, int]]
    total: Counter[Kind]
    waiting: int
    here: Sequence[Counter[Kind]]
    known: dict[object, tuple[int, int | None]] = field(default_factory=dict)

    def profits(self, s: int) -> tuple[int, int | None]:
        """Return the most profit of a node, and the most if it is among those wanted, ``None`` where it cannot be."""
        here = self.here[s]
        parts = tuple((i, m.held[s], s == next(iter(m.held))) for i, (m, _) in enumerate(self.spread) if s in m.held)
        takes = tuple(reach is None or s in reach for _, reach in self.price)
        takes += (*(mover.may_use(s) for mover, _ in self.spread), self.ground.guest_gpus(s) > 0)
        key = (self.ground.rooms[s], self.ground.pinned[s], frozenset(here.items()), parts, takes)
        if key not in self.known:
            self.known[key] = self._asked(s, here)
        return self.known[key]

    def _asked(self, s: int, here: Counter[Kind]) -> tuple[int, int | None]:
        room, guest = self.ground.rooms[s], self.ground.guest
        empty, items = self._items(s, here)
        unchosen = empty + profit_of_room(room, items)
        if guest is None:
            return unchosen, None if self.ground.pinned[s] or room[0] == 0 else empty
        chosen = [
            empty + profit_of_room(minus(room, times(guest.unit, share)), items) + self.waiting * share
            for share in range(self.ground.least, self.ground.guest_gpus(s) + 1)
        ]
        return unchosen, max(chosen, default=None)

    def _items(self, s: int, here: Counter[Kind]) -> tuple[int, list[Item]]:
        """Return the profit of an empty node, and what may be on it of each good, with what that adds.

        A job that leaves costs what moving it costs, and is paid for; one that enters pays.
        """
        empty = 0
        items: list[Item] = []
        for good, (kind, price) in enumerate(self.price.items()):
            size, reach = kind
            cost = self.denominator * (size[0] * self.ground.weight + 1)
            empty += here[kind] * (price - cost)
            enters = price < 0 and (reach is None or s in reach)
            most = held_by(self.ground.rooms[s], size, self.total[kind] if enters else here[kind])
            items += [
                Item(good, times(size, number), cost * min(number, here[kind]) - price * number)
                for number in range(1, most + 1)
            ]
        for good, (mover, price) in enumerate(self.spread, start=len(self.price)):
            gpus = mover.held.get(s, 0)
            cost = self.denominator * (gpus * self.ground.weight + (s == next(iter(mover.held)))) if gpus else 0
            empty += price * gpus - cost
            enters = price < 0 and mover.may_use(s)
            most = held_by(self.ground.rooms[s], mover.unit, mover.gpus) if enters else 0
            items += [Item(good, times(mover.unit, number), -price * number) for number in range(1, most + 1)]
            if gpus:
                items.append(Item(good, times(mover.unit, gpus), cost - price * gpus))
        return empty, items


def _mover(job: Job, held: Mapping[int, int], asked: Mapping[str, Asked] | None) -> Mover:
    need = need_of(job)
    parts = None if asked is None else tuple(map(frozenset, asked[job.id].parts))
    unit = (min(job.gpus, 1), need.milli, need.mebibytes)
    return Mover(id=job.id, gpus=job.gpus, unit=unit, held=held, parts=parts)
