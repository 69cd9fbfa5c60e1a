"""Small random rounds of plans, and their optimum by trying every plan of every job on every set of nodes."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil, isqrt

from running_states import settled

from muri_opt import Cluster, Guarantee, Job, Node, Plan, Round, Tenant
from muri_opt.systems.plans import PlanRules

ANY_RULES = (
    PlanRules(),
    PlanRules(reference="requested", horizon=90_000_000),
    PlanRules(change="plans"),
    PlanRules(change="resources"),
    PlanRules(change="neither", reference="requested"),
    PlanRules(power="-0.5"),
    PlanRules(change="resources", power="-1"),
)


def rules_for(seed: int) -> PlanRules:
    """Return rules that differ from seed to seed."""
    return ANY_RULES[seed % len(ANY_RULES)]


def plan_round(
    nodes: Sequence[int | Node], jobs: Sequence[Job], tenants: Sequence[Tenant] = (), now: float = 0
) -> Round:
    boxes = tuple(Node(id=f"n{s}", gpus=node) if isinstance(node, int) else node for s, node in enumerate(nodes))
    return Round(cluster=Cluster(nodes=boxes, tenants=tuple(tenants)), jobs=tuple(jobs), now=now)


def planned(position: int, *plans: Plan, **fields: object) -> Job:
    """Return a job of these plans that asks for the GPUs of the first and names it."""
    given: dict[str, object] = {
        "id": f"j{position}",
        "submitted": float(position),
        "gpus": plans[0].gpus,
        "plans": plans,
        "plan": plans[0].name,
    }
    return Job(**given | fields)


def random_plan_round(seed: int) -> Round:
    """Return 1 to 6 jobs on 1 to 4 nodes, with whatever a round under the rules of the seed can have."""
    rng, rules = random.Random(seed), rules_for(seed)
    strict = rules.change in ("resources", "neither") or rules.reference == "requested"
    types = rng.random() < 0.3
    nodes = [
        Node(
            id=f"n{s}",
            gpus=rng.choice((1, 2, 2, 3, 4, 4)),
            cpus=rng.choice((None, 4, 6, 8.5)),
            memory_gib=rng.choice((None, 10, 20)),
            gpu_type=rng.choice("AB") if types else None,
        )
        for s in range(rng.choice((1, 2, 2, 3, 3, 4)))
    ]
    jobs = []
    for position in range(rng.choice((1, 3, 4, 4, 5, 5, 6))):
        plans = _plans(rng, types)
        fields: dict[str, object] = {"tenant": rng.choice(("a", "a", "b", None)), "gpus": plans[0].gpus}
        fields |= {"cpus": rng.choice((None, 2.5)), "memory_gib": rng.choice((None, 5))}
        fields["restart_seconds"] = rng.choice((None, 0, 30, 120, 700))
        fields |= {"executed_seconds": rng.choice((None, 100.25)), "restarts": rng.choice((None, 0, 2))}
        fields["submitted"] = rng.choice((None, 0.0, 650.5))
        if rng.random() < 0.5:
            fields["guarantee"] = Guarantee(throughput=rng.choice(plans).throughput * rng.choice((0.3, 0.6, 1.0)))
        if rng.random() < 0.6:
            fields |= _held(rng, nodes, rng.choice((plans[0], rng.choice(plans))), strict)
        jobs.append(planned(position, *plans, **fields))
    tenants = [Tenant(id=v, quota_gpus=_quota(rng, v, jobs)) for v in "ab"]
    return plan_round(nodes, settled(Cluster(nodes=tuple(nodes)), jobs), tenants, now=700.0)


def _plans(rng: random.Random, types: bool) -> tuple[Plan, ...]:
    plans = {}
    for _ in range(rng.randint(2, 4)):
        nodes = rng.choice((1, 1, 1, 1, 2, 2, 3))
        gpus = nodes * rng.choice((1, 1, 2, 2, 3, 0))
        cpus = rng.choice((None, 0, 1.5, 4, 5.25))
        name = f"{rng.choice(('tp2-', '', 'ga-'))}dp{gpus}" + rng.choice(("", f"@{nodes}x{gpus // nodes}c{cpus}"))
        kind = rng.choice(("A", "B", None)) if types else None
        plan = Plan(
            name=name,
            gpus=gpus,
            nodes=nodes,
            gpu_type=kind,
            cpus=cpus,
            memory_gib=rng.choice((None, 0, 6.5, 9)),
            throughput=round(max(gpus, 0.5) ** rng.choice((0.5, 0.8, 1.1)) * rng.uniform(0.7, 1.5), 3),
        )
        plans[(name, gpus, nodes)] = (plan,)  # the last of those that might be told apart by their CPUs only
        if kind is not None and rng.random() < 0.4:
            other = Plan(
                name=name, gpus=gpus, nodes=nodes, gpu_type="BA"[kind == "B"], throughput=plan.throughput * 1.5
            )
            plans[(name, gpus, nodes)] = (plan, other)
    return tuple(plan for group in plans.values() for plan in group)


def _held(rng: random.Random, nodes: list[Node], plan: Plan, strict: bool) -> dict[str, object]:
    """Return a running job's fields: where it runs by the plan, if that fits somewhere, or now and then on others.

    Where rules are ``strict`` about what a job asks for, that is the plan.
    """
    part = plan.gpus // plan.nodes
    fitting = [node.id for node in nodes if node.gpus >= part and plan.gpu_type in (None, node.gpu_type)]
    if len(fitting) < plan.nodes:
        return {}
    held = dict.fromkeys(rng.sample(fitting, plan.nodes), part if rng.random() < 0.9 else 1)
    fields = {"state": "running", "placement": held}
    if strict:
        return fields | {"plan": plan.name, "gpus": plan.gpus}
    return fields | {"plan": plan.name if rng.random() < 0.9 else None}


def _quota(rng: random.Random, tenant: str, jobs: list[Job]) -> int | None:
    needed = [job.gpus for job in jobs if job.tenant == tenant and job.guarantee is not None]
    return rng.choice((None, max(needed, default=0), max(needed, default=0) + rng.randint(0, 2)))


class EveryChoice:
    """All options of a round from the definitions, in plain Python, and the best choice among all of them."""

    def __init__(self, round_: Round, rules: PlanRules) -> None:
        self.round_, self.rules = round_, rules
        self.nodes = round_.cluster.nodes
        self.ways = [self._ways(job) for job in round_.jobs]
        most = [
            max((value for _, _, value, at in ways for value in (value, *at.values())), default=0) for ways in self.ways
        ]
        self.served = 1 + sum(most) if any(job.guarantee for job in round_.jobs) else 0

    def best(self) -> int:
        """Return the most any choice of plans and nodes is worth."""
        room = tuple(
            (node.gpus, 10**9 if node.cpus is None else round(node.cpus * 1000), _mib(node.memory_gib, 10**9))
            for node in self.nodes
        )
        quota = tuple(10**9 if t.quota_gpus is None else t.quota_gpus for t in self.round_.cluster.tenants)
        return cache(self._best)(0, room, quota)

    def _best(self, j: int, room: tuple, quota: tuple) -> int:
        if j == len(self.round_.jobs):
            return 0
        found, job = self._best(j + 1, room, quota), self.round_.jobs[j]
        bonus = 0
        if job.guarantee is not None:
            bonus = self.served
            quota = tuple(
                q - job.gpus * (t.id == job.tenant) for q, t in zip(quota, self.round_.cluster.tenants, strict=True)
            )
            if min(quota, default=0) < 0:
                return found
        for plan, part, value, at in self.ways[j]:
            for chosen in self._places(job, plan):
                left = list(room)
                for s in chosen:
                    left[s] = tuple(has - need for has, need in zip(room[s], part, strict=True))
                if min(min(left[s]) for s in chosen) >= 0:
                    gain = bonus + at.get(chosen, value)
                    found = max(found, gain + self._best(j + 1, tuple(left), quota))
        return found

    def _ways(self, job: Job) -> list[tuple[Plan, tuple[int, int, int], int, dict[tuple[int, ...], int]]]:
        """Return each plan with what a part takes, its worth, and its worth on the nodes held, if that is another."""
        rules = self.rules
        fitting = [(plan, _part(job, plan)) for plan in job.plans if self._fits(job, plan)]
        ways = [(plan, part) for plan, part in fitting if self._allowed(job, plan)]
        running = job.state == "running" and bool(job.placement)
        lost = round((job.restart_seconds or 0) * 10**6) if running else 0
        if rules.objective == "completions":

            def worth(plan: Plan, restart: bool) -> int:
                seconds = Fraction(job.remaining_iterations) / Fraction(plan.throughput)
                seconds += Fraction(lost, 10**6) if restart else 0
                return max(1, int(10**9 / max(seconds, Fraction(1, 1000))))
        elif rules.objective == "completion":
            price, top = self._price(job)
            stands = min(rules.horizon, max(1, int(10**6 * job.remaining_iterations / top)))

            def worth(plan: Plan, restart: bool) -> int:
                kept = Fraction(max(0, stands - lost), stands) if restart else 1
                return int(price * Fraction(plan.throughput) / top * kept)
        elif rules.power is None:
            if rules.reference == "best":
                unit = max((Fraction(plan.throughput) for plan, _ in fitting), default=1)
            else:
                asked = [p for p in job.plans if p.gpus == job.gpus and job.plan in (None, p.name)]
                unit = max(Fraction(plan.throughput) for plan in asked)

            def worth(plan: Plan, restart: bool) -> int:
                kept = Fraction(max(0, rules.horizon - lost), rules.horizon) if restart else 1
                return int(10**6 * Fraction(plan.throughput) / unit * kept)
        else:
            lowest = min((Fraction(plan.throughput) for plan, _ in ways), default=1)
            if job.submitted is None:
                age = round(10**6 * (job.executed_seconds or 0)) + round(10**6 * (job.waiting_seconds or 0))
            else:
                age = max(0, round(10**6 * self.round_.now) - round(10**6 * job.submitted))
            factor = Fraction(max(0, age - (job.restarts or 0) * lost), age + lost) if running and age + lost else 1

            def worth(plan: Plan, restart: bool) -> int:
                ratio = Fraction(plan.throughput) / lowest * (factor if restart else 1)
                if ratio == 0:
                    return 0
                share = isqrt(int(10**12 / ratio)) if rules.power == "-0.5" else int(10**6 / ratio)
                return max(0, 1_100_000 - share)

        return [(plan, part, worth(plan, running), self._home(job, plan, part, worth)) for plan, part in ways]

    def _price(self, job: Job) -> tuple[int, Fraction]:
        """Return what a second of a job's fastest plan is worth, by the price of GPUs at its end, and its speed."""
        gpus = sum(node.gpus for node in self.nodes)
        mine, behind = _fastest(job, gpus), 0
        for other in self.round_.jobs:
            behind += _service(other, gpus) > _service(job, gpus)
        top = max(mine.values(), default=Fraction(1))
        costs = [(gpus + behind * count) * ceil(10**6 * top / rate) for count, rate in mine.items()]
        return min(costs, default=0) // gpus, top

    def _home(self, job: Job, plan: Plan, part: tuple, worth) -> dict[tuple[int, ...], int]:
        held = job.placement if job.state == "running" else None
        if not held or plan.name != job.plan or sorted(held.values()) != [part[0]] * plan.nodes:
            return {}
        return {tuple(s for s, node in enumerate(self.nodes) if node.id in held): worth(plan, False)}

    def _allowed(self, job: Job, plan: Plan) -> bool:
        if job.guarantee is not None and plan.throughput < job.guarantee.throughput:
            return False
        same_gpus, same_way = plan.gpus == job.gpus, _way(plan.name) == _way(job.plan or "?")
        return {"both": True, "plans": same_gpus, "resources": same_way, "neither": same_gpus and same_way}[
            self.rules.change
        ]

    def _places(self, job: Job, plan: Plan) -> list[tuple[int, ...]]:
        allowed = [s for s, node in enumerate(self.nodes) if plan.gpu_type in (None, node.gpu_type)]
        return list(combinations(allowed, plan.nodes))

    def _fits(self, job: Job, plan: Plan) -> bool:
        return any(self._has_room(job, plan, chosen) for chosen in self._places(job, plan))

    def _has_room(self, job: Job, plan: Plan, chosen: tuple[int, ...]) -> bool:
        part = _part(job, plan)

        def roomy(node: Node) -> bool:
            return (
                node.gpus >= part[0]
                and (node.cpus is None or round(node.cpus * 1000) >= part[1])
                and _mib(node.memory_gib, 10**9) >= part[2]
            )

        return all(roomy(self.nodes[s]) for s in chosen)


def _fastest(job: Job, most: int) -> dict[int, Fraction]:
    """Return how fast a job is at best with each number of GPUs that it has plans for, up to so many."""
    counts = {plan.gpus for plan in job.plans if plan.gpus <= most}
    return {count: max(Fraction(plan.throughput) for plan in job.plans if plan.gpus == count) for count in counts}


def _service(job: Job, most: int) -> int:
    """Return the microseconds of a GPU that a job has left with the fewest GPUs that it has plans for."""
    mine = _fastest(job, most)
    fewest = min(mine, default=1)
    return int(10**6 * job.remaining_iterations * max(1, fewest) / mine.get(fewest, 1))


def _part(job: Job, plan: Plan) -> tuple[int, int, int]:
    with_gpu = ceil(Fraction(round((job.cpus or 0) * 1000), max(1, job.gpus)))
    cpus = plan.gpus * with_gpu if plan.cpus is None else round(plan.cpus * 1000)
    with_gpu = ceil(Fraction(_mib(job.memory_gib, 0), max(1, job.gpus)))
    memory = plan.gpus * with_gpu if plan.memory_gib is None else _mib(plan.memory_gib, 0)
    return plan.gpus // plan.nodes, ceil(Fraction(cpus, plan.nodes)), ceil(Fraction(memory, plan.nodes))


def _mib(gib: float | None, missing: int) -> int:
    return missing if gib is None else round(gib * 1024)


def _way(name: str) -> str:
    return "".join(f"-{word}" for word in name.split("@")[0].split("-") if not re.fullmatch(r"dp[0-9]+", word))
