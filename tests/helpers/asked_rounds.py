"""Small random rounds of gangs that use the fields of format 2, one or all of them."""

from __future__ import annotations

from random import Random

from muri_opt.rounds import Cluster, Job, Node, NodeRange, Round, Tenant, Within

GROUPS = {
    "states": ("state", "held", "not_before", "available_until"),
    "types": ("gpu_type", "gpu_types", "labels"),
    "priority": ("priority",),
    "pins": ("preemptible", "movable", "state"),
    "shape": ("nodes", "even", "within"),
    "tenants": ("parent", "preemptible", "movable"),
    "all": (
        "state",
        "held",
        "not_before",
        "available_until",
        "gpu_type",
        "gpu_types",
        "labels",
        "priority",
        "preemptible",
        "movable",
        "nodes",
        "even",
        "within",
        "parent",
    ),
}
"""Which fields the rounds of a group may use; of all fields a round has some, or nobody could start."""
NOW = 100.0
RANGES = (NodeRange(least=1, most=1), NodeRange(least=2), NodeRange(least=1, most=2), NodeRange(least=2, most=3))


def asked_round(seed: int, group: str, most_jobs: int = 4) -> Round:
    """Return one round of a group, the same for the same seed."""
    draw, fields = Random(f"{group}/{seed}"), GROUPS[group]
    if group == "all":
        fields = tuple(field for field in fields if draw.random() < 0.4)
    nodes = tuple(_node(draw, place, fields) for place in range(draw.randint(1, 3)))
    tenants = tuple(
        _tenant(draw, place, fields) for place in range(3 if "parent" in fields else draw.choice([0, 0, 2]))
    )
    left = {node.id: node.gpus for node in nodes}
    jobs = [_job(draw, place, fields, nodes, left, tenants) for place in range(draw.randint(1, most_jobs))]
    levels = ("rack",) if "within" in fields and any(node.rack is not None for node in nodes) else ()
    return Round(
        format="muri-opt/round/2",
        name=f"asked/{group}/{seed}",
        now=NOW,
        cluster=Cluster(levels=levels, nodes=nodes, tenants=tenants),
        jobs=tuple(jobs),
    )


def _tenant(draw: Random, place: int, fields: tuple[str, ...]) -> Tenant:
    parent = f"t{draw.randrange(place)}" if "parent" in fields and place and draw.random() < 0.8 else None
    return Tenant(id=f"t{place}", quota_gpus=draw.choice([None, 2, 4, 6]), parent=parent)


def _node(draw: Random, place: int, fields: tuple[str, ...]) -> Node:
    said: dict[str, object] = {}
    if "gpu_type" in fields:
        said["gpu_type"] = draw.choice(["a", "b", None])
    if "labels" in fields:
        said["labels"] = tuple(label for label in ("x", "y") if draw.random() < 0.5)
    if "state" in fields:
        said["state"] = draw.choice(["up", "up", "drain", "down"])
    if "available_until" in fields:
        said["available_until"] = draw.choice([None, NOW, NOW + 50, NOW + 200])
    if "within" in fields:
        said["rack"] = draw.choice(["r0", "r1", None]) if place else "r0"
    return Node(id=f"n{place}", gpus=draw.randint(1, 4), cpus=draw.choice([None, None, 4.0]), **said)


def _job(
    draw: Random,
    place: int,
    fields: tuple[str, ...],
    nodes: tuple[Node, ...],
    left: dict[str, int],
    tenants: tuple[Tenant, ...],
) -> Job:
    gpus = draw.randint(1, 4)
    said = _demands(draw, gpus, fields)
    cpus = draw.choice([None, None, float(gpus)])
    if draw.random() < 0.5 and cpus is None:
        said |= _running(draw, gpus, nodes, left)
    if said.get("state") == "running":
        down = any(node.state == "down" for node in nodes if node.id in said["placement"])
        if "preemptible" in fields:
            said["preemptible"] = draw.choice([None, True, down, down])  # pinned only on nodes that are not down
        if "movable" in fields:
            said["movable"] = draw.choice([None, True, False])
    return Job(
        id=f"j{place}",
        gpus=gpus,
        cpus=cpus,
        tenant=draw.choice([tenant.id for tenant in tenants]) if tenants else None,
        submitted=float(draw.randint(0, 3)),
        remaining_iterations=draw.randint(1, 5),
        iteration_seconds=1.0,
        attained_gpu_seconds=float(draw.randint(0, 3)),
        **said,
    )


def _demands(draw: Random, gpus: int, fields: tuple[str, ...]) -> dict[str, object]:
    """Return what a job asks for, of some fields."""
    said: dict[str, object] = {}
    if "held" in fields and draw.random() < 0.2:
        said["held"] = draw.choice(["asked by its user", ""])
    if "not_before" in fields and draw.random() < 0.3:
        said["not_before"] = draw.choice([50.0, NOW, 150.0])
    if "available_until" in fields:
        said["time_limit_seconds"] = draw.choice([None, 50.0, 100.0])
    if "gpu_types" in fields:
        said["gpu_types"] = draw.choice([None, None, ("a",), ("a", "b")])
    if "labels" in fields and draw.random() < 0.6:
        said |= draw.choice([{"requires": ("x",)}, {"excludes": ("y",)}, {"requires": ("x",), "excludes": ("y",)}])
    if "priority" in fields:
        said["priority"] = draw.randint(-1, 2)
    if "even" in fields:
        said["even"] = draw.random() < 0.4
    if "nodes" in fields and draw.random() < 0.6:
        able = [some for some in RANGES if some.counts(gpus, even=bool(said.get("even")))]
        said["nodes"] = draw.choice(able) if able else None
    if "within" in fields and draw.random() < 0.5:
        said["within"] = Within(level="rack")
    return said


def _running(draw: Random, gpus: int, nodes: tuple[Node, ...], left: dict[str, int]) -> dict[str, object]:
    """Return where a job runs, on any free GPUs; nothing where there are too few."""
    if sum(left.values()) < gpus:
        return {}
    placement: dict[str, int] = {}
    for _ in range(gpus):
        node = draw.choice([node.id for node in nodes if left[node.id]])
        left[node] -= 1
        placement[node] = placement.get(node, 0) + 1
    return {"state": "running", "placement": placement}
