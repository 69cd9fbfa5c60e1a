"""One run of Blox's simulation: a workload, a seed, a policy of theirs or of ours; prints a row of measures as JSON.

Runs in the Python that has what Blox needs (examples/blox/README.md). Blox's own loop of a scheduler runs, with its
state of jobs and cluster and its model of progress; jobs come from Blox's generators and not over its network.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import random
import sys
import tempfile
import types
from pathlib import Path

from examples.blox.adapter import SessionPlacement
from examples.common.one_run import Run, main

NODES, NODE_GPUS = 8, 4
ROUND_SECONDS = {"small": 300, "exponential": 1200, "gavel": 1200}
"""Seconds of a round, by workload: longer where jobs last for days."""
LOADS = {"small": 8, "exponential": 2, "gavel": 2}
"""Jobs that come in an hour, by the generator of their lengths: half an hour to 8 h, 18 h on average, up to 7 days."""
UNUSED = ("grpc", "nm_pb2", "nm_pb2_grpc", "rm_pb2", "rm_pb2_grpc", "simulator_pb2", "simulator_pb2_grpc")
"""What Blox imports and a simulation in one process does not use; some of it is generated, and not there."""


class _Unused(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return object


def modules(folder):
    """Make Blox's modules importable and return the one with the loop of its LAS scheduler."""
    for name in (*UNUSED, "google", "google.protobuf", "google.protobuf.json_format"):
        sys.modules.setdefault(name, _Unused(name))
    sys.path[:0] = [str(folder), str(folder / "blox")]
    import las_scheduler

    return las_scheduler


def workload(trace, seed, count, folder):
    """Return jobs as Blox's simulator sends them, drawn by its generators."""
    spec = importlib.util.spec_from_file_location("blox_draws", folder / "workload" / "utils.py")
    draws = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draws)
    random.seed(seed)
    lengths = {
        "small": draws.small_trace_dur,
        "exponential": lambda: draws.get_total_iteration_exp(5000, 600000),
        "gavel": draws.get_gavel_like_iter,
    }
    at, jobs = 0, []
    for _ in range(count):
        at += draws.poisson_next_arrival_time(LOADS[trace])
        job = {"submit_time": at, "job_arrival_time": at, "num_GPUs": draws.get_job_gpu_demand(), "simulation": True}
        jobs.append(dict(job, job_iteration_time=1, job_total_iteration=lengths[trace](), job_executed_iteration=0))
    return jobs


class Arrivals:
    """In place of Blox's server: what its loop asks for, without a network."""

    def __init__(self, jobs, policy):
        self._jobs, self._policy, self._nodes = list(jobs), policy, []
        for number in range(NODES):
            gpus = "\n".join(f"{number}-{gpu}" for gpu in range(NODE_GPUS))
            self._nodes.append({"numGPUs": NODE_GPUS, "gpuUUIDs": gpus, "ipaddr": f"n{number}"})

    def get_new_sim_config(self):
        """Return the settings of a run; every job is tracked."""
        return {"scheduler": self._policy, "load": 0, "start_id_track": 0, "stop_id_track": len(self._jobs) - 1}

    def get_new_nodes(self):
        """Return all nodes, once."""
        new, self._nodes = self._nodes, []
        return new

    def get_jobs_sim(self, now):
        """Return the jobs that have come until now."""
        new = [job for job in self._jobs if job["submit_time"] <= now]
        self._jobs = self._jobs[len(new) :]
        return new

    def stop(self, _grace):
        """Do nothing: no server was started."""


class BloxRun(Run):
    """A simulation of Blox with what is measured of it; it takes the place of order and placement in Blox's loop."""

    def __init__(self, said, link):
        super().__init__({f"n{number}": NODE_GPUS for number in range(NODES)})
        with contextlib.redirect_stdout(io.StringIO()):
            self._loop = modules(said.folder)
        jobs = workload(said.trace, said.seed, said.jobs, said.folder)
        for number, job in enumerate(jobs):
            self.measures.arrived(str(number), job["submit_time"], job["num_GPUs"], job["job_total_iteration"])
        server = Arrivals(jobs, said.policy)
        sys.modules[self._loop.BloxManager.__module__].launch_server = lambda **_: (server, server)
        if link is None:
            self._order = getattr(self._loop.schedulers, said.policy)(None)
            self._placement = self._loop.placement.JobPlacement(None)
        else:
            self._order, self._placement = self, SessionPlacement(link, said.policy, said.method, said.limits)
        self._loop.schedulers.Las = self._loop.placement.JobPlacement = lambda _arguments: self
        self._jobs, self._seconds = None, ROUND_SECONDS[said.trace]

    def run(self):
        """Simulate until every job has ended; Blox writes its own figures into the folder where it runs."""
        sys.argv = ["blox", "--simulate", "--exp-prefix", "run", "--round-duration", str(self._seconds)]
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            os.chdir(folder)
            try:
                self._loop.main(self._loop.parse_args(argparse.ArgumentParser()))
            finally:
                os.chdir(here)
        for number, (_, end) in self._jobs.job_completion_stats.items():
            self.measures.ended(str(number), end)
        self.driver = getattr(self._placement, "driver", None)

    def schedule(self, _jobs, _cluster):
        """Return no order: it is asked for when jobs are placed, so that both are timed together."""
        return {}

    def place(self, jobs, cluster, _order):
        """Decide a round as Blox or as a session does, and tell it to the measures."""
        self._jobs = jobs
        stopped, launched = self.measures.timed(self._decided, jobs, cluster)
        gpus, placements = cluster.gpu_df, {}
        node_of = dict(zip(gpus["GPU_ID"], gpus["Node_ID"]))
        held = [(number, gpu) for gpu, number in zip(gpus["GPU_ID"], gpus["JOB_IDS"]) if number is not None]
        held = [(number, gpu) for number, gpu in held if number not in stopped]
        for number, gpu in held + [(number, gpu) for number, given in launched.items() for gpu in given]:
            at = placements.setdefault(str(number), {})
            at[f"n{node_of[gpu]}"] = at.get(f"n{node_of[gpu]}", 0) + 1
        self.measures.round(jobs.time, placements)
        return stopped, launched

    def _decided(self, jobs, cluster):
        return self._placement.place(jobs, cluster, self._order.schedule(jobs, cluster))


if __name__ == "__main__":
    main(BloxRun, "blox")
