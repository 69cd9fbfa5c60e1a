"""One run of Sia's simulator: a trace, a seed, a policy of theirs or of ours; prints a row of measures as JSON.

Runs in the Python that has what Sia's simulator needs (examples/sia/README.md).
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from functools import partial

from examples.common.one_run import Run, main
from examples.sia.adapter import SiaRounds
from examples.sia.fits import Cache, remember_fits

SERVERS = {"aws": 4, "dgx-ext": 1, "rtx": 2}
ONE_TYPE = {"aws": 8}
"""Servers by type: 40 GPUs of three types, or 32 of one."""
LARGEST = 8
"""GPUs that a job may ask for at most: those of the smallest type."""
LEFT_OUT = ("imagenet",)
"""Applications that are not run: one such job would have most of the rounds for itself."""


def workload(folder, trace, seed, count):
    """Return the first jobs of a workload of theirs, of those that are run, with no more GPUs than every type has."""
    import pandas

    kind = {"one-type": "newtrace"}.get(trace, trace)
    table = pandas.read_csv(folder / "workloads" / kind / f"workload-{seed + 1}.csv")
    table = table[~table.application.isin(LEFT_OUT)].head(count).copy()
    table["num_replicas"] = table.num_replicas.clip(upper=LARGEST)
    return table


@contextlib.contextmanager
def quiet():
    """Let nothing be printed: their simulator, and the solver below it, have several lines for each job and round."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class SiaRun(Run):
    """A simulation of Sia with what is measured of it."""

    def __init__(self, said, link):
        self._folder = said.folder / "sia-simulator"
        sys.path[:0] = [str(self._folder)]
        warnings.simplefilter("ignore")
        import cluster
        import simulator_config

        servers = ONE_TYPE if said.trace == "one-type" else SERVERS
        self._sizes = {kind: simulator_config.cluster_ngpus_per_node[kind] for kind in servers}
        super().__init__({f"{kind}/{at}": self._sizes[kind] for kind in servers for at in range(servers[kind])})
        self._said, self._cache = said, Cache(said.cache)
        remember_fits(self._cache)
        with quiet():
            policy = self._policy("sia" if link else said.policy)
            policy.populate_valid_configs(servers, self._sizes, simulator_config.cluster_max_physical_nnodes)
            jobs = workload(self._folder, said.trace, said.seed, said.jobs)
            most = simulator_config.cluster_max_physical_nnodes
            self.cluster = cluster.Cluster(jobs, policy, servers, self._sizes, max_physical_nodes=most)
            if said.policy == "gavel":
                self.cluster.disable_bsz_tuning()
        self._optimize = policy.optimize
        if link is not None:
            from sia import get_restart_penalty

            rounds = SiaRounds(policy, link, said.policy, said.method, said.limits, get_restart_penalty)
            self.driver, self._optimize = rounds.driver, rounds.decide
        policy.optimize = self._round

    def _policy(self, name):
        """Return a policy of theirs as their script of experiments sets it."""
        from gavel import GavelPolicy
        from sia import SiaPolicy

        if name == "gavel":
            self._seconds = 360
            return GavelPolicy(self._seconds)
        self._seconds = 60
        options = {"lambda_a": 0.01, "lambda_n": 1.1, "project_throughputs": True, "share_max_replicas": True}
        return SiaPolicy(p_fairness=-0.5, restart_penalty=30, **options)

    def run(self):
        """Simulate until every job has ended."""
        with quiet():
            while not self.cluster.all_complete():
                self.cluster.step(self._seconds)
            alone = self._alone_seconds()
        self._cache.save()
        for job in self.cluster.jobs:
            self.measures.arrived(job.name, job.submission_time, job.target_num_replicas, alone[job.name])
            self.measures.ended(job.name, job.completion_time)

    def row(self):
        """Return what was measured; stops are the restarts that the simulator charges."""
        return dict(super().row(), stops=sum(job.num_restarts or 0 for job in self.cluster.jobs))

    def _round(self, jobs, nodes, before):
        given = self.measures.timed(self._optimize, jobs, nodes, before)
        placements = {}
        for name, (kind, ids) in given.items():
            if kind is not None and len(ids):
                placements[name] = {f"{kind}/{at}": list(ids).count(at) for at in set(ids)}
        self.measures.round(self.cluster.current_time, placements)
        return given

    def _alone_seconds(self):
        """Return for each job the time that it takes alone: with the GPUs it asks for, mean speed of all types."""
        weights = {kind: size * self.cluster.num_nodes[kind] for kind, size in self._sizes.items()}
        found = {}
        for job in self.cluster.jobs:
            key = (job.app_name, job.target_num_replicas, job.target_batch_size)
            seconds = {
                kind: self._cache.get(f"alone {kind} {key}", partial(self._alone, kind, *key)) for kind in weights
            }
            found[job.name] = sum(weights.values()) / sum(weights[kind] / seconds[kind] for kind in weights)
        return found

    def _alone(self, kind, application, gpus, batch):
        """Return the seconds of a job that has GPUs of a type from its beginning to its end."""
        from job import Job

        job, size = Job("alone", self.cluster.cluster_applications[application], 0, gpus, batch), self._sizes[kind]
        job.migrate(kind, [size] * (gpus // size) + ([gpus % size] if gpus % size else []))
        while job.completion_time is None:
            job.step(600)
        return float(job.completion_time)


if __name__ == "__main__":
    main(SiaRun, "sia")
