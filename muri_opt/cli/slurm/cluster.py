"""A Slurm that runs: what its commands print, and commands given to it. Slurm stays the referee of all of them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from muri_opt.cli.slurm.nodes import job_records, node_records
from muri_opt.cli.slurm.reader import Reading, read_slurm
from muri_opt.errors import InputError

SECONDS: Final = 120.0
"""How long a command of Slurm is waited for."""


class Source(Protocol):
    """Where a snapshot comes from."""

    def read(self) -> Reading:
        """Return the queue as it is now."""
        ...


class Files:
    """What ``squeue --json`` and ``sinfo --json`` or ``scontrol show nodes --json`` have printed."""

    def __init__(self, jobs: str, nodes: str) -> None:
        self._jobs, self._nodes = jobs, nodes

    def read(self) -> Reading:
        """Return what the files say, at the latest moment that they name."""
        return read_slurm(job_records(_from_file(self._jobs)), node_records(_from_file(self._nodes)))


class Commands:
    """The Slurm that the commands of this machine reach."""

    def read(self) -> Reading:
        """Return the queue as it is now."""
        jobs = job_records(_printed("squeue", "--json"))
        try:
            nodes = node_records(_printed("scontrol", "show", "nodes", "--json"))
        except InputError:  # versions before 24.11 do not know it
            nodes = node_records(_printed("sinfo", "--json"))
        return read_slurm(jobs, nodes, now=float(int(time.time())))


def run(words: Sequence[str]) -> str | None:
    """Give Slurm a command; return what it complains about, or ``None``."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"


def _printed(*words: str) -> Any:
    command = " ".join(words)
    try:
        done = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            command, str(error), "a Slurm that answers; or --jobs and --nodes with what it printed"
        ) from None
    if done.returncode != 0:
        raise InputError(command, done.stderr.decode(errors="replace").strip()[:200], "a Slurm that answers")
    return _parsed(command, done.stdout)


def _from_file(name: str) -> Any:
    try:
        return _parsed(name, Path(name).read_bytes())
    except OSError as error:
        raise InputError(name, error.strerror or str(error), "a readable file") from None


def _parsed(where: str, text: bytes) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(where, str(error)[:200], "JSON, as Slurm prints it with --json") from None
    if not isinstance(found, dict):
        raise InputError(where, type(found).__name__, "a JSON object")
    errors = found.get("errors")
    if errors and isinstance(errors, list):  # with no jobs or nodes beside, as if there were none
        told = [str(one.get("description") or one.get("error") or one) for one in errors if isinstance(one, dict)]
        raise InputError(where, "; ".join(told)[:200] or "errors", "no errors: a Slurm whose controller answers")
    return found
