"""Small rounds of several tenants, and their best decision found by trying every one, straight from the rules."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from muri_opt import Cluster, Job, Node, Round, Tenant

DEFAULTS = {
    "rack_after": "600",
    "any_after": "1800",
    "hold": "150",
    "backoff": "0",
    "preempt_at": "0.9",
    "migrate": "0",
    "dedicated": "never",
    "rack_speed": "0.854",
    "any_speed": "0.729",
    "aging": "86400",
    "horizon": "600",
    "objective": "lexicographic",
}
SETTINGS = {
    "rack_after": ("0", "300"),
    "any_after": ("0", "900"),
    "backoff": ("150",),
    "preempt_at": ("never", "0", "0.5", "1"),
    "migrate": ("2", "4", "inf", "inf"),
    "dedicated": ("2", "3", "4"),
    "rack_speed": ("1",),
    "any_speed": ("0.3",),
    "aging": ("1000",),
    "horizon": ("6000",),
    "objective": ("weighted",),
}
Place = tuple[int, ...]
"""GPUs per node."""


def random_placement_round(seed: int) -> tuple[Round, str]:
    """Return a round of 2 to 4 nodes of 2 to 4 GPUs and 2 to 6 jobs, and the text of a policy."""
    rng = random.Random(seed)
    tight = rng.random() < 0.4
    nodes = []
    same = rng.choice((None, 2, 3, 4))
    for s in range(rng.choice((2, 2, 3, 3, 4))):
        gpus = same or rng.randint(2, 4)
        cpus, memory = (rng.choice((None, gpus / 2, gpus)) if tight else None for _ in range(2))
        nodes.append(
            Node(id=f"n{s}", gpus=gpus, cpus=cpus, memory_gib=memory, rack=rng.choice(("a", "b", None)[: 1 + seed % 3]))
        )
    total = sum(node.gpus for node in nodes)
    tenants = [Tenant(id=f"t{v}", quota_gpus=rng.choice((None, 0, total // 4, total // 2))) for v in range(2)]
    left = [[node.gpus, node.cpus, node.memory_gib] for node in nodes]
    jobs = [_random_job(rng, j, left, tight) for j in range(rng.choice((2, 3, 4, 5, 5, 6, 6)))]
    chosen = rng.sample(sorted(SETTINGS), rng.randint(0, 4))
    if "migrate" not in chosen and seed % 2:
        chosen.append("migrate")
    if "any_after" in chosen and "rack_after" not in chosen and rng.random() < 0.5:
        chosen.append("rack_after")
    spec = "philly" + ":" * bool(chosen) + ",".join(f"{name}={rng.choice(SETTINGS[name])}" for name in chosen)
    return Round(now=5000.0, cluster=Cluster(nodes=tuple(nodes), tenants=tuple(tenants)), jobs=tuple(jobs)), spec


def random_lent_round(seed: int) -> tuple[Round, str]:
    """Return a round whose borrowers are in the way of gangs within quota, with room for some of them elsewhere."""
    rng = random.Random(seed)
    nodes = tuple(Node(id=f"n{s}", gpus=rng.choice((3, 4, 4)), rack=rng.choice("ab")) for s in range(3))
    quotas = {"low": rng.choice((0, 0, 1, 3)), "high": sum(node.gpus for node in nodes)}
    jobs, free = [], {node.id: node.gpus for node in nodes}
    for j in range(rng.choice((2, 3, 4))):
        gpus, held = rng.choice((1, 1, 2, 2, 3)), {}
        for name in rng.sample(sorted(free), len(free)):
            if free[name] and sum(held.values()) < gpus:
                held[name] = min(free[name], gpus - sum(held.values()))
        if sum(held.values()) == gpus:
            free = {name: left - held.get(name, 0) for name, left in free.items()}
            low = rng.random() < 0.8
            given = {"tenant": "low" if low else "high", "restart_seconds": rng.choice((0.0, 30.0)) if low else None}
            waited = rng.choice((0.0, 700.0, 2000.0))
            jobs.append(Job(id=f"j{j}", gpus=gpus, state="running", placement=held, waiting_seconds=waited, **given))
    for j in range(rng.choice((1, 2))):
        waited = rng.choice((0.0, 0.0, 700.0))
        tenant, gpus = rng.choice(("high", "high", "low")), rng.choice((2, 3, 4, 4))
        jobs.append(Job(id=f"w{j}", gpus=gpus, waiting_seconds=waited, tenant=tenant, restart_seconds=0.0))
    tenants = tuple(Tenant(id=name, quota_gpus=quota) for name, quota in quotas.items())
    settings = rng.choice(("preempt_at=0", "preempt_at=0", "preempt_at=0.7", "preempt_at=0,dedicated=4"))
    return Round(now=5000.0, cluster=Cluster(nodes=nodes, tenants=tenants), jobs=tuple(jobs)), f"philly:{settings}"


def _random_job(rng: random.Random, position: int, left: list[list[float | None]], tight: bool) -> Job:
    runs = rng.random() < 0.55
    gpus = rng.choice((1, 1, 2, 2, 3, 4) if runs else (1, 1, 2, 2, 3, 3, 4, 5))
    fields: dict[str, object] = {
        "id": f"j{position}",
        "gpus": gpus,
        "tenant": rng.choice(("t0", "t0", "t1", None)),
        "cpus": rng.choice((None, gpus / 2, gpus, gpus)) if tight else None,
        "memory_gib": rng.choice((None, gpus / 2, gpus)) if tight else None,
        "restart_seconds": rng.choice((None, 0.0, 0.0, 30.0, 600.0)),
    }
    each = {1: (fields["cpus"] or 0.0) / gpus, 2: (fields["memory_gib"] or 0.0) / gpus}
    held: dict[str, int] = {}
    if runs:
        for s in rng.sample(range(len(left)), len(left)):
            fits = min(
                gpus - sum(held.values()),
                int(left[s][0]),
                *(int(left[s][k] / each[k]) for k in each if each[k] and left[s][k] is not None),
            )
            if fits:
                held[f"n{s}"] = fits
    if held and sum(held.values()) == gpus:
        for name, amount in held.items():
            for k, size in {0: 1, **each}.items():
                if left[int(name[1:])][k] is not None:
                    left[int(name[1:])][k] -= amount * size
        waited = rng.choice((None, None, 700.0, 2000.0))
        return Job(**fields, state="running", placement=held, waiting_seconds=waited)
    return Job(**fields, waiting_seconds=rng.choice((0.0, 700.0, 2000.0, 2000.0, 90000.0)))


class EveryPlacement:
    """All decisions of a round, by the rules as they are written, with nothing left out or merged."""

    def __init__(self, round_: Round, spec: str) -> None:
        given = dict(part.split("=") for part in spec.partition(":")[2].split(",") if part)
        self.set, self.round = DEFAULTS | given, round_
        nodes, self.jobs = round_.cluster.nodes, round_.jobs
        self.quota = {t.id: t.quota_gpus for t in round_.cluster.tenants if t.quota_gpus is not None}
        self.racks = [node.rack for node in nodes]
        self.capacity = [(node.gpus, _milli(node.cpus, 1000), _milli(node.memory_gib, 1024)) for node in nodes]
        self.total = sum(node.gpus for node in nodes)
        self.each = [
            (
                1,
                ceil(Fraction(_milli(job.cpus or 0, 1000), job.gpus)),
                ceil(Fraction(_milli(job.memory_gib or 0, 1024), job.gpus)),
            )
            for job in self.jobs
        ]
        self.now = [
            tuple((job.placement or {}).get(node.id, 0) for node in nodes) if job.state == "running" else None
            for job in self.jobs
        ]
        self.alone = [self.set["dedicated"] != "never" and job.gpus >= int(self.set["dedicated"]) for job in self.jobs]
        self.speed = (1000, int(1000 * Fraction(self.set["rack_speed"])), int(1000 * Fraction(self.set["any_speed"])))
        self._weigh()

    def best(self) -> int:
        """Return the largest value of any decision."""
        options = [list(self._options(j)) for j in range(len(self.jobs))]
        promise = [max((self.K * self.jobs[j].gpus * (p is not None) + w for p, w in o)) for j, o in enumerate(options)]
        order = sorted(range(len(options)), key=lambda j: len(options[j]))
        found = -(1 << 200)

        def step(depth: int, left: list[list[int]], chosen: dict[int, Place | None], worth: int) -> None:
            nonlocal found
            if depth == len(order):
                if self.allows(chosen):
                    found = max(found, worth + self.K * self._within(chosen))
                return
            running = sum(self.jobs[j].gpus for j, place in chosen.items() if place is not None)
            if worth + self.K * running + sum(promise[j] for j in order[depth:]) <= found:
                return
            j = order[depth]
            for place, gain in options[j]:
                rest = left
                if place is not None:
                    rest = [
                        [have - amount * size for have, size in zip(row, self.each[j], strict=True)]
                        for row, amount in zip(left, place, strict=True)
                    ]
                    if any(have < 0 for row in rest for have in row):
                        continue
                step(depth + 1, rest, chosen | {j: place}, worth + gain)

        step(0, [list(row) for row in self.capacity], {}, 0)
        return found

    def value(self, chosen: dict[int, Place | None]) -> int:
        """Return the value of a decision."""
        return self.K * self._within(chosen) + sum(self._worth(j, place) for j, place in chosen.items())

    def _weigh(self) -> None:
        self.cost = [
            job.gpus * min(10000, max(1, ceil(1000 * Fraction(job.restart_seconds) / Fraction(self.set["horizon"]))))
            if job.state == "running" and job.restart_seconds is not None
            else 0
            for job in self.jobs
        ]
        self.K = self.P = 1000
        if self.set["objective"] == "lexicographic":
            self.P = 1 + 1250 * sum(job.gpus for job in self.jobs) + sum(self.cost)
            self.K = self.P * (1 + sum(job.gpus for j, job in enumerate(self.jobs) if self._evictable(j)))

    def _evictable(self, j: int) -> bool:
        job = self.jobs[j]
        able = job.state == "running" and job.restart_seconds is not None and job.tenant in self.quota
        return able and self.set["preempt_at"] != "never"

    def _places(self, j: int) -> Iterator[Place]:
        """Yield every way to split the GPUs of a job over the nodes it would have to itself."""
        most = [
            min(have // size for have, size in zip(row, self.each[j], strict=True) if size) for row in self.capacity
        ]

        def split(s: int, gpus: int) -> Iterator[Place]:
            if s == len(most):
                if gpus == 0:
                    yield ()
                return
            for amount in range(min(most[s], gpus) + 1):
                for rest in split(s + 1, gpus - amount):
                    yield (amount, *rest)

        yield from split(0, self.jobs[j].gpus)

    def _nodes(self, place: Place) -> list[int]:
        return [s for s, amount in enumerate(place) if amount]

    def _spread(self, j: int, place: Place) -> int:
        used = [self._nodes(p) for p in self._places(j)]
        local = [len(nodes) for nodes in used if len({self.racks[s] for s in nodes}) == 1]
        nodes = self._nodes(place)
        if local and len({self.racks[s] for s in nodes}) > 1:
            return 2
        fewest = min(local or map(len, used))
        return 0 if len(nodes) <= fewest else 1 if local else 2

    def _options(self, j: int) -> Iterator[tuple[Place | None, int]]:
        job, now = self.jobs[j], self.now[j]
        if now is None:
            yield None, 0
            level = self._level(job)
        else:
            yield now, self._worth(j, now)
            if self._evictable(j):
                yield None, self._worth(j, None)
            if job.restart_seconds is None or (self.set["migrate"] == "0" and not self._evictable(j)):
                return
            level = max(self._spread(j, now), self._level(job))
        for place in self._places(j):
            if place != now and self._spread(j, place) <= level:
                yield place, self._worth(j, place)

    def _level(self, job: Job) -> int:
        waited = Fraction(job.waiting_seconds or 0)
        hold, pause = Fraction(self.set["hold"]), Fraction(self.set["backoff"])
        if pause and waited % (hold + pause) >= hold:
            return -1
        level = 0 if waited < Fraction(self.set["rack_after"]) else 1
        return level + int(level == 1 and waited >= Fraction(self.set["any_after"]))

    def _worth(self, j: int, place: Place | None) -> int:
        job = self.jobs[j]
        if place is None:
            return 0 if self.now[j] is None else -self.P * job.gpus - self.cost[j]
        speed = self.speed[self._spread(j, place)]
        if self.now[j] is not None:
            again = self.P * job.gpus * (self.set["migrate"] == "0") + self.cost[j]
            return job.gpus * speed - (0 if place == self.now[j] else again)
        aging = Fraction(self.set["aging"])
        age = 1000 + int(250 * min(Fraction(job.waiting_seconds), aging) / aging)
        return job.gpus * (age * speed // 1000)

    def _used(self, chosen: dict[int, Place | None]) -> Counter[str | None]:
        used: Counter[str | None] = Counter()
        for j, place in chosen.items():
            used[self.jobs[j].tenant] += self.jobs[j].gpus * (place is not None)
        return used

    def _within(self, chosen: dict[int, Place | None]) -> int:
        return sum(min(gpus, self.quota.get(tenant, gpus)) for tenant, gpus in self._used(chosen).items())

    def allows(self, chosen: dict[int, Place | None]) -> bool:
        """Return whether a decision that gives every job a place it may have, or none, keeps the other rules."""
        gone = [j for j, place in chosen.items() if place is None and self.now[j] is not None]
        put = [j for j, place in chosen.items() if self.now[j] is not None and place not in (None, self.now[j])]
        if self.set["migrate"] == "0":
            gone += put
        elif self.set["migrate"] != "inf" and sum(self.jobs[j].gpus for j in put) > int(self.set["migrate"]):
            return False
        used = self._used(chosen)
        if any(used[self.jobs[j].tenant] < self.quota[self.jobs[j].tenant] for j in gone):
            return False
        busy = sum(job.gpus for j, job in enumerate(self.jobs) if self.now[j] is not None or chosen[j] is not None)
        if gone and busy < Fraction(self.set["preempt_at"]) * self.total:
            return False
        for s in range(len(self.capacity)):
            here = [j for j, place in chosen.items() if place is not None and place[s]]
            new = any(chosen[j] != self.now[j] for j in here)
            if len(here) > 1 and new and any(self.alone[j] for j in here):
                return False
        return True


def _milli(amount: float | None, unit: int) -> int:
    return 1 << 50 if amount is None else int(Fraction(amount) * unit)
