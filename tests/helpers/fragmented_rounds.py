"""Clusters with running jobs: by hand, at random, and as Hypothesis draws them."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from muri_opt import Cluster, Job, Node, Round


def running(number, placement, **fields):
    given = {"gpus": sum(placement.values()), "state": "running", "placement": placement, "restart_seconds": 30.0}
    return Job(id=f"r{number}", **given | fields)


def loaded(capacity, *loads, waiting=()):
    """Return a round of equal nodes with one-node jobs of the given sizes on each, and waiting jobs ``w0``, ..."""
    placements = [{f"n{s}": gpus} for s, load in enumerate(loads) for gpus in load]
    jobs = [running(number, placement) for number, placement in enumerate(placements)]
    jobs += [Job(id=f"w{number}", gpus=gpus) for number, gpus in enumerate(waiting)]
    return Round(
        cluster=Cluster(nodes=tuple(Node(id=f"n{s}", gpus=capacity) for s in range(len(loads)))), jobs=tuple(jobs)
    )


THREE_SERVERS = loaded(8, (4, 2, 1), (4, 2), (4, 2, 1), waiting=(4,))
ONE_TO_FREE = loaded(4, (2,), (2, 1), (1, 1))


def built(choose, *, most_nodes=4, most_jobs=5):
    """Return a valid round; ``choose(low, high)`` is asked for every number.

    Jobs are put where there is room: some on two nodes, some pinned, some without a GPU, some with CPUs.
    """
    nodes = [
        Node(id=f"n{s}", gpus=(4, 4, 3, 0)[choose(0, 3)], cpus=8.0 if choose(0, 2) == 0 else None)
        for s in range(choose(2, most_nodes))
    ]
    left = [node.gpus for node in nodes]
    cpus = [1000.0 if node.cpus is None else node.cpus for node in nodes]
    jobs = []
    for _ in range(choose(1, most_jobs)):
        s = choose(0, len(nodes) - 1)
        each = (0.0, 1.0, 3.0)[choose(0, 2)]
        gpus = min((0, 1, 1, 1, 2, 2)[choose(0, 5)], left[s])
        parts = {s: gpus}
        other = choose(0, len(nodes) - 1)
        if gpus and other != s and left[other] and choose(0, 2) == 0:
            parts[other] = min(left[other], choose(1, 2))
        if any(cpus[node] < each * max(number, 1) for node, number in parts.items()):
            each = 0.0
        for node, number in parts.items():
            left[node] -= number
            cpus[node] -= each * max(number, 1)
        fields = {"cpus": each * max(sum(parts.values()), 1)}
        if choose(0, 7) == 0:
            fields["restart_seconds"] = None
        jobs.append(running(len(jobs), {f"n{node}": number for node, number in parts.items()}, **fields))
    asked = max(1, min(max(node.gpus for node in nodes), max(left) + choose(0, 2)))  # mostly too many as it is
    jobs.append(Job(id="w0", gpus=asked, cpus=float(asked * choose(0, 1))))
    return Round(cluster=Cluster(nodes=tuple(nodes)), jobs=tuple(jobs))


def random_round(seed, **sizes):
    return built(random.Random(seed).randint, **sizes)


@st.composite
def drawn_rounds(draw, **sizes):
    return built(lambda low, high: draw(st.integers(low, high)), **sizes)


def goals(round_):
    """Return a goal of one node more than is free already, and one of room for the waiting job."""
    held = {node for job in round_.jobs for node in job.placement or {}}
    usable = [node.id for node in round_.cluster.nodes if node.gpus]
    empty = sum(node not in held for node in usable)
    return [{"nodes": min(empty + 1, len(usable))}, {"job": "w0"}]
