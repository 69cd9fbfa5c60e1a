"""Small random rounds of jobs that share GPUs and use the fields of format 2, one group of them or all."""

from __future__ import annotations

from random import Random

from muri_opt.rounds import Cluster, Job, Node, Round, Tenant, Within

GROUPS = {
    "types": ("gpu_type", "gpu_types"),
    "labels": ("labels",),
    "levels": ("within",),
    "times": ("available_until",),
    "priority": ("priority",),
    "tenants": ("parent",),
    "all": ("gpu_type", "gpu_types", "labels", "within", "available_until", "priority", "parent"),
}
"""Which fields the rounds of a group may use; of all fields a round has some."""
NOW = 100.0
RESOURCES = ("storage", "cpu", "gpu", "network")


def asked_sharing_round(seed: int, group: str, *, most_jobs: int = 5, cpus: bool = False) -> Round:
    """Return one round of a group, the same for the same seed; ``cpus`` may be limited."""
    draw, fields = Random(f"{group}/{seed}"), GROUPS[group]
    if group == "all":
        fields = tuple(field for field in fields if draw.random() < 0.5)
    nodes = tuple(_node(draw, place, fields, cpus) for place in range(draw.randint(1, 3)))
    tenants = tuple(_tenant(draw, place) for place in range(3)) if "parent" in fields else ()
    stages, sizes = draw.choice([2, 3, 4, 4]), draw.choice([(1,), (1, 1, 2), (2,), (1, 2, 3)])
    left = {node.id: node.gpus for node in nodes}
    jobs: list[Job] = []
    for _ in range(draw.randint(min(2, most_jobs), most_jobs)):
        jobs.append(_job(draw, jobs, fields, nodes, left, tenants, stages, sizes, cpus))
    levels = ("rack",) if "within" in fields else ()
    return Round(
        format="muri-opt/round/2",
        name=f"shared/{group}/{seed}",
        now=NOW,
        resources=RESOURCES[:stages],
        cluster=Cluster(levels=levels, nodes=nodes, tenants=tenants),
        jobs=tuple(jobs),
    )


def _tenant(draw: Random, place: int) -> Tenant:
    parent = f"t{draw.randrange(place)}" if place and draw.random() < 0.8 else None
    return Tenant(id=f"t{place}", quota_gpus=draw.choice([None, 2, 3, 5]), parent=parent)


def _node(draw: Random, place: int, fields: tuple[str, ...], cpus: bool) -> Node:
    said: dict[str, object] = {}
    if "gpu_type" in fields:
        said["gpu_type"] = draw.choice(["a", "b", None])
    if "labels" in fields:
        said["labels"] = tuple(label for label in ("x", "y") if draw.random() < 0.5)
    if "available_until" in fields:
        said["available_until"] = draw.choice([None, NOW, NOW + 50, NOW + 200])
    if "within" in fields:
        said["rack"] = draw.choice(["r0", "r1", None]) if place else "r0"
    return Node(id=f"n{place}", gpus=draw.choice([1, 1, 2, 3]), cpus=draw.choice([None, 3.0]) if cpus else None, **said)


def _job(
    draw: Random,
    before: list[Job],
    fields: tuple[str, ...],
    nodes: tuple[Node, ...],
    left: dict[str, int],
    tenants: tuple[Tenant, ...],
    stages: int,
    sizes: tuple[int, ...],
    cpus: bool,
) -> Job:
    gpus, said = draw.choice(sizes), dict[str, object]()
    if "gpu_types" in fields:
        said["gpu_types"] = draw.choice([None, None, ("a",), ("a", "b")])
    if "labels" in fields and draw.random() < 0.6:
        said |= draw.choice([{"requires": ("x",)}, {"excludes": ("y",)}, {"requires": ("x",), "excludes": ("y",)}])
    if "available_until" in fields:
        said["time_limit_seconds"] = draw.choice([None, 50.0, 100.0])
    if "within" in fields and draw.random() < 0.5:
        said["within"] = Within(level="rack")
    if "priority" in fields:
        said["priority"] = draw.randint(-1, 2)
    if draw.random() < 0.4:
        said |= _running(draw, gpus, before, nodes, left)
    return Job(
        id=f"j{len(before)}",
        gpus=gpus,
        cpus=draw.choice([None, float(gpus)]) if cpus and "state" not in said else None,
        tenant=draw.choice([tenant.id for tenant in tenants]) if tenants else None,
        submitted=float(draw.randint(0, 3)),
        remaining_iterations=draw.randint(1, 5),
        iteration_seconds=draw.choice([1.0, 4.0, 10.25]),
        attained_gpu_seconds=float(draw.randint(0, 3)),
        stage_seconds=tuple(float(draw.choice([0, 0, 1, 2, 5])) for _ in range(stages)),
        **said,
    )


def _running(
    draw: Random, gpus: int, before: list[Job], nodes: tuple[Node, ...], left: dict[str, int]
) -> dict[str, object]:
    """Return where a job runs: with one at least as large, or on any free GPUs; nothing where there are too few."""
    like = [job.placement for job in before if job.state == "running" and job.gpus >= gpus]
    if like and draw.random() < 0.5 and like.count(like[0]) < 4:
        return {"state": "running", "placement": like[0]}
    if sum(left.values()) < gpus:
        return {}
    placement: dict[str, int] = {}
    for _ in range(gpus):
        node = draw.choice([node.id for node in nodes if left[node.id]])
        left[node] -= 1
        placement[node] = placement.get(node, 0) + 1
    return {"state": "running", "placement": placement}
