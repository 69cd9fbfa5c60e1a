"""Small rounds of configurations, and their optimum by trying every configuration of all jobs on all sets of nodes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st
from msgspec.structs import replace
from running_states import settled

from muri_opt import Cluster, Guarantee, Job, Node, Plan, Round, Tenant
from muri_opt.systems.plans import PlanRules

POLICIES = (
    "aiturbo",
    "aiturbo:objective=time",
    "aiturbo:switch=off",
    "aiturbo:objective=time,switch=off,ranks=raw,within=running",
    "aiturbo:step=off",
    "aiturbo:objective=time,patience=0",
    "optimus-ps",
    "optimus-ps:switch=on",
)


def plan(name: str, throughput: float, nodes: int = 1, **fields: object) -> Plan:
    """Return the plan of a configuration: a CPU for each server and GPU worker, two for each worker on CPUs."""
    kind, servers, workers, *share = name.split("-")
    p, w = int(servers[1:]), int(workers[1:])
    gpus = w * int(share[0][1:]) if share else 0
    given = {"gpus": gpus, "nodes": nodes, "cpus": p + (w if kind == "gpu" else 2 * w), "throughput": throughput}
    return Plan(name=name, **given | fields)


def job(name: str, plans: dict[str, float] | tuple[Plan, ...], **fields: object) -> Job:
    """Return a job by the throughput of its configurations, that has or asks for the first of them."""
    made = tuple(plan(at, speed) for at, speed in plans.items()) if isinstance(plans, dict) else plans
    given = {"gpus": made[0].gpus, "plan": made[0].name, "executed_seconds": 0.0, "remaining_iterations": 100}
    return Job(id=name, plans=made, **given | fields)


def round_of(nodes: list[tuple[int, float]], *jobs: Job, tenants: tuple[Tenant, ...] = ()) -> Round:
    """Return a round of nodes with GPUs and CPUs."""
    made = tuple(Node(id=f"n{s}", gpus=gpus, cpus=cpus) for s, (gpus, cpus) in enumerate(nodes))
    return Round(cluster=Cluster(nodes=made, tenants=tenants), jobs=jobs)


def random_round(rng: random.Random, jobs: int = 4, nodes: int = 3) -> Round:
    """Return jobs of a few configurations each on nodes with and without GPUs; some run, some are unpredictable."""
    boxes = [(rng.choice((0, 1, 2, 3)), float(rng.choice((3, 5, 8)))) for _ in range(rng.randint(1, nodes))]
    made = [_random_job(rng, j, boxes) for j in range(rng.randint(1, jobs))]
    cluster = round_of(boxes).cluster
    return round_of(boxes, *settled(cluster, made), tenants=(Tenant(id="t", quota_gpus=3),))


def _random_job(rng: random.Random, position: int, boxes: list[tuple[int, float]]) -> Job:
    near = [f"cpu-p{p}-w{w}" for p in (1, 2) for w in (1, 2)]
    near += [f"gpu-p{p}-w{w}-s{s}" for p in (1, 2) for w in (1, 2) for s in (1, 2)]
    plans: list[Plan] = []
    for name in rng.sample(near, rng.randint(1, 7)):
        speed = rng.choice((0.25, 0.5, 1.0, 1.5, 3.0, 3.1))
        plans.append(plan(name, speed))
        if "p2-w2" in name and rng.random() < 0.6:
            plans.append(plan(name, speed * rng.choice((0.9, 1.0)), nodes=2))
    here = rng.choice(plans)
    fields: dict[str, object] = {"gpus": here.gpus, "plan": here.name, "submitted": float(rng.randint(0, 3))}
    fields["executed_seconds"] = float(rng.choice((0, 10, 100)))
    fields["remaining_iterations"] = rng.choice((0, 1, 7, 100, 100, 1000, None))
    fields["predictable"] = rng.choice((None, True, True, False))
    fields["restart_seconds"] = rng.choice((None, 0.0, 1.5, 40.0))
    if rng.random() < 0.2 and here.gpus <= 3:
        fields |= {"guarantee": Guarantee(throughput=here.throughput), "tenant": "t"}
    part = here.gpus // here.nodes
    able = [f"n{s}" for s, (gpus, _) in enumerate(boxes) if gpus >= part]
    if len(able) >= here.nodes and rng.random() < 0.5:
        fields |= {"state": "running", "placement": dict.fromkeys(rng.sample(able, here.nodes), part)}
    else:
        fields["waiting_seconds"] = float(rng.choice((0, 50, 5000)))
    return job(f"j{position}", tuple(plans), **fields)


def configuration_rounds(jobs: int = 4, nodes: int = 3) -> st.SearchStrategy[Round]:
    """Draw a round of configurations."""
    return st.builds(random_round, st.randoms(use_true_random=False), st.just(jobs), st.just(nodes))


def counts(name: str) -> tuple[int, int, int]:
    """Return servers, workers and shares as a name tells them."""
    numbers = [int(word[1:]) for word in name.split("-")[1:]]
    return numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 0


def tells_tasks(one: Job) -> bool:
    return all(other.name.startswith(("cpu-p", "gpu-p")) for other in one.plans)


def ladder(one: Job) -> list[tuple[str, bool]]:
    """Return the names of plans from the smallest to the largest, and whether each has GPUs."""
    sizes = sorted((other.gpus, other.cpus, other.name) for other in one.plans)
    seen = dict.fromkeys(name for _, _, name in sizes)
    return [(name, next(gpus for gpus, _, other in sizes if other == name) > 0) for name in seen]


def renamed(round_: Round, rng: random.Random) -> Round:
    """Return the round with names of plans that tell nothing; of some jobs two names become one."""
    jobs = []
    for one in round_.jobs:
        names = sorted({other.name for other in one.plans})
        new = dict(zip(names, rng.sample([f"plan-{letter}" for letter in "abcdefgh"], len(names)), strict=True))
        first, last = min(one.plans, key=lambda p: p.gpus), max(one.plans, key=lambda p: p.gpus)
        if rng.random() < 0.3 and first.gpus != last.gpus:
            new[last.name] = new[first.name]
        plans = tuple(replace(other, name=new[other.name]) for other in one.plans)
        jobs.append(replace(one, plans=plans, plan=new[one.plan]))
    return replace(round_, jobs=tuple(jobs))


def is_known(one: Job) -> bool:
    return one.predictable in (None, True) and one.remaining_iterations is not None


def allowed(one: Job, other: Plan, rules: PlanRules) -> bool:
    """Return whether a job may run by a plan: as the chapter says it, word by word."""
    if one.guarantee is not None and other.throughput < one.guarantee.throughput:
        return False
    if rules.change == "same" or not is_known(one):
        return other.name == one.plan
    if not tells_tasks(one):
        order = ladder(one)
        places = [[name for name, _ in order].index(name) for name in (one.plan, other.name)]
        if not rules.switch and len({order[place][1] for place in places}) > 1:
            return False
        return rules.change == "configurations" or abs(places[0] - places[1]) <= 1
    if not rules.switch and other.name[:3] != one.plan[:3]:
        return False
    steps = [abs(a - b) for a, b in zip(counts(one.plan), counts(other.name), strict=True)]
    return rules.change == "configurations" or sum(steps) <= 1


def cost(one: Job, other: Plan, rules: PlanRules, nodes: tuple[str, ...]) -> int:
    """Return the hundredths of a second that remain, or seconds times service units if that is the objective."""
    if tells_tasks(one):
        p, w, s = counts(other.name)
        units = 10 * w * s + 5 * (p + w)
    else:
        units = 10 * other.gpus + 5 * other.nodes
    seconds = one.remaining_iterations / Fraction(other.throughput) if is_known(one) else Fraction(0)
    stays = one.plan == other.name and one.placement == dict.fromkeys(nodes, other.gpus // other.nodes)
    if one.state == "running" and not stays:
        seconds += Fraction(one.restart_seconds or 0)
    return int(seconds * (units if rules.objective == "service" else 100))


def best_by_trying(round_: Round, rules: PlanRules) -> int:
    """Return the largest value: guaranteed jobs that run, then jobs, then the least cost; by all combinations."""
    ways = [[None, *_ways(round_, one, rules)] for one in round_.jobs]
    held = [tuple(one.placement or ()) if one.state == "running" else () for one in round_.jobs]
    costs = [  # where a job is now, and elsewhere: also if its nodes are too small for it, or no others have room
        [cost(one, other, rules, nodes) for other, _, _ in mine[1:] for nodes in (own, ())]
        for one, own, mine in zip(round_.jobs, held, ways, strict=True)
    ]
    runs = 1 + sum(max(mine, default=0) for mine in costs)
    promise = 1 + sum(runs - min(mine) for mine in costs if mine)
    values = []
    for choice in product(*ways):
        taken = [(one, way) for one, way in zip(round_.jobs, choice, strict=True) if way is not None]
        if _fits(round_, taken):
            guaranteed = sum(one.guarantee is not None for one, _ in taken)
            values.append(promise * guaranteed + runs * len(taken) - sum(c for _, (_, _, c) in taken))
    return max(values)


def _ways(round_: Round, one: Job, rules: PlanRules) -> Iterator[tuple[Plan, tuple[str, ...], int]]:
    for other in one.plans:
        for nodes in combinations(sorted(node.id for node in round_.cluster.nodes), other.nodes):
            way = (other, nodes, cost(one, other, rules, nodes))
            if allowed(one, other, rules) and _fits(round_, [(one, way)]):
                yield way


def _fits(round_: Round, taken: list[tuple[Job, tuple[Plan, tuple[str, ...], int]]]) -> bool:
    for node in round_.cluster.nodes:
        here = [other for _, (other, nodes, _) in taken if node.id in nodes]
        if sum(other.gpus // other.nodes for other in here) > node.gpus:
            return False
        if sum(Fraction(other.cpus) / other.nodes for other in here) > Fraction(node.cpus):
            return False
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    held = [one for one, _ in taken if one.guarantee is not None]
    return all(sum(one.gpus for one in held if one.tenant == t) <= quota for t, quota in quotas.items())
