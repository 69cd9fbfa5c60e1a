"""The best of jobs with a few options each, on nodes and within quotas, by enumeration: of gangs, and of plans."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, Protocol

from muri_opt.rounds import Job, Round
from muri_opt.verify.amounts import Sizes, empty_rooms, held_by, minus, times
from muri_opt.verify.counting import best_from_each
from muri_opt.verify.enumeration import OutOfStepsError, Steps, best_of, splits
from muri_opt.verify.tenant_lines import tenant_lines

State = tuple[tuple[Sizes, ...], tuple[int, ...]]
"""What is left of the nodes, of the quotas, and after them of further limits."""
Mark = tuple[str, tuple[int, ...]]
"""What tells a node from others, all else equal: the type of its GPUs, and which jobs still to come are at home."""


class Option(NamedTuple):
    """So many equal parts of a job, each taking a ``unit``: at most ``each`` on a node, on at most ``nodes`` nodes.

    ``gpu_type`` is that of the nodes, if it matters, ``among`` the only ones it may use, and ``least`` how many it must
    use. An option at ``home`` has exactly so many parts on each of these nodes. Of parts on nodes of their own, so many
    may be ``larger``, by what they take ``more``: on ``wide`` nodes, if these are told.
    """

    value: int
    unit: Sizes
    parts: int
    each: int
    nodes: int
    gpu_type: str | None = None
    home: Mapping[int, int] = {}
    among: frozenset[int] | None = None
    least: int = 1
    larger: int = 0
    more: Sizes = (0, 0, 0)
    wide: frozenset[int] | None = None

    @property
    def gpus(self) -> int:
        """How many GPUs it has in all."""
        return self.unit[0] * self.parts + self.more[0] * self.larger

    def may_use(self, node: int) -> bool:
        """Return whether some of it may be on a node."""
        return self.among is None or node in self.among


class FurtherLimits(Protocol):
    """What jobs may have beside nodes and quotas: amounts that their GPUs take from, and what quotas must keep."""

    @property
    def amounts(self) -> tuple[int, ...]:
        """What there is of each."""

    def taken(self, job: int, gpus: Mapping[int, int]) -> Sequence[int]:
        """Return what GPUs per node of a job take of each."""

    def allow(self, quotas: Sequence[int]) -> bool:
        """Return whether no more than this may be left of the quotas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of all jobs, and what each takes of which quota.

    ``rests`` has what the jobs from each one on are worth at most, by GPUs: all jobs and, where there are quotas, those
    without one and those of each by its GPUs.
    """

    options: Sequence[Sequence[Option]]
    asks: Sequence[tuple[Sequence[int], int | None] | None]
    types: Sequence[str | None]
    marks: Sequence[Sequence[Mark]]
    rests: Sequence[Sequence[Sequence[int]]]
    steps: Steps
    must: Collection[int]
    further: FurtherLimits | None = None

    def decided(self, job: int, state: State) -> bool:
        return job == len(self.options)

    def outcomes(self, job: int, state: State) -> Iterator[tuple[int, State]]:
        rooms, quotas = state
        for option in self.options[job]:
            spare = self._spare(job, quotas, option)
            if min(spare, default=0) < 0 or (self.further is not None and not self.further.allow(spare)):
                continue
            for share in self._shares(job, rooms, option):
                after = spare if self.further is None else self._further(job, spare, option, share)
                if after is None:
                    continue
                left = list(rooms)
                for node, parts in share.items():
                    left[node] = minus(left[node], times(option.unit, parts))
                if not option.larger:
                    yield option.value, (tuple(left), after)
                    continue
                for rooms_left in _with_larger(left, option, share):
                    yield option.value, (rooms_left, after)
        if job not in self.must:
            yield 0, state

    def _spare(self, job: int, quotas: tuple[int, ...], option: Option) -> tuple[int, ...]:
        """Return what an option of a job leaves of the quotas."""
        asked = self.asks[job]
        if asked is None:
            return quotas
        mine, gpus = asked
        gpus = option.gpus if gpus is None else gpus
        return tuple(left - gpus if quota in mine else left for quota, left in enumerate(quotas))

    def _further(
        self, job: int, quotas: tuple[int, ...], option: Option, share: Mapping[int, int]
    ) -> tuple[int, ...] | None:
        """Return the quotas and further limits after a share of a job, or ``None`` where it takes too much."""
        if self.further is None or not self.further.amounts:
            return quotas
        taken = self.further.taken(job, {node: parts * option.unit[0] for node, parts in share.items()})
        last = len(quotas) - len(taken)
        left = tuple(has - less for has, less in zip(quotas[last:], taken, strict=True))
        return None if min(left) < 0 else (*quotas[:last], *left)

    def _shares(self, job: int, rooms: Sequence[Sizes], option: Option) -> Iterator[Mapping[int, int]]:
        """Yield every way to put the parts of an option on nodes, of those that look alike any."""
        kind = option.gpu_type
        holds = [
            held_by(room, option.unit, option.each) if kind in (None, has) and option.may_use(node) else 0
            for node, (room, has) in enumerate(zip(rooms, self.types, strict=True))
        ]
        if option.home:
            if all(holds[node] >= parts for node, parts in option.home.items()):
                yield option.home
            return
        looks = list(zip(self.marks[job], rooms, strict=True))
        ways = splits(holds, looks, option.parts, nodes=option.nodes, steps=self.steps)
        yield from (share for share in ways if len(share) >= option.least)

    def key(self, job: int, state: State) -> Hashable:
        return tuple(sorted(zip(self.marks[job], state[0], strict=True))), state[1]

    def most(self, job: int, state: State) -> int:
        rooms, quotas = state
        free = sum(room[0] for room in rooms)
        there = zip(self.rests, (free, free, *quotas), strict=bool(quotas))
        everybody, *apart = (rest[job][min(len(rest[job]) - 1, gpus)] for rest, gpus in there)
        return min(everybody, sum(apart)) if quotas else everybody

    def end(self, state: State) -> int:
        return 0


def _with_larger(left: Sequence[Sizes], option: Option, share: Mapping[int, int]) -> Iterator[tuple[Sizes, ...]]:
    """Yield what nodes have left when some of the parts of an option are larger, for every choice that fits."""
    able = [node for node in share if option.wide is None or node in option.wide]
    for chosen in combinations(able, option.larger):
        rooms = list(left)
        for node in chosen:
            rooms[node] = minus(rooms[node], option.more)
        if all(min(rooms[node]) >= 0 for node in chosen):
            yield tuple(rooms)


def best_options(
    round_: Round,
    jobs: Sequence[Job],
    options: Sequence[Sequence[Option]],
    asks: Sequence[int | None],
    *,
    steps: int,
    must: Collection[int] = (),
    further: FurtherLimits | None = None,
) -> int | None:
    """Return the largest value of one option or none of each job, or ``None`` if it takes more than so many steps.

    ``asks`` has for each job the GPUs of its tenant's quota that it uses, ``None`` for those of its option; those that
    ``must`` have one of their options, not none. ``further`` limits may hold beside nodes and quotas.
    """
    more = () if further is None else further.amounts
    types = [node.gpu_type for node in round_.cluster.nodes]
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    limited = {tenant: position for position, tenant in enumerate(quotas)}
    homes = [{node for option in mine for node in option.home} for mine in options]
    told = {option.among for mine in options for option in mine if option.among is not None}
    apart = [[some for some, among in enumerate(told) if node in among] for node in range(len(types))]
    wide = [{node for option in mine for node in option.wide or ()} for mine in options]
    for node, others in enumerate(apart):  # of nodes that are a job's home, some have larger parts of it
        others += [-1 - job for job, there in enumerate(wide) if node in there]
    lines = tenant_lines(round_)
    counts = [[limited[one] for one in lines.get(job.tenant or "", ()) if one in limited] for job in jobs]
    asked = [(mine, gpus) if gpus != 0 and mine else None for mine, gpus in zip(counts, asks, strict=True)]
    tables = [_by_gpus(mine) for mine in options]
    total = round_.cluster.total_gpus
    pools = [(total, tables)]
    if quotas or more:
        pools.append((total, [table if ask is None else {} for table, ask in zip(tables, asked, strict=True)]))
    for quota, gpus in enumerate(quotas.values()):  # what is asked of a quota may be more than the cluster has
        best = zip(tables, asked, strict=True)
        mine = [_of_quota(table, ask[1]) if ask and ask[0][0] == quota else {} for table, ask in best]
        pools.append((gpus, mine))
    pools += [(total, [{} for _ in tables]) for _ in more]
    search = _Options(
        options=options,
        asks=asked,
        types=types,
        marks=[
            [
                (repr((kind, apart[node])), tuple(later for later in range(job, len(homes)) if node in homes[later]))
                for node, kind in enumerate(types)
            ]
            for job in range(len(homes))
        ],
        rests=[best_from_each(most, pool) for most, pool in pools],
        steps=Steps(steps),
        must=must,
        further=further,
    )
    start = (tuple(room.sizes for room in empty_rooms(round_)), (*quotas.values(), *more))
    try:
        found = best_of(search, start, above=-1)
    except OutOfStepsError:
        return None
    return 0 if found is None else found[0]


def _by_gpus(options: Sequence[Option]) -> dict[int, int]:
    """Return the best value of a job for each number of GPUs it may run with."""
    table: dict[int, int] = {}
    for option in options:
        table[option.gpus] = max(option.value, table.get(option.gpus, 0))
    return table


def _of_quota(table: dict[int, int], asks: int | None) -> dict[int, int]:
    """Return the best values of a job by the GPUs of a quota that it uses: so many, or those that it has."""
    return table if asks is None else {asks: max([0, *table.values()])}
