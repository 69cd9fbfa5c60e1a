"""Small rounds of several tenants that use the fields of format 2, and their best decision by trying every one."""

from __future__ import annotations

from collections import Counter
from random import Random

from asked_brute_force import _allowed as is_allowed, _is_below as is_below, _lost as is_lost
from asked_rounds import GROUPS, asked_round
from msgspec.structs import replace
from placement_cases import SETTINGS, EveryPlacement, Place

from muri_opt import Round, Tenant

__all__ = ["GROUPS", "AskedPlacement", "asked_placement_round"]


def asked_placement_round(seed: int, group: str, most_jobs: int = 5) -> tuple[Round, str]:
    """Return a round of a group of fields, with times to restart and waits, racks and quotas, and a policy."""
    draw, round_ = Random(f"placement/{group}/{seed}"), asked_round(seed, group, most_jobs)
    cluster, jobs = round_.cluster, round_.jobs
    if "within" not in GROUPS[group]:
        nodes = tuple(replace(node, rack=draw.choice(("r0", "r1", None))) for node in cluster.nodes)
        cluster = replace(cluster, nodes=nodes)
    if not cluster.tenants:
        quotas = (draw.choice((None, 0, 1, 2)), draw.choice((1, 2, 4)))
        cluster = replace(cluster, tenants=tuple(Tenant(id=f"t{v}", quota_gpus=q) for v, q in enumerate(quotas)))
        jobs = tuple(replace(job, tenant=draw.choice(("t0", "t0", "t1", None))) for job in jobs)
    jobs = tuple(
        replace(
            job,
            restart_seconds=draw.choice((None, 0.0, 0.0, 30.0, 600.0)),
            waiting_seconds=draw.choice((0.0, 700.0, 2000.0, 90000.0)),
        )
        for job in jobs
    )
    chosen = draw.sample(sorted(SETTINGS), draw.randint(0, 3))
    chosen += [name for name in ("preempt_at", "migrate") if name not in chosen and draw.random() < 0.5]
    spec = "philly" + ":" * bool(chosen) + ",".join(f"{name}={draw.choice(SETTINGS[name])}" for name in chosen)
    return replace(round_, cluster=cluster, jobs=jobs), spec


class AskedPlacement(EveryPlacement):
    """All decisions of a round in which jobs ask for nodes, order and times, and tenants are part of others."""

    def _weigh(self) -> None:
        for s, node in enumerate(self.round.cluster.nodes):
            if node.state == "down":
                self.capacity[s] = (0, *self.capacity[s][1:])
        self.total = sum(row[0] for row in self.capacity)
        self.now = [None if is_lost(self.round, job) else place for job, place in zip(self.jobs, self.now, strict=True)]
        self.starts = [self._starts(j) for j in range(len(self.jobs))]
        super()._weigh()
        self.cost = [cost if now is not None else 0 for cost, now in zip(self.cost, self.now, strict=True)]
        order = sorted({job.priority for job in self.jobs})
        self.rank = [order.index(job.priority) for job in self.jobs]
        self._weigh_priorities(len(order))

    def _weigh_priorities(self, count: int) -> None:
        """Write the sums of the value as digits of one number, the largest priority and the first sum in front."""
        jobs, ranks = range(len(self.jobs)), range(count)
        if self.set["objective"] == "weighted":
            self.of_rank = [(1000 * (r + 1), 1000 * (r + 1), r + 1) for r in ranks]
            return
        gpus = [sum(self.jobs[j].gpus for j in jobs if self.rank[j] == r) for r in ranks]
        costs = [sum(self.cost[j] for j in jobs if self.rank[j] == r) for r in ranks]
        stops = [sum(self.jobs[j].gpus for j in jobs if self.rank[j] == r and self._evictable(j)) for r in ranks]
        bases = [1250 * gpus[r] + costs[r] + 1 for r in ranks]
        bases += [stops[r] + 1 for r in ranks] + [gpus[r] + 1 for r in ranks]
        digits, unit = [], 1
        for base in bases:
            digits.append(unit)
            unit *= base
        self.of_rank = [(digits[2 * count + r], digits[count + r], digits[r]) for r in ranks]

    def _starts(self, j: int) -> list[Place]:
        """Return every place where the job may start, or be put."""
        job = self.jobs[j]
        waits = job.state == "waiting" or is_lost(self.round, job)
        if waits and (job.held is not None or (job.not_before or 0.0) > self.round.now):
            return []
        movable = job.preemptible is not False if job.movable is None else job.movable
        if self.now[j] is not None and not movable:
            return []
        return [place for place in super()._places(j) if is_allowed(self.round, job, place)]

    def _line(self, j: int) -> list[str]:
        """Return the tenants with a quota that counts the job's GPUs."""
        return [tenant for tenant in self.quota if is_below(self.round, self.jobs[j].tenant, tenant)]

    def _depth(self, tenant: str) -> int:
        """Return of how many tenants with a quota this one is part, with itself."""
        return sum(is_below(self.round, tenant, other) for other in self.quota)

    def _evictable(self, j: int) -> bool:
        job = self.jobs[j]
        able = self.now[j] is not None and job.restart_seconds is not None and bool(self._line(j))
        return able and job.preemptible is not False and self.set["preempt_at"] != "never"

    def _spread(self, j: int, place: Place) -> int:
        used = [self._nodes(p) for p in self.starts[j]]
        if not used:
            return 0
        local = [len(nodes) for nodes in used if len({self.racks[s] for s in nodes}) == 1]
        nodes = self._nodes(place)
        if local and len({self.racks[s] for s in nodes}) > 1:
            return 2
        fewest = min(local or map(len, used))
        return 0 if len(nodes) <= fewest else 1 if local else 2

    def _places(self, j: int) -> list[Place]:
        return self.starts[j]

    def _worth(self, j: int, place: Place | None) -> int:
        _, penalty, work = self.of_rank[self.rank[j]]
        self.P = 0
        again = self.set["migrate"] == "0" and self.now[j] is not None and place != self.now[j]
        stopped = again or (place is None and self.now[j] is not None)
        return work * super()._worth(j, place) - penalty * self.jobs[j].gpus * stopped

    def _counted(self, chosen: dict[int, Place | None]) -> int:
        """Return what GPUs are worth by being within quotas: priorities one after another, the largest first."""
        value, before = 0, 0
        for rank in reversed(range(len(self.of_rank))):
            runs = [j for j, place in chosen.items() if place is not None and self.rank[j] >= rank]
            within = self._most_within(runs)
            value += self.of_rank[rank][0] * (within - before)
            before = within
        return value

    def _most_within(self, runs: list[int]) -> int:
        """Return how many GPUs of these jobs are within all quotas: from the smallest part up, at most each quota."""
        free = sum(self.jobs[j].gpus for j in runs if not self._line(j))
        inside: Counter[str] = Counter()
        depth = {tenant: self._depth(tenant) for tenant in self.quota}
        for j in runs:
            for nearest in sorted(self._line(j), key=lambda t: -depth[t])[:1]:
                inside[nearest] += self.jobs[j].gpus
        for tenant in sorted(self.quota, key=lambda t: -depth[t]):
            counted = min(inside[tenant], self.quota[tenant])
            above = [t for t in self.quota if t != tenant and is_below(self.round, tenant, t)]
            if above:
                inside[max(above, key=lambda t: depth[t])] += counted
            else:
                free += counted
        return free

    def allows(self, chosen: dict[int, Place | None]) -> bool:
        """Return whether a decision that gives every job a place it may have, or none, keeps the other rules."""
        gone = [j for j, place in chosen.items() if place is None and self.now[j] is not None]
        put = [j for j, place in chosen.items() if self.now[j] is not None and place not in (None, self.now[j])]
        gone += put if self.set["migrate"] == "0" else []
        for j in gone:
            has = {
                t: sum(self.jobs[i].gpus for i in chosen if chosen[i] is not None and t in self._line(i))
                for t in self.quota
            }
            nearest = max(self._line(j), key=lambda tenant: self._depth(tenant))
            if has[nearest] < self.quota[nearest]:
                return False
        quota, self.quota = self.quota, Counter()
        try:
            return super().allows(chosen)
        finally:
            self.quota = quota

    def fits(self, chosen: dict[int, Place | None]) -> bool:
        """Return whether the nodes have room for all places."""
        left = [list(row) for row in self.capacity]
        for j, place in chosen.items():
            for row, amount in zip(left, place or (), strict=False):
                row[:] = [have - amount * size for have, size in zip(row, self.each[j], strict=True)]
        return all(have >= 0 for row in left for have in row)

    def value(self, chosen: dict[int, Place | None]) -> int:
        """Return the value of a decision."""
        return self._counted(chosen) + sum(self._worth(j, place) for j, place in chosen.items())

    def best(self) -> int:
        """Return the largest value of any decision."""
        options = [list(self._options(j)) for j in range(len(self.jobs))]
        full = [self.of_rank[self.rank[j]][0] * job.gpus for j, job in enumerate(self.jobs)]
        promise = [max(full[j] * (place is not None) + worth for place, worth in o) for j, o in enumerate(options)]
        rests = [sum(promise[j:]) for j in range(len(promise) + 1)]
        found: int | None = None

        def step(j: int, left: list[list[int]], chosen: dict[int, Place | None], worth: int, most: int) -> None:
            nonlocal found
            if found is not None and most + rests[j] <= found:
                return
            if j == len(options):
                value = worth + self._counted(chosen)
                if (found is None or value > found) and self.allows(chosen):
                    found = value
                return
            for place, gain in options[j]:
                rest = (
                    left
                    if place is None
                    else [
                        [have - amount * size for have, size in zip(row, self.each[j], strict=True)]
                        for row, amount in zip(left, place, strict=True)
                    ]
                )
                if all(have >= 0 for row in rest for have in row):
                    step(j + 1, rest, chosen | {j: place}, worth + gain, most + gain + full[j] * (place is not None))

        step(0, [list(row) for row in self.capacity], {}, 0, 0)
        assert found is not None
        return found
