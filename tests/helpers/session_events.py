"""A session that is driven by drawn events, the same for the same seed, and a file that kills its process at a byte."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from random import Random
from typing import Any

from muri_opt import Cluster, Job, Node, Session, Tenant
from muri_opt.solve.session import journal, session as sessions

CLUSTER = Cluster(
    nodes=tuple(Node(id=f"n{place}", gpus=4, gpu_type="a100") for place in range(3)),
    tenants=(Tenant(id="all"), Tenant(id="vision", parent="all", quota_gpus=6)),
)


def a_job(name: str, gpus: int = 2) -> Job:
    work: dict[str, Any] = {"iteration_seconds": 1.0, "remaining_iterations": 60, "restart_seconds": 5.0}
    return Job(id=name, gpus=gpus, tenant="vision", submitted=0.0, **work)


def known(session: Session) -> tuple[object, ...]:
    """Return all that a session knows."""
    return session.now, dict(session.jobs), session.cluster, session.pending, session.round_at(session.now + 1.0)


def driven(path: Path, seed: int, steps: int, told: Callable[[Session], object] = known) -> None:
    """Drive a session with a journal by drawn events; ``told`` is called at the start and after each of them."""
    draw, session = Random(seed), Session(CLUSTER, "srtf", "heuristic", journal=path)

    def happens(event: Callable[..., Any], *given: Any, **fields: Any) -> Any:
        answer = event(*given, **fields)
        told(session)
        return answer

    told(session)
    for step in range(steps):
        happens(session.submit, a_job(f"j{step}", draw.randint(1, 5)))
        running = [job.id for job in session.jobs.values() if job.state == "running"]
        if running:
            happens(draw.choice((session.finished, session.failed, session.cancel)), draw.choice(running))
        if draw.random() < 0.3:
            happens(session.set_priority, f"j{step}", draw.randint(-3, 3))
        if draw.random() < 0.3:
            left = [draw.randint(1, 60) for _ in session.jobs]
            happens(session.progress_all, tuple(session.jobs), remaining_iterations=left, executed_seconds=left)
        if draw.random() < 0.2 and len(session.cluster.nodes) > 1:
            happens(session.remove_node, session.cluster.nodes[0].id)
        decided = happens(session.decide, 10.0 * step)
        if draw.random() < 0.8:
            lost = {change.job: "node lost" for change in decided.changes.start if draw.random() < 0.2}
            happens(session.acknowledge, decided, failed=lost)
    session.close()


class CountedFile(FileIO):
    """A file that counts what is written to all of them, and kills the process once so many bytes are."""

    written = 0
    last: int | None = None

    def write(self, data: Any) -> int:
        counted = CountedFile
        if counted.last is not None and counted.written + len(data) >= counted.last:
            super().write(data[: counted.last - counted.written])
            os.kill(os.getpid(), signal.SIGKILL)
        counted.written += len(data)
        return super().write(data)


def count_bytes(patch: Callable[[object, str, object], None]) -> None:
    """Let journals count what they write, and write themselves anew all the time."""
    patch(journal, "FileIO", CountedFile)
    patch(os, "fsync", int)  # what is written outlives a process without it
    patch(sessions, "LEAST_SIZE", 1_000)
    patch(sessions, "MOST_GROWTH", 2)


def main(folder: Path, seed: int, steps: int, places: list[int]) -> None:
    """Drive the same session once for each place, in a process that dies when so many bytes are written."""
    count_bytes(setattr)
    driven(folder / "first.jsonl", seed, steps)  # loads all that is needed, once for all processes
    CountedFile.written = 0
    for place in places:
        child = os.fork()
        if not child:
            CountedFile.last = place
            driven(folder / f"{place}.jsonl", seed, steps)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), [int(place) for place in sys.argv[4:]])
