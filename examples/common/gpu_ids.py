"""Which GPUs of a node: a decision says how many, a simulator wants their ids."""

from __future__ import annotations


class GpuIds:
    """Gives jobs the GPUs they had as long as they may keep them; ``ids`` are the GPUs of each node."""

    def __init__(self, ids):
        self._ids = {node: list(gpus) for node, gpus in ids.items()}
        self._held = {}

    def assign(self, nodes_of):
        """Return the ids of each job, by node in the order of the nodes, for GPUs by job and node."""
        free = {node: list(gpus) for node, gpus in self._ids.items()}
        given = {
            job: {node: self._kept(job, node, count) for node, count in sorted(nodes.items())}
            for job, nodes in nodes_of.items()
        }
        for nodes in given.values():
            for node, gpus in nodes.items():
                free[node] = [gpu for gpu in free[node] if gpu not in gpus]
        for job, nodes in given.items():
            for node, gpus in nodes.items():
                missing = nodes_of[job][node] - len(gpus)
                if missing > len(free[node]):
                    raise ValueError(f"{job}: {missing} GPUs more on {node}, which has {len(free[node])} left")
                gpus += [free[node].pop(0) for _ in range(missing)]
        self._held = given
        return {job: tuple(gpu for gpus in nodes.values() for gpu in gpus) for job, nodes in given.items()}

    def _kept(self, job, node, count):
        return self._held.get(job, {}).get(node, [])[:count]
