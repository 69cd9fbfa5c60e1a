"""One run of Muri's simulator: a trace, a seed, a policy of theirs or of ours; prints a row of measures as JSON.

Runs in the Python that has what the simulator needs (examples/muri/README.md). Its own loop over events runs, with its
model of groups and of restarts; a session takes the place of matching and placement.
"""

from __future__ import annotations

import contextlib
import csv
import io
import random
import sys
import tempfile
import types
from pathlib import Path

from examples.common.one_run import Run, main
from examples.muri.adapter import SessionGroups

NODES, NODE_GPUS = 4, 8
MURI = "multi-resource-blossom-same-gpu"
SOLO = 1.015
"""What the simulator adds to the iteration of a job alone."""


def jobs_of(folder, trace, seed, count):
    """Return as many jobs of a trace as asked for, one after another, from a place that the seed says."""
    with (folder / "simulator" / "trace-data" / f"{trace}.csv").open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["submit_time"]))
    begin = random.Random(seed).randrange(max(1, len(rows) - count))
    chosen = rows[begin : begin + count]
    first = int(chosen[0]["submit_time"])
    return [dict(row, submit_time=str(int(row["submit_time"]) - first)) for row in chosen]


class MuriRun(Run):
    """A simulation of Muri with what is measured of it: its log is told when jobs end and what runs."""

    def __init__(self, said, link):
        super().__init__({f"n{number}": NODE_GPUS for number in range(NODES)})
        self._said, self._link = said, link
        self._jobs = jobs_of(said.folder, said.trace, said.seed, said.jobs)

    def run(self):
        """Simulate until every job has ended; the simulator writes its own figures into a folder."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            simulator = self._imported(Path(folder))
            simulator.LOG.checkpoint, simulator.LOG.job_complete = self._round, self._ended
            self._simulator = simulator
            if self._link is not None:
                self.rounds = SessionGroups(
                    simulator, self._link, self._said.policy, self._said.method, self._said.limits
                )
                simulator.Blossom_Same, simulator.try_get_job_res = self.rounds, self.rounds.place
            decide = simulator.Blossom_Same.run
            simulator.Blossom_Same = types.SimpleNamespace(run=lambda *asked: self.measures.timed(decide, *asked))
            simulator.main()
        self.driver = None if self.rounds is None else self.rounds.driver

    def _imported(self, folder):
        """Return the simulator as a module; it reads its settings from the command line when it is imported."""
        trace, cluster = folder / "jobs.csv", folder / "cluster.csv"
        with trace.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self._jobs[0]))
            writer.writeheader()
            writer.writerows(self._jobs)
        head = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node"
        cluster.write_text(f"{head}\n1,{NODES},{NODE_GPUS},92,520\n", encoding="utf-8")
        schedule = self._said.policy if self._link is None else MURI
        options = {"trace_file": trace, "cluster_spec": cluster, "log_path": folder, "schedule": schedule}
        sys.argv = ["run_sim", *(f"--{name}={value}" for name, value in options.items())]
        sys.argv += ["--scheme=yarn", "--multi_resource=4", *["--noautopack"] * (self._link is not None)]
        sys.path.insert(0, str(self._said.folder / "simulator"))
        sys.modules.setdefault("cvxpy", types.ModuleType("cvxpy")).SolverError = Exception  # for Themis only
        import run_sim

        for number, job in enumerate(self._jobs):
            alone = int(job["iterations"]) * float(job["iteration_time"]) / 1000 * SOLO
            self.measures.arrived(str(number), int(job["submit_time"]) / 1000, int(job["num_gpu"]), alone)
        return run_sim

    def _ended(self, job, now):
        job["end_time"] = now
        self.measures.ended(str(job["job_idx"]), now)

    def _round(self, now):
        placements, partners = {}, {}
        for job in self._simulator.JOBS.runnable_jobs:
            if job["status"] == "RUNNING":
                nodes = [node for switch in job["placements"] for node in switch["nodes"]]
                name = str(job["job_idx"])
                placements[name] = {f"n{node['id']}": node["num_gpu"] for node in nodes}
                if job["packing"] is not None:
                    partners[name] = [str(one.job_idx) for one in job["packing"].packing_jobs]
        self.measures.round(now, placements, partners)


if __name__ == "__main__":
    main(MuriRun, "muri")
