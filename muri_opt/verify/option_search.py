"""The best of jobs with a few options each, on nodes and within quotas, by enumeration: of gangs, and of plans."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muri_opt.rounds import Job, Round
from muri_opt.verify.amounts import Sizes, empty_rooms, held_by, minus, times
from muri_opt.verify.counting import best_from_each
from muri_opt.verify.enumeration import OutOfStepsError, Steps, best_of, splits
from muri_opt.verify.tenant_lines import tenant_lines

State = tuple[tuple[Sizes, ...], tuple[int, ...]]
"""What is left of the nodes, and of the quotas."""
Mark = tuple[str, tuple[int, ...]]
"""What tells a node from others, all else equal: the type of its GPUs, and which jobs still to come are at home."""


class Option(NamedTuple):
    """So many equal parts of a job, each taking a ``unit``: at most ``each`` on a node, on at most ``nodes`` nodes.

    ``gpu_type`` is that of the nodes, if it matters, ``among`` the only ones it may use, and ``least`` how many it must
    use. An option at ``home`` has exactly so many parts on each of these nodes.
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

    def may_use(self, node: int) -> bool:
        """Return whether some of it may be on a node."""
        return self.among is None or node in self.among


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of all jobs, and what each takes of which quota.

    ``rests`` has what the jobs from each one on are worth at most, by GPUs: all jobs and, where there are quotas, those
    without one and those of each by its GPUs.
    """

    options: Sequence[Sequence[Option]]
    asks: Sequence[tuple[Sequence[int], int] | None]
    types: Sequence[str | None]
    marks: Sequence[Sequence[Mark]]
    rests: Sequence[Sequence[Sequence[int]]]
    steps: Steps
    must: Collection[int]

    def decided(self, job: int, state: State) -> bool:
        return job == len(self.options)

    def outcomes(self, job: int, state: State) -> Iterator[tuple[int, State]]:
        rooms, quotas = state
        asked = self.asks[job]
        if asked is not None:
            mine, gpus = asked
            quotas = tuple(left - gpus if quota in mine else left for quota, left in enumerate(quotas))
        for option in self.options[job] if min(quotas, default=0) >= 0 else ():
            for share in self._shares(job, rooms, option):
                left = list(rooms)
                for node, parts in share.items():
                    left[node] = minus(left[node], times(option.unit, parts))
                yield option.value, (tuple(left), quotas)
        if job not in self.must:
            yield 0, state

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


def best_options(
    round_: Round,
    jobs: Sequence[Job],
    options: Sequence[Sequence[Option]],
    asks: Sequence[int],
    *,
    steps: int,
    must: Collection[int] = (),
) -> int | None:
    """Return the largest value of one option or none of each job, or ``None`` if it takes more than so many steps.

    ``asks`` has for each job the GPUs of its tenant's quota that it uses; those that ``must`` have one of their
    options, not none.
    """
    types = [node.gpu_type for node in round_.cluster.nodes]
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    limited = {tenant: position for position, tenant in enumerate(quotas)}
    homes = [{node for option in mine for node in option.home} for mine in options]
    told = {option.among for mine in options for option in mine if option.among is not None}
    apart = [[some for some, among in enumerate(told) if node in among] for node in range(len(types))]
    lines = tenant_lines(round_)
    counts = [[limited[one] for one in lines.get(job.tenant or "", ()) if one in limited] for job in jobs]
    asked = [(mine, gpus) if gpus and mine else None for mine, gpus in zip(counts, asks, strict=True)]
    tables = [_by_gpus(mine) for mine in options]
    total = round_.cluster.total_gpus
    pools = [(total, tables)]
    if quotas:
        pools.append((total, [table if ask is None else {} for table, ask in zip(tables, asked, strict=True)]))
    for quota, gpus in enumerate(quotas.values()):  # what is asked of a quota may be more than the cluster has
        best = zip(tables, asked, strict=True)
        mine = [{ask[1]: max([0, *table.values()])} if ask and ask[0][0] == quota else {} for table, ask in best]
        pools.append((gpus, mine))
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
    )
    start = (tuple(room.sizes for room in empty_rooms(round_)), tuple(quotas.values()))
    try:
        found = best_of(search, start, above=-1)
    except OutOfStepsError:
        return None
    return 0 if found is None else found[0]


def _by_gpus(options: Sequence[Option]) -> dict[int, int]:
    """Return the best value of a job for each number of GPUs it may run with."""
    table: dict[int, int] = {}
    for option in options:
        gpus = option.unit[0] * option.parts
        table[gpus] = max(option.value, table.get(gpus, 0))
    return table
