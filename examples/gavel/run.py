"""One run of Gavel's simulator: a trace, a seed, a policy of theirs or of ours; prints a row of measures as JSON.

Runs in the Python that has what Gavel needs (examples/gavel/README.md).
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import sys
import types

from examples.common.one_run import Run, main
from examples.gavel.adapter import GavelRounds

SERVER_GPUS = 4
UNUSED = ("matrix_completion", "runtime", "runtime.rpc", "runtime.rpc.scheduler_server", "runtime.rpc.scheduler_client")
"""What Gavel imports and a simulation does not use: its servers' messages are generated, and not there."""


def modules(folder):
    """Make Gavel's modules importable, with empty ones in place of those that a simulation does not use."""
    for name in UNUSED:
        sys.modules.setdefault(name, types.ModuleType(name))
        outer, _, inner = name.rpartition(".")
        if outer:
            setattr(sys.modules[outer], inner, sys.modules[name])
    sys.path[:0] = [str(folder / "scheduler")]


def workload(trace, seed, count, throughputs, utils, folder):
    """Return GPUs by type, jobs and arrival times: a sample of a published trace, or jobs that Gavel's code draws."""
    draw = random.Random(seed)
    if trace == "one-type":
        duration = lambda rng: 60 * 10 ** rng.uniform(1, 2.5)  # noqa: E731
        options = {"generate_multi_gpu_jobs": True, "duration_generator_func": duration}
        jobs = [utils.generate_job(throughputs, rng=draw, **options) for _ in range(count)]
        arrivals = [0.0]
        while len(arrivals) < count:
            arrivals.append(arrivals[-1] + draw.expovariate(1 / 240.0))
        return {"v100": 32}, jobs, arrivals
    file = {"makespan": "minimize_makespan.trace", "arrivals": "max_min_fairness.trace"}[trace]
    jobs, arrivals = utils.parse_trace(str(folder / "scheduler" / "traces" / "physical_cluster" / file))
    chosen = sorted(draw.sample(range(len(jobs)), min(count, len(jobs))))
    first = arrivals[chosen[0]]
    return {"v100": 16, "p100": 16, "k80": 16}, [jobs[at] for at in chosen], [arrivals[at] - first for at in chosen]


class GavelRun(Run):
    """A simulation of Gavel with what is measured of it."""

    def __init__(self, said, link):
        modules(said.folder)
        import scheduler
        import utils

        logging.disable(logging.CRITICAL)
        file = str(said.folder / "scheduler" / "simulation_throughputs.json")
        theirs = link is None
        policy = utils.get_policy(said.policy if theirs else "fifo_perf", solver="ECOS", seed=said.seed)
        with contextlib.redirect_stdout(io.StringIO()):
            self.scheduler = scheduler.Scheduler(policy, simulate=True, throughputs_file=file, seed=said.seed)
        oracle = self.scheduler._oracle_throughputs
        self.types, self.jobs, self.arrivals = workload(said.trace, said.seed, said.jobs, oracle, utils, said.folder)
        nodes = {f"{kind}-{at}": SERVER_GPUS for kind in self.types for at in range(self.types[kind] // SERVER_GPUS)}
        super().__init__(nodes)
        self._said, self._link, self._schedule = said, link, self.scheduler._schedule_jobs_on_workers
        self.scheduler._schedule_jobs_on_workers = self._round

    def run(self):
        """Simulate until every job has ended."""
        servers = dict.fromkeys(self.types, SERVER_GPUS)
        with contextlib.redirect_stdout(io.StringIO()):
            self.scheduler.simulate(self.types, self.arrivals, self.jobs, num_gpus_per_server=servers)
        for job_id, seconds in self.scheduler._job_completion_times.items():
            self.measures.ended(str(job_id), self.scheduler._per_job_start_timestamps[job_id] + seconds)

    def _round(self):
        """Decide a round as Gavel or as a session does, and tell it to the measures."""
        theirs = self.scheduler
        if self._link is not None and self.rounds is None:
            self.rounds = GavelRounds(theirs, self._link, self._said.policy, self._said.method, self._said.limits)
            self.driver, self._schedule = self.rounds.driver, self.rounds.schedule
        for job_id, job in theirs._jobs.items():
            self.measures.arrived(
                str(job_id), theirs._per_job_start_timestamps[job_id], job.scale_factor, self._alone(job_id, job)
            )
        given = self.measures.timed(self._schedule)
        node_of = self._nodes_of_workers()
        placements = {}
        for job_id, workers in given.items():
            at = placements.setdefault(str(job_id), {})
            for worker in workers:
                at[node_of[worker]] = at.get(node_of[worker], 0) + 1
        self.measures.round(theirs.get_current_timestamp(), placements)
        return given

    def _alone(self, job_id, job):
        """The time of a job that has its GPUs on each type for as long as there are GPUs of the type."""
        speeds, total = self.scheduler._throughputs[job_id], sum(self.types.values())
        return job.total_steps / sum(speeds[kind] * self.types[kind] / total for kind in self.types)

    def _nodes_of_workers(self):
        servers = self.scheduler._worker_type_to_worker_id_mapping
        return {worker: f"{kind}-{at}" for kind in servers for at, ids in enumerate(servers[kind]) for worker in ids}


if __name__ == "__main__":
    main(GavelRun, "gavel")
