"""The optimum of a small round of jobs that share GPUs, by going through every grouping on every set of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from muri_opt.rounds import Job, Round
from muri_opt.verify.amounts import Sizes, empty_rooms, held_by, minus, need_of, times
from muri_opt.verify.demands import asked_of
from muri_opt.verify.enumeration import OutOfStepsError, Steps, best_of, splits
from muri_opt.verify.muri.places import Where, shared_places, wheres
from muri_opt.verify.muri.rules import Sharing
from muri_opt.verify.muri.value import Sharers
from muri_opt.verify.sharing_now import RunningJobs
from muri_opt.verify.tenant_lines import tenant_lines

State = tuple[frozenset[int], tuple[Sizes, ...], tuple[int, ...]]
"""Jobs that are in a group with one before them, what is left of the nodes, and of the quotas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Jobs with what they are worth together, what one of their GPUs takes, and of which quotas.

    They are worth ``stays`` on the GPUs of ``now``, if they may be a group that runs there.
    """

    jobs: tuple[int, ...]
    value: int
    unit: Sizes
    gpus: int
    quotas: tuple[int, ...]
    among: Sequence[frozenset[int]]
    exact: Sequence[Mapping[int, int]]
    stays: int
    now: Mapping[int, int] | None

    @property
    def most(self) -> int:
        """What they are worth at most."""
        return self.value if self.now is None else max(self.value, self.stays)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groupings:
    """Jobs one after another: each waits, is in a group already, or begins one with some of those after it.

    ``rest[j]`` is what groups that begin with j or a job after it are worth at most.
    """

    groups: Sequence[Sequence[_Group]]
    looks: Sequence[int]
    rest: Sequence[int]
    steps: Steps

    def decided(self, job: int, state: State) -> bool:
        return job == len(self.groups)

    def outcomes(self, job: int, state: State) -> Iterator[tuple[int, State]]:
        taken, rooms, quotas = state
        if job in taken:
            yield 0, (taken - {job}, rooms, quotas)
            return
        for group in self.groups[job]:
            self.steps.count()
            spare = tuple(left - used for left, used in zip(quotas, group.quotas, strict=True))
            if taken.isdisjoint(group.jobs) and min(spare, default=0) >= 0:
                for value, share in self._shares(group, rooms):
                    left = list(rooms)
                    for node, gpus in share.items():
                        left[node] = minus(left[node], times(group.unit, gpus))
                    yield value, (taken | set(group.jobs[1:]), tuple(left), spare)
        yield 0, state

    def _shares(self, group: _Group, rooms: Sequence[Sizes]) -> Iterator[tuple[int, Mapping[int, int]]]:
        """Yield every way to put the GPUs of a group on nodes, of those that look alike any, and what it is worth."""
        holds = [held_by(room, group.unit, group.gpus) for room in rooms]
        looks = list(zip(self.looks, rooms, strict=True))
        if group.now is not None and all(holds[node] >= gpus for node, gpus in group.now.items()):
            yield group.stays, group.now
        for share in group.exact:
            if all(holds[node] >= gpus for node, gpus in share.items()):
                yield group.value, share
        for nodes in group.among:
            here = [most if node in nodes else 0 for node, most in enumerate(holds)]
            for share in splits(here, looks, group.gpus, nodes=len(rooms), steps=self.steps):
                yield group.value, share

    def key(self, job: int, state: State) -> Hashable:
        return state

    def most(self, job: int, state: State) -> int:
        return self.rest[job]

    def end(self, state: State) -> int:
        return 0


def enumerated_optimum(round_: Round, rules: Sharing, *, steps: int) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    if any(job.gpus < 1 or job.stage_seconds is None for job in round_.jobs):
        return None
    count = Steps(steps)
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    try:
        groups = _groups(round_, rules, [*quotas], count)
        best = [max((group.most for group in some), default=0) for some in groups]
        rest = [sum(max(0, value) for value in best[job:]) for job in range(len(best) + 1)]
        search = _Groupings(groups=groups, looks=_looks(groups, len(round_.cluster.nodes)), rest=rest, steps=count)
        rooms = tuple(room.sizes for room in empty_rooms(round_))
        found = best_of(search, (frozenset[int](), rooms, tuple(quotas.values())), above=-1)
    except OutOfStepsError:
        return None
    return 0 if found is None else found[0]


def _groups(round_: Round, rules: Sharing, quotas: Sequence[str], steps: Steps) -> list[list[_Group]]:
    """Return for each job the groups of it and jobs after it, those of the largest value first."""
    where, sharers, lines = wheres(round_, asked_of(round_)), Sharers.of(round_, rules), tenant_lines(round_)
    running = RunningJobs(round_) if sharers.pays else None
    found: list[list[_Group]] = []
    for first in range(len(round_.jobs)):
        groups = []
        for more in range(rules.most_jobs(len(round_.resources))):
            for others in combinations(range(first + 1, len(round_.jobs)), more):
                steps.count()
                places = (first, *others)
                jobs = [round_.jobs[place] for place in places]
                if len({job.gpus for job in jobs}) > 1 and not rules.mixed:
                    continue
                value = int(sharers.values(np.array([places]))[0])
                mine = [where[place] for place in places]
                group = _group(places, jobs, value, mine, [_held(jobs, lines, quota) for quota in quotas])
                here = jobs[0].placement or {}
                if running and sum(here.values()) == group.gpus and running.may_be([job.id for job in jobs], here):
                    stays = int(sharers.values(np.array([places]), kept=np.array([True]))[0])
                    index = round_.cluster.node_index
                    now = {index[node]: gpus for node, gpus in here.items() if gpus}
                    group = replace(group, stays=stays, now=now)
                groups.append(group)
        found.append(sorted(groups, key=lambda group: -group.most))
    return found


def _group(
    places: tuple[int, ...], jobs: Sequence[Job], value: int, mine: Sequence[Where], held: Sequence[int]
) -> _Group:
    needs, gpus = [need_of(job) for job in jobs], max(job.gpus for job in jobs)
    where = [*shared_places(mine, gpus)]
    return _Group(
        jobs=places,
        value=value,
        unit=(1, sum(need.milli for need in needs), sum(need.mebibytes for need in needs)),
        gpus=gpus,
        quotas=tuple(held),
        among=[place for place in where if isinstance(place, frozenset)],
        exact=[dict(place) for place in where if isinstance(place, tuple)],
        stays=value,
        now=None,
    )


def _held(jobs: Sequence[Job], lines: Mapping[str, tuple[str, ...]], quota: str) -> int:
    return sum(job.gpus for job in jobs if quota in lines.get(job.tenant or "", ()))


def _looks(groups: Sequence[Sequence[_Group]], nodes: int) -> list[int]:
    """Return a number for each node, equal for those that are the same to all groups."""
    told = {place for some in groups for group in some for place in group.among}
    exact = {node for some in groups for group in some for share in (*group.exact, group.now or {}) for node in share}
    known: dict[object, int] = {}
    return [
        known.setdefault((node if node in exact else -1, *(node in place for place in told)), len(known))
        for node in range(nodes)
    ]
