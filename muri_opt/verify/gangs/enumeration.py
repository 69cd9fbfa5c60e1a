"""The optimum of a small round by enumeration: an exact method that shares nothing with the solvers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from muri_opt.rounds import Round
from muri_opt.verify.amounts import Need, Room, empty_rooms, need_of, smallest_node_count
from muri_opt.verify.gangs.rules import GangRules
from muri_opt.verify.gangs.staying import open_round
from muri_opt.verify.gangs.value import job_values

Nodes = tuple[Room, ...]


class _OutOfStepsError(Exception):
    pass


@dataclass(slots=True)
class _Search:
    """Depth-first over the jobs by value, each taken or left; a set counts if its gangs can be placed together."""

    needs: list[Need]
    values: list[int]
    tenants: list[str | None]
    limits: list[int]
    steps: int
    best: int = 0
    placeable: dict[tuple[tuple[int, ...], Nodes], bool] = field(default_factory=dict)

    def run(self, job: int, value: int, taken: tuple[int, ...], rooms: Nodes, quota: dict[str, int]) -> None:
        self.best = max(self.best, value)
        if job == len(self.needs) or value + sum(self.values[job:]) <= self.best:
            return
        tenant, gpus = self.tenants[job], self.needs[job].gpus
        allowed = tenant is None or gpus <= quota.get(tenant, gpus)
        if allowed and self.values[job] and self.fits((*taken, job), rooms):
            after = quota if tenant is None or tenant not in quota else {**quota, tenant: quota[tenant] - gpus}
            self.run(job + 1, value + self.values[job], (*taken, job), rooms, after)
        self.run(job + 1, value, taken, rooms, quota)

    def fits(self, gangs: tuple[int, ...], rooms: Nodes) -> bool:
        """Return whether the gangs can be placed together, trying every split of every gang."""
        if not gangs:
            return True
        if sum(self.needs[gang].gpus for gang in gangs) > sum(room.gpus for room in rooms):
            return False
        key = (gangs, tuple(sorted(rooms, key=_room_key)))
        if key not in self.placeable:
            first, rest = gangs[0], gangs[1:]
            need, limit = self.needs[first], self.limits[first]
            self.placeable[key] = any(
                self.fits(rest, after) for after in self.splits(key[1], need, need.gpus, limit, ())
            )
        return self.placeable[key]

    def splits(self, rooms: Nodes, need: Need, missing: int, nodes: int, done: Nodes) -> list[Nodes]:
        """Return the rooms left by every way to put ``missing`` GPUs on at most ``nodes`` of the rooms."""
        self.steps -= 1
        if self.steps < 0:
            raise _OutOfStepsError
        if missing == 0:
            return [(*done, *rooms)]
        if not rooms or nodes == 0:
            return []
        room, others = rooms[0], rooms[1:]
        ways = []
        for gpus in range(min(missing, room.holds(need)), -1, -1):
            here = (*done, room.without(need, gpus))
            ways += self.splits(others, need, missing - gpus, nodes - (gpus > 0), here)
        return ways


def enumerated_optimum(round_: Round, rules: GangRules, *, steps: int = 20_000) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    values, left = job_values(round_, rules), open_round(round_, rules)
    jobs = sorted(left.jobs, key=lambda job: -values[job.id])
    rooms, empty = empty_rooms(left), Counter(empty_rooms(round_))
    needs = [need_of(job) for job in jobs]
    least = [smallest_node_count(empty, need) for need in needs]
    search = _Search(
        needs=needs,
        values=[0 if count is None else values[job.id] for job, count in zip(jobs, least, strict=True)],
        tenants=[job.tenant for job in jobs],
        limits=[(count or 0) if rules.fewest_nodes else len(rooms) for count in least],
        steps=steps,
    )
    quota = {tenant.id: tenant.quota_gpus for tenant in left.cluster.tenants if tenant.quota_gpus is not None}
    try:
        search.run(0, 0, (), tuple(rooms), quota)
    except (_OutOfStepsError, RecursionError):
        return None
    return search.best


def _room_key(room: Room) -> tuple[int, int, int]:
    return (room.gpus, -1 if room.milli is None else room.milli, -1 if room.mebibytes is None else room.mebibytes)
