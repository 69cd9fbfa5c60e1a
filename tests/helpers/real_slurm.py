"""A real Slurm with fake GPUs on this machine: four nodes, two GPU types, two partitions. For the marker ``slurm``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BASH = shutil.which("bash") or "/bin/bash"
NEEDED = ("slurmctld", "slurmd", "sbatch", "munged")
PACKAGES = "slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins"
SLURM = all(shutil.which(program) for program in NEEDED) and os.geteuid() == 0
"""Whether one can be started here."""
_SCRIPTS = Path(__file__).resolve().parent / "slurm"


class RealSlurm:
    """A Slurm that runs; ``environment`` is what its commands need."""

    def __init__(self, folder: Path) -> None:
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def run(self, *words: str) -> str:
        """Return what a command prints."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout.strip()

    def submit(self, *options: str, seconds: float = 1.0, held: bool = True) -> str:
        """Submit a job that sleeps, and return its id."""
        hold = ("-H",) if held else ()
        always = ("-D", tempfile.gettempdir(), "-o", os.devnull, "--parsable", "-t", "5")
        return self.run("sbatch", *hold, *always, *options, "--wrap", f"sleep {seconds}")

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Return the records of all jobs by id."""
        return {str(job["job_id"]): job for job in json.loads(self.run("squeue", "--json"))["jobs"]}

    def wait(self, *states: str, jobs: list[str]) -> dict[str, dict[str, Any]]:
        """Return the records once all the jobs are in one of the states."""
        while True:
            found = self.jobs()
            if all(found[job]["job_state"] in states for job in jobs):
                return found
            time.sleep(0.2)


@contextmanager
def real_slurm(folder: Path, base_port: int) -> Iterator[RealSlurm]:
    """Start a Slurm in a folder whose path is short, and stop it at the end."""
    environment = {**os.environ, "SLURM_BASE_PORT": str(base_port)}
    subprocess.run([BASH, str(_SCRIPTS / "up"), str(folder)], env=environment, check=True, capture_output=True)
    try:
        yield RealSlurm(folder)
    finally:
        subprocess.run([BASH, str(_SCRIPTS / "down"), str(folder)], check=True, capture_output=True)
