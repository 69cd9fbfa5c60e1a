"""What the adapter of Blox asks of it, with numbers of our own: three rounds of four jobs on two nodes of four GPUs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from examples.blox.adapter import SessionPlacement

GPUS = 8


def job(gpus: int, seconds: int, submitted: int) -> dict[str, Any]:
    job = {"num_GPUs": gpus, "submit_time": submitted, "job_iteration_time": 1, "job_total_iteration": seconds}
    return dict(job, job_executed_iteration=0, tracked_metrics={"attained_service": 0}, is_running=False)


def blox_rounds(link: Any) -> list[tuple[list[int], dict[int, list[int]]]]:
    """Return who is stopped and launched: two long jobs, then two short ones that push one aside, then their end."""
    frame = {"GPU_ID": list(range(GPUS)), "Node_ID": [gpu // 4 for gpu in range(GPUS)], "JOB_IDS": [None] * GPUS}
    jobs = SimpleNamespace(time=0, active_jobs={0: job(4, 9000, 0), 1: job(4, 6000, 0)})
    placement = SessionPlacement(link, "srtf:preempt=yes", "heuristic", {"work": 1.0})
    found = []
    for now, new, gone in ((0, {}, ()), (300, {2: job(2, 300, 250), 3: job(2, 300, 260)}, ()), (600, {}, (2, 3))):
        jobs.time = now
        jobs.active_jobs.update(new)
        for number in gone:
            del jobs.active_jobs[number]
            frame["JOB_IDS"] = [None if held == number else held for held in frame["JOB_IDS"]]
        stopped, launched = placement.place(jobs, SimpleNamespace(gpu_df=frame))
        found.append((stopped, launched))
        for number in stopped:
            frame["JOB_IDS"] = [None if held == number else held for held in frame["JOB_IDS"]]
        for number, gpus in launched.items():
            for gpu in gpus:
                assert frame["JOB_IDS"][gpu] is None
                frame["JOB_IDS"][gpu] = number
        for number, one in jobs.active_jobs.items():
            one["is_running"] = number in frame["JOB_IDS"]
            one["job_executed_iteration"] += 300 * one["is_running"]
            one["tracked_metrics"]["attained_service"] += 300 * one["is_running"]
    return found
