"""Sia's rounds decided by a session: its configurations are the plans, its goodputs their throughputs."""

from __future__ import annotations

from examples.common.driver import Driver


class SiaRounds:
    """Has ``decide`` in place of ``optimize`` of a policy of theirs, which is asked for configurations and goodputs."""

    def __init__(self, theirs, link, policy, method, limits, restart_seconds):
        self._theirs, self._restart = theirs, restart_seconds
        counts, sizes = theirs.cluster_num_nodes, theirs.cluster_ngpus_per_node
        self._one_type = len(sizes) == 1
        ids = [(kind, place) for kind in sizes for place in range(counts[kind])]
        nodes = [dict(id=f"{kind}/{at}", gpus=sizes[kind], **self._type(kind)) for kind, at in ids]
        self.driver = Driver(link, nodes, policy, method, limits)
        self._plans = not policy.startswith("joint")

    def decide(self, jobs, nodes, before):
        """Return type and nodes, once for each GPU, of every job: what their ``optimize`` returns."""
        told = [self._job(name, info) for name, info in jobs.items()]
        placed = self.driver.decide(max(info.creation_timestamp + info.age for info in jobs.values()), told)
        found = dict.fromkeys(jobs, (None, ()))
        for name, at in placed.items():
            ids = sorted((int(node.split("/")[1]), gpus) for node, gpus in at.nodes.items())
            found[name] = next(iter(at.nodes)).split("/")[0], [node for node, gpus in ids for _ in range(gpus)]
        return found

    def _job(self, name, info):
        job = {"id": name, "gpus": 1, "submitted": info.creation_timestamp, "restart_seconds": self._restart(name)}
        job.update(attained_gpu_seconds=info.attained_service, restarts=info.num_restarts)
        job.update({"preemptible": False} if info.scaling_underway and name in self.driver.placed else {})
        rates = self._rates(info)
        if not self._plans:
            return dict(job, scaling={str(gpus): rate for (_, _, gpus), rate in rates.items()})
        job["plans"] = [
            dict(name=f"dp@{kind}x{gpus}", gpus=gpus, nodes=nodes, throughput=rate, **self._type(kind))
            for (kind, nodes, gpus), rate in rates.items()
        ]
        return dict(job, plan=job["plans"][0]["name"])

    def _rates(self, info):
        """Return the goodput of each configuration over the least; a job that never ran: one GPU of any type, alike."""
        if not any(info.speedup_fn.values()):
            return {(kind, 1, 1): 1.0 for kind in self._theirs.configs}
        most, found = max(info.max_replicas.values()), {}
        for kind, (nodes, gpus) in self._theirs.configs.items():
            shapes = nodes[gpus <= most], gpus[gpus <= most]
            rates = self._theirs._compute_goodputs_v2(info, kind, *shapes)
            found.update({(kind, int(at), int(count)): float(rate) for at, count, rate in zip(*shapes, rates)})
        least = min(rate for rate in found.values() if rate > 0)
        return {shape: rate / least for shape, rate in found.items() if rate > 0}

    def _type(self, kind):
        return {} if self._one_type else {"gpu_type": kind}
