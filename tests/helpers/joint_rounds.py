"""Small rounds for the joint chapter: jobs with stages, curves, both or neither, that run alone, share, or wait."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Plan, Round, Tenant

SPECS = (
    "joint-s",
    "joint-l",
    "joint-s:group=2",
    "joint-s:sharing=stretch",
    "joint-s:slowdown=muri",
    "joint-s:shares=powers",
    "joint-s:restarts=ignore",
    "joint-l:kappa=0.3,horizon=60",
    "joint-s:group=4",
    "joint-s:weights=pow,power=0.35",
    "joint-l:weights=gittins,samples=2/3/7/20",
    "joint-l:restarts=pay,weights=rank",
    "joint-s:restarts=stops",
)
RESOURCES = ("storage", "gpu", "network")


def joint_round(seed: int, *, most_jobs: int = 5) -> Round:
    """Return a round of up to seven GPUs; some have a tenant with a quota."""
    rng = Random(seed)
    nodes = tuple(Node(id=f"n{k}", gpus=rng.choice([1, 2, 2, 4])) for k in range(rng.choice([1, 1, 2, 2])))
    total = sum(node.gpus for node in nodes)
    tenants = (Tenant(id="t", quota_gpus=rng.randint(1, total + 2)),) if rng.random() < 0.3 else ()
    running = _Running(rng, {node.id: node.gpus for node in nodes})
    jobs = []
    for number in range(rng.randint(1, most_jobs)):
        fields = _fields(rng)
        if tenants and rng.random() < 0.6:
            fields["tenant"] = "t"
        if rng.random() < 0.5:
            fields |= running.sit(fields)
        jobs.append(Job(id=f"j{number}", **fields))
    return Round(cluster=Cluster(nodes=nodes, tenants=tenants), jobs=tuple(jobs), resources=RESOURCES)


def nested_joint_round(seed: int, *, most_jobs: int = 5) -> Round:
    """Return a joint round whose tenants are a tree, with quotas at the top and below it, or at one of them."""
    rng = Random(seed)
    plain = joint_round(seed, most_jobs=most_jobs)
    total = plain.cluster.total_gpus
    above = {"top": None, "left": "top", "right": "top", "inner": "left"}
    quotas = {tenant: rng.choice([None, rng.randint(1, total + 1)]) for tenant in above}
    quotas["top"] = rng.randint(1, total + 1)
    tenants = [
        Tenant(id=name, parent=above[name], quota_gpus=quotas[name]) for name in rng.sample([*above], len(above))
    ]
    jobs = tuple(replace(job, tenant=rng.choice([*above, None])) for job in plain.jobs)
    return replace(plain, cluster=replace(plain.cluster, tenants=tuple(tenants)), jobs=jobs)


def _fields(rng: Random) -> dict[str, Any]:
    gpus = rng.choice([1, 1, 2, 2, 4])
    fields: dict[str, Any] = {"gpus": gpus, "remaining_iterations": rng.randint(1, 40)}
    fields["attained_gpu_seconds"] = float(rng.randint(0, 9))
    if rng.random() < 0.7:
        fields["stage_seconds"] = tuple(round(rng.choice([0.1, 0.2, 0.5, rng.uniform(0.01, 1)]), 2) for _ in RESOURCES)
    if rng.random() < 0.6:
        power = rng.uniform(0.4, 1)
        counts = sorted({1, gpus, rng.choice([gpus, 2 * gpus, 4])})
        fields["scaling"] = {count: round(count**power, 3) for count in counts}
    if rng.random() < 0.8 or not {"stage_seconds", "scaling"} & set(fields):
        stages = sum(fields.get("stage_seconds", (1.0,)))
        fields["iteration_seconds"] = round(stages * rng.choice([1, 1.2, 0.8]), 4)
    if rng.random() < 0.5:
        fields["restart_seconds"] = rng.choice([0.0, 10.0, 60.0, 700.0])
    return fields


class _Running:
    """What running jobs hold; jobs with stages may share it."""

    def __init__(self, rng: Random, free: dict[str, int]) -> None:
        self._rng, self._free = rng, free
        self._shared: list[tuple[dict[str, int], list[int]]] = []

    def sit(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the state and the placement of a job that finds room; nothing for one that does not."""
        rng = self._rng
        size = rng.randint(1, max(fields["scaling"])) if "scaling" in fields else fields["gpus"]
        shares = "stage_seconds" in fields
        open_ = [one for one in self._shared if sum(one[0].values()) == size and len(one[1]) < 3]
        if shares and open_ and rng.random() < 0.6:
            placement, members = rng.choice(open_)
            members.append(1)
            return {"state": "running", "placement": dict(placement)}
        if sum(self._free.values()) < size:
            return {}
        placement = {}
        for node in sorted(self._free, key=lambda _: rng.random()):
            taken = min(size - sum(placement.values()), self._free[node])
            if taken:
                placement[node] = taken
                self._free[node] -= taken
        if shares:
            self._shared.append((placement, [1]))
        return {"state": "running", "placement": placement}


def large_joint_round(seed: int, *, jobs: int, nodes: int, models: int = 12, most: int = 8) -> Round:
    """Return a round of many waiting jobs of some models, all with stages and curves, on nodes of 8 GPUs.

    Jobs may have any number of GPUs up to the ``most``.
    """
    rng = Random(seed)
    drawn = []
    for _ in range(models):
        longest = rng.randrange(len(RESOURCES))
        stages = tuple(round(rng.uniform(0.3, 0.9) if at == longest else rng.uniform(0.02, 0.2), 3) for at in range(3))
        power = rng.uniform(0.5, 0.95)
        counts = (1, 2, 4, 8) if most == 8 else (1, 2, 3, 5, 7, 8, 11, 13, most)
        curve = {count: round(count**power, 3) for count in counts}
        drawn.append({"gpus": rng.choice([1, 2, 4]), "stage_seconds": stages, "scaling": curve})
    made = tuple(
        Job(
            id=f"j{number}",
            submitted=float(number),
            remaining_iterations=rng.randint(10, 100_000),
            attained_gpu_seconds=float(rng.randint(0, 50_000)),
            restart_seconds=rng.choice([None, 10.0, 30.0]),
            **rng.choice(drawn),
        )
        for number in range(jobs)
    )
    cluster = Cluster(nodes=tuple(Node(id=f"n{number}", gpus=8) for number in range(nodes)))
    return Round(cluster=cluster, jobs=made, resources=RESOURCES)


def mixed_joint_round(seed: int, *, most_jobs: int = 4) -> Round:
    """Return a joint round in which some jobs run by plans, ask for certain nodes, or have a priority."""
    rng = Random(seed)
    plain = joint_round(seed, most_jobs=most_jobs)
    asked, ranked = rng.random() < 0.6, rng.random() < 0.5
    nodes = [*plain.cluster.nodes, Node(id="extra", gpus=rng.choice([1, 2]))]
    if asked:
        kinds = [rng.choice(["a100", "v100"]) for _ in nodes]
        labels = [("fast",) * rng.randint(0, 1) for _ in nodes]
        nodes = [
            replace(node, gpu_type=kind, labels=label) for node, kind, label in zip(nodes, kinds, labels, strict=True)
        ]
    if rng.random() < 0.2:
        nodes = [replace(node, cpus=4.0 * node.gpus) for node in nodes]
    jobs = []
    for job in plain.jobs:
        if rng.random() < 0.4:
            job = _planned(rng, job, nodes, typed=asked)
        if asked and rng.random() < 0.4:
            job = replace(
                job, **rng.choice([{"gpu_types": ("a100",)}, {"requires": ("fast",)}, {"excludes": ("fast",)}])
            )
        jobs.append(replace(job, priority=rng.choice([0, 0, 1, 5])) if ranked else job)
    cluster = replace(plain.cluster, nodes=tuple(nodes))
    return Round(cluster=cluster, jobs=tuple(jobs), resources=RESOURCES)


def _planned(rng: Random, job: Job, nodes: list[Node], *, typed: bool) -> Job:
    """Return a job with plans, one of which is that of its placement, if it runs."""
    shapes = [(1, 1), (2, 1), (2, 2), (3, 2), (4, 2), (4, 1)]
    chosen = dict.fromkeys(rng.sample(shapes, rng.randint(1, 3)))
    held = job.placement or {}
    sizes = sorted(held.values())
    if sizes and sizes[-1] - sizes[0] <= 1:
        chosen[sum(sizes), len(sizes)] = None
    plans = []
    for gpus, parts in chosen:
        cpus = rng.choice([None, float(gpus), 4.0 * gpus])
        throughput = round(gpus ** rng.uniform(0.4, 1) * rng.uniform(0.3, 2), 3)
        here = typed and rng.random() < 0.3 and (gpus, parts) != (sum(sizes), len(sizes))
        types = {"gpu_type": rng.choice([str(nodes[0].gpu_type), "v100"])} if here else {}
        plans.append(Plan(name=f"p{gpus}", gpus=gpus, nodes=parts, cpus=cpus, throughput=throughput, **types))
    name = f"p{sum(sizes)}" if sizes else None
    return replace(job, plans=tuple(plans), stage_seconds=None, scaling=None, plan=name)


def limited_joint_round(seed: int, *, most_jobs: int = 5) -> Round:
    """Return a joint round in which some jobs need CPUs or memory, and some nodes are limited in them, others not."""
    rng = Random(f"limited {seed}")
    plain = (mixed_joint_round if seed % 3 == 0 else joint_round)(seed, most_jobs=most_jobs)
    jobs = []
    for job in plain.jobs:
        fields: dict[str, Any] = {}
        if rng.random() < 0.6:
            fields["cpus"] = rng.choice([0.5, 1.0, 2.0, 3.3]) * job.gpus
        if rng.random() < 0.4:
            fields["memory_gib"] = rng.choice([1.0, 2.5, 7.0]) * job.gpus
        jobs.append(replace(job, **fields))
    amounts = replace(plain, jobs=tuple(jobs)).amounts
    held = {node.id: [0, 0] for node in plain.cluster.nodes}
    for job, cpus, memory in zip(jobs, amounts.c.tolist(), amounts.m.tolist(), strict=True):
        for name, gpus in (job.placement or {}).items():
            held[name] = [held[name][0] + gpus * cpus, held[name][1] + gpus * memory]
    nodes = []
    for node in plain.cluster.nodes:
        fields = {}
        if node.cpus is None and rng.random() < 0.6:
            fields["cpus"] = max(held[node.id][0] / 1000, rng.choice([1.0, 2.0, 4.0, 8.0]))
        if rng.random() < 0.3:
            fields["memory_gib"] = max(held[node.id][1] / 1024, rng.choice([2.0, 6.0, 16.0]))
        nodes.append(replace(node, **fields))
    return replace(plain, cluster=replace(plain.cluster, nodes=tuple(nodes)), jobs=tuple(jobs))
