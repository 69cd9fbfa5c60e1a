"""Small random rounds of plans that use the fields of format 2, and their optimum by trying everything."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil
from random import Random

from configuration_rounds import allowed, cost, random_round, renamed
from msgspec.structs import replace
from planning_rounds import EveryChoice, random_plan_round
from running_states import settled

from muri_opt import Cluster, Job, Node, Plan, Round, Tenant
from muri_opt.rounds import NodeRange, Within
from muri_opt.systems.plans import PlanRules

GROUPS = {
    "types": ("gpu_type", "gpu_types", "plan_types"),
    "labels": ("labels",),
    "within": ("within",),
    "until": ("until",),
    "shape": ("nodes", "even"),
    "priority": ("priority",),
    "tenants": ("parent",),
    "all": ("gpu_type", "gpu_types", "plan_types", "labels", "within", "until", "nodes", "priority", "parent"),
}
"""Which fields the rounds of a group may use; of all fields a round has some."""


def asked_plan_round(seed: int, group: str) -> Round:
    """Return one round of a group: that of the seed without it, with fields added."""
    return with_fields(random_plan_round(seed), seed, group)


def asked_configuration_round(seed: int, group: str) -> Round:
    """Return the same of jobs that say their configurations, of some seeds by names that do not tell them."""
    base = random_round(Random(seed), jobs=3, nodes=3)
    return with_fields(renamed(base, Random(seed)) if seed % 2 else base, seed, group)


def with_fields(base: Round, seed: int, group: str) -> Round:
    """Return a round with fields of a group."""
    draw, fields = Random(f"{group}/{seed}"), GROUPS[group]
    if group == "all":
        fields = tuple(field for field in fields if draw.random() < 0.4)
    nodes = tuple(_node(draw, place, node, fields) for place, node in enumerate(base.cluster.nodes))
    tenants = base.cluster.tenants
    if "parent" in fields:
        first, *others = tenants
        tenants = (first, *(_below(draw, one, first.id) for one in others), Tenant(id="c", parent=tenants[-1].id))
    names = [tenant.id for tenant in tenants]
    jobs = [_job(draw, job, fields, names) for job in base.jobs]
    levels = ("rack",) if "within" in fields else ()
    cluster = Cluster(levels=levels, nodes=nodes, tenants=tenants)
    return Round(
        format="muri-opt/round/2",
        name=f"asked-plans/{group}/{seed}",
        now=base.now,
        cluster=cluster,
        jobs=settled(cluster, jobs),
    )


def _node(draw: Random, place: int, node: Node, fields: tuple[str, ...]) -> Node:
    said: dict[str, object] = {}
    if "gpu_type" in fields:
        said["gpu_type"] = draw.choice(["A", "A", "B", None])
    if "labels" in fields:
        said["labels"] = tuple(label for label in ("x", "y") if draw.random() < 0.5)
    if "until" in fields:
        said["available_until"] = draw.choice([None, None, 700.0, 750.0, 900.0])
    if "within" in fields:
        said["rack"] = draw.choice(["r0", "r1", None]) if place else "r0"
    return replace(node, **said)


def _below(draw: Random, tenant: Tenant, parent: str) -> Tenant:
    return replace(tenant, parent=parent) if draw.random() < 0.8 else tenant


def _job(draw: Random, job: Job, fields: tuple[str, ...], tenants: list[str]) -> Job:
    said: dict[str, object] = {}
    if job.predictable is None and job.remaining_iterations is None:
        said["remaining_iterations"] = draw.choice([0, 1, 50, 4000, 10**6])
    if "gpu_types" in fields:
        said["gpu_types"] = draw.choice([None, None, ("A",), ("A", "B")])
    if "labels" in fields and draw.random() < 0.6:
        said |= draw.choice([{"requires": ("x",)}, {"excludes": ("y",)}, {"requires": ("x",), "excludes": ("y",)}])
    if "until" in fields:
        said["time_limit_seconds"] = draw.choice([None, 50.0, 100.0])
    if "priority" in fields:
        said["priority"] = draw.randint(-1, 1)
    if "within" in fields and draw.random() < 0.6:
        said["within"] = Within(level="rack")
    if "nodes" in fields and job.gpus:
        said["nodes"] = draw.choice([None, NodeRange(least=1, most=1), NodeRange(least=1, most=2)])
        if job.gpus > 1:
            said["nodes"] = draw.choice([said["nodes"], NodeRange(least=2)])
    if "even" in fields:
        said["even"] = draw.random() < 0.3
    if "parent" in fields:
        said["tenant"] = draw.choice([*tenants, None])
    if "plan_types" in fields:
        said["plans"] = tuple(_plan(draw, plan, job) for plan in job.plans or ())
    return replace(job, **said)


def _plan(draw: Random, plan: Plan, job: Job) -> Plan:
    alone = sum(plan.name == other.name for other in job.plans or ()) == 1
    return replace(plan, gpu_type=None, gpu_types=("A", "B")) if alone and draw.random() < 0.4 else plan


class EveryAskedChoice(EveryChoice):
    """The words of the round format, tried out on every set of nodes; values are compared priority by priority."""

    def __init__(self, round_: Round, rules: PlanRules) -> None:
        super().__init__(round_, rules)
        self.priorities = sorted({job.priority for job in round_.jobs}, reverse=True)

    def best(self) -> int:
        """Return the most any choice is worth: what it has of each priority, the largest first, as one number."""
        room = tuple(
            (node.gpus, *(10**9 if has is None else round(has * unit) for has, unit in _others(node)))
            for node in self.nodes
        )
        quota = tuple(10**9 if t.quota_gpus is None else t.quota_gpus for t in self.round_.cluster.tenants)
        most = dict.fromkeys(self.priorities, 0)
        for job, ways in zip(self.round_.jobs, self.ways, strict=True):
            values = [value for _, _, away, at in ways for value in (away, *at.values())]
            most[job.priority] += max(values) + self._bonus(job) if values else 0
        total = 0
        vars(self)["_vector"] = cache(self._vector)  # what is left of a round is come to in many ways
        for priority, value in zip(self.priorities, self._vector(0, room, quota), strict=True):
            total = total * (1 + most[priority]) + value
        return total

    def _bonus(self, job: Job) -> int:
        return self.served if job.guarantee is not None else 0

    def _vector(self, j: int, room: tuple, quota: tuple) -> tuple[int, ...]:
        """Return the best that the jobs from j on can have, by priority."""
        if j == len(self.round_.jobs):
            return (0,) * len(self.priorities)
        found, job = self._vector(j + 1, room, quota), self.round_.jobs[j]
        if job.guarantee is not None:
            tenants = zip(quota, self.round_.cluster.tenants, strict=True)
            quota = tuple(left - job.gpus * self._is_below(job.tenant, tenant.id) for left, tenant in tenants)
            if min(quota, default=0) < 0:
                return found
        place = self.priorities.index(job.priority)
        for plan, part, value, at in self.ways[j]:
            for chosen, left in self._tries(job, plan, part, room):
                rest = list(self._vector(j + 1, left, quota))
                rest[place] += self._bonus(job) + at.get(chosen, value)
                found = max(found, tuple(rest))
        return found

    def _tries(self, job: Job, plan: Plan, part: tuple, room: tuple) -> Iterator[tuple[tuple, tuple]]:
        """Yield every place of a plan where it fits, and what nodes have left beside it."""
        for chosen in self._places(job, plan):
            left = list(room)
            for s in chosen:
                left[s] = tuple(has - need for has, need in zip(room[s], part, strict=True))
            if min(min(left[s]) for s in chosen) >= 0:
                yield chosen, tuple(left)

    def _is_below(self, tenant: str | None, other: str) -> bool:
        parents = {one.id: one.parent for one in self.round_.cluster.tenants}
        return tenant is not None and (tenant == other or self._is_below(parents[tenant], other))

    def _own(self, plan: Plan) -> list[int]:
        wanted = plan.gpu_types if plan.gpu_type is None else (plan.gpu_type,)
        return [s for s, node in enumerate(self.nodes) if wanted is None or node.gpu_type in wanted]

    def _starts(self, job: Job, plan: Plan) -> list[tuple[int, ...]]:
        few = job.nodes is None or job.nodes.least <= plan.nodes <= (job.nodes.most or plan.nodes)
        return [some for some in combinations(self._own(plan), plan.nodes) if few and self._may_start(job, some)]

    def _places(self, job: Job, plan: Plan) -> list[tuple[int, ...]]:
        own, chosen = self._own(plan), self._starts(job, plan)
        held = job.placement or {} if job.state == "running" else {}
        home = tuple(s for s in own if self.nodes[s].id in held)
        same = plan.name == job.plan and sorted(held.values()) == [plan.gpus // plan.nodes] * plan.nodes
        return [*chosen, home] if same and len(home) == plan.nodes and home not in chosen else chosen

    def _may_start(self, job: Job, some: tuple[int, ...]) -> bool:
        nodes = [self.nodes[s] for s in some]
        if len({node.gpu_type for node in nodes}) > 1 and "node.gpu_type" in self.round_.used_fields:
            return False
        racks = {node.rack for node in nodes}
        if job.within is not None and (None in racks or len(racks) > 1):
            return False
        ends = self.round_.now + (job.time_limit_seconds or 1e-6)
        return all(
            (job.gpu_types is None or node.gpu_type in job.gpu_types)
            and set(job.requires) <= set(node.labels)
            and not set(job.excludes) & set(node.labels)
            and (node.available_until is None or ends <= node.available_until)
            for node in nodes
        )


class EveryAskedConfiguration(EveryAskedChoice):
    """The same where the most jobs are to run, and then with the least remaining time."""

    def __init__(self, round_: Round, rules: PlanRules) -> None:
        super().__init__(round_, rules)
        values = [self._values(job, ways) for job, ways in zip(round_.jobs, self.ways, strict=True)]
        self.started = 1 - sum(min(mine, default=0) for mine in values)
        self.served = 1 + sum(max(mine) + self.started for mine in values if mine)

    def _bonus(self, job: Job) -> int:
        return self.started + (self.served if job.guarantee is not None else 0)

    def _values(self, job: Job, ways: list) -> list[int]:
        """Return what each way is worth where it starts, if it may anywhere, and where it is."""
        found = [value for _, _, _, at in ways for value in at.values()]
        for plan, _, away, _ in ways:
            found += [away] * any(self._has_room(job, plan, some) for some in self._starts(job, plan))
        return found

    def _ways(self, job: Job) -> list:
        held = tuple(job.placement or ()) if job.state == "running" else ()
        found = []
        for plan in job.plans:
            if self._fits(job, plan) and allowed(job, plan, self.rules):
                part = (plan.gpus // plan.nodes, ceil(Fraction(round(plan.cpus * 1000), plan.nodes)), 0)
                stays = self._home(job, plan, part, lambda plan, _: -cost(job, plan, self.rules, held))
                found.append((plan, part, -cost(job, plan, self.rules, ()), stays))
        return found


def _others(node: Node) -> tuple[tuple[float | None, int], tuple[float | None, int]]:
    return (node.cpus, 1000), (node.memory_gib, 1024)
