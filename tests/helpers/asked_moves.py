"""Clusters whose running jobs ask for nodes, types and units, and the least moves on them, tried one by one."""

from __future__ import annotations

from itertools import product
from random import Random

from asked_brute_force import _lost, _takes
from fragmented_rounds import random_round
from msgspec.structs import replace
from plain_moves import fits, splits

from muri_opt import Round
from muri_opt.rounds import Within

LABELS = ("x", "y")


def asked_fragments(seed: int, **sizes: int) -> Round:
    """Return a small cluster with running jobs, one that waits (``w0``), and all that moves have to know of."""
    draw, plain = Random(f"moves/{seed}"), random_round(seed, **sizes)
    kinds = draw.choice([("a",), ("a", "a", "a", "b"), ("a", "a", None)])
    nodes = tuple(
        replace(
            node,
            gpu_type=draw.choice(kinds),
            labels=tuple(label for label in LABELS if draw.random() < 0.8),
            rack=draw.choice(["r0", "r1"]) if place else "r0",
            state=draw.choice([*["up"] * 10, "drain", "down"]),
            available_until=draw.choice([*[None] * 5, 50.0]),
        )
        for place, node in enumerate(plain.cluster.nodes)
    )
    jobs = []
    for job in plain.jobs:
        said: dict[str, object] = {}
        if draw.random() < 0.2:
            said["gpu_types"] = draw.choice([("a",), ("b",), ("a", "b")])
        if draw.random() < 0.3:
            said |= draw.choice([{"requires": ("x",)}, {"requires": ("y",)}, {"excludes": ("y",)}])
        if draw.random() < 0.3:
            said["within"] = Within(level="rack")
        if draw.random() < 0.2:
            said["time_limit_seconds"] = draw.choice([10.0, 100.0])
        lost = any(node.state == "down" for node in nodes if node.id in (job.placement or {}))
        if job.state == "running" and not lost and draw.random() < 0.3:
            said |= draw.choice([{"preemptible": False}, {"movable": False}, {"preemptible": False, "movable": True}])
        jobs.append(replace(job, **said))
    return Round(
        format="muri-opt/round/2", cluster=replace(plain.cluster, nodes=nodes, levels=("rack",)), jobs=tuple(jobs)
    )


def allowed(round_: Round, job, share: dict[str, int]) -> bool:
    """Return whether a job may be put on these nodes, in the words of the round format."""
    used = [node for node in round_.cluster.nodes if node.id in share]
    units = {node.rack for node in used}
    return (
        all(_takes(round_, node, job) for node in used)
        and len({node.gpu_type for node in used}) == 1
        and (job.within is None or (len(units) == 1 and None not in units))
    )


def least_asked_cost(round_: Round, *, nodes: int | None = None, job: str | None = None):
    """Return the fewest moved GPUs, then jobs, or ``None`` where no end state will do."""
    names = [node.id for node in round_.cluster.nodes]
    busy = [each for each in round_.jobs if each.state == "running" and not _lost_anyhow(round_, each)]
    ways = []
    for each in busy:
        movable = each.preemptible is not False if each.movable is None else each.movable
        moves = splits(each.gpus, names, len(each.placement)) if movable and each.restart_seconds is not None else []
        ends = [end for end in moves if allowed(round_, each, end) and fits(round_, [(each, end)])]
        ways.append([dict(each.placement), *(end for end in ends if end != dict(each.placement))])
    guest, guests = None, [{}]
    if job is not None:
        guest = next(each for each in round_.jobs if each.id == job)
        alone = [share for share in splits(guest.gpus, names, len(names)) if allowed(round_, guest, share)]
        alone = [share for share in alone if fits(round_, [(guest, share)])]
        few = min(map(len, alone), default=0)
        guests = [share for share in alone if len(share) == few]
    best = None
    for ends in product(*ways):
        moved = [each for each, end in zip(busy, ends, strict=True) if end != dict(each.placement)]
        cost = (sum(each.gpus for each in moved), len(moved))
        if best is not None and cost >= best:
            continue
        used = {name for end in ends for name in end}
        free = [node for node in round_.cluster.nodes if node.gpus and node.state != "down" and node.id not in used]
        if nodes is not None and len(free) < nodes:
            continue
        placed = list(zip(busy, ends, strict=True))
        if any(fits(round_, [*placed, *([(guest, place)] if guest else [])]) for place in guests):
            best = cost
    return best


def _lost_anyhow(round_: Round, job) -> bool:
    """Return whether a job ran on a node that is down; one without GPUs, too."""
    down = {node.id for node in round_.cluster.nodes if node.state == "down"}
    return _lost(round_, job) or bool(down & set(job.placement or {}))
