"""Every end state of a small cluster, one by one: the least cost of reaching a goal, with nothing of the package."""

from __future__ import annotations

from itertools import combinations, product


def per_gpu(total, gpus, scale):
    amount = round((total or 0.0) * scale)
    return -(-amount // gpus) if gpus else amount


def splits(gpus, nodes, most):
    """Return every way to put a job on at most ``most`` of the nodes."""
    if gpus == 0:
        return [{node: 0} for node in nodes]
    found = []
    for number in range(1, min(most, len(nodes), gpus) + 1):
        for chosen in combinations(nodes, number):
            found += [
                dict(zip(chosen, shares, strict=True))
                for shares in product(range(1, gpus + 1), repeat=number)
                if sum(shares) == gpus
            ]
    return found


def fits(round_, ends):
    for node in round_.cluster.nodes:
        here = [(job, share[node.id]) for job, share in ends if node.id in share]
        gpus = sum(number for _, number in here)
        cpus = sum(per_gpu(job.cpus, job.gpus, 1000) * max(number, 1) for job, number in here)
        memory = sum(per_gpu(job.memory_gib, job.gpus, 1024) * max(number, 1) for job, number in here)
        if gpus > node.gpus or (node.cpus is not None and cpus > round(node.cpus * 1000)):
            return False
        if node.memory_gib is not None and memory > round(node.memory_gib * 1024):
            return False
    return True


def fewest(round_, job):
    """Return on how few nodes a job fits in the empty cluster, or ``None``."""
    names = [node.id for node in round_.cluster.nodes]
    for most in range(1, len(names) + 1):
        if any(fits(round_, [(job, share)]) for share in splits(job.gpus, names, most)):
            return most
    return None


def least_cost(round_, *, nodes=None, job=None):
    """Return the fewest moved GPUs, then jobs, or ``None`` where no end state will do."""
    names = [node.id for node in round_.cluster.nodes]
    busy = [each for each in round_.jobs if each.state == "running"]
    ways = [
        [dict(each.placement)]
        if each.restart_seconds is None
        else [dict(each.placement), *splits(each.gpus, names, len(each.placement))]
        for each in busy
    ]
    guests = [{}]
    guest = None
    if job is not None:
        guest = next(each for each in round_.jobs if each.id == job)
        most = fewest(round_, guest)
        guests = [] if most is None else splits(guest.gpus, names, most)
    best = None
    for ends in product(*ways):
        moved = [each for each, end in zip(busy, ends, strict=True) if end != dict(each.placement)]
        cost = (sum(each.gpus for each in moved), len(moved))
        if best is not None and cost >= best:
            continue
        if nodes is not None:
            used = {name for end in ends for name in end}
            if sum(node.gpus > 0 and node.id not in used for node in round_.cluster.nodes) < nodes:
                continue
        placed = list(zip(busy, ends, strict=True))
        if any(fits(round_, [*placed, *([(guest, place)] if guest else [])]) for place in guests):
            best = cost
    return best
