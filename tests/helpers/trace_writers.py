"""Files of every format written from rows, and rows drawn so that a reader keeps all of them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from hypothesis import strategies as st

from muri_opt.replay.traces import Attempt, TraceJob

ORIGIN = datetime(2017, 10, 9, 7, 0, 0)
STATUS = {"passed": "Pass", "killed": "Killed", "failed": "Failed", "running": "Pass"}
STATE = {"passed": "COMPLETED", "killed": "CANCELLED", "failed": "FAILED", "running": "COMPLETED"}
PHASE = {"passed": "Succeeded", "failed": "Failed", "running": "Running", "unknown": "Running"}
NAMES = st.integers(0, 10**6).map(lambda number: f"é job-{number}")


def clock(seconds):
    return "None" if seconds is None else str(ORIGIN + timedelta(seconds=seconds))


def philly_job(**changes):
    """One good job of the log, as a mapping."""
    return {
        "status": "Pass",
        "vc": "vision",
        "jobid": "a1",
        "attempts": [attempt(60, 3660, {"m1": 2})],
        "submitted_time": clock(0),
        "user": "u1",
    } | changes


def attempt(start, end, machines):
    return {
        "start_time": clock(start),
        "end_time": clock(end),
        "detail": [{"ip": name, "gpus": [f"gpu{k}" for k in range(gpus)]} for name, gpus in machines.items()],
    }


def philly_text(*jobs):
    return json.dumps(list(jobs), indent=1)


def philly_of(jobs):
    return philly_text(
        *(
            {
                "status": STATUS[job.status],
                "vc": job.tenant,
                "jobid": job.id,
                "attempts": [attempt(a.start, a.end, a.placement) for a in job.attempts],
                "submitted_time": clock(job.submitted),
                "user": job.user,
            }
            for job in jobs
        )
    )


def csv_text(header, rows):
    return "\n".join([header, *(",".join("" if cell is None else str(cell) for cell in row) for row in rows)]) + "\n"


FLAT = "timestamp,duration,num_gpus,gpu_time,cluster"
OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
HELIOS = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"


def flat_of(jobs):
    rows = [(clock(j.submitted), j.duration, j.gpus, j.duration * j.gpus, j.tenant) for j in jobs]
    return csv_text(FLAT, rows)


def openb_of(jobs):
    rows = [
        (
            *(j.id, round(j.cpus * 1000), round(j.memory_gib * 1024), j.gpus, 1000, "", "LS", PHASE[j.status]),
            *(int(j.submitted), None if j.last_end is None else int(j.last_end), int(j.first_start)),
        )
        for j in jobs
    ]
    return csv_text(OPENB, rows)


def helios_of(jobs):
    rows = [
        (
            *(j.id, j.user, j.tenant, j.gpus, j.cpus, 1, STATE[j.status], clock(j.submitted)),
            *(clock(j.first_start), clock(j.last_end), j.duration, j.queueing_delay),
        )
        for j in jobs
    ]
    return csv_text(HELIOS, rows)


@st.composite
def attempts(draw, most, placed, gpus):
    """Attempts that follow each other, the last of them perhaps still running, on machines that hold these GPUs."""
    seconds = draw(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 90_000)), min_size=1, max_size=most))
    still_running = draw(st.booleans())
    found, now = [], 0
    for position, (pause, length) in enumerate(seconds):
        start, now = now + pause, now + pause + length
        first = draw(st.integers(1, gpus))
        placement = {"m1": first} | ({"m2": gpus - first} if gpus > first else {})
        end = None if still_running and position == len(seconds) - 1 else float(now)
        found.append(Attempt(start=float(start), end=end, placement=placement if placed else {}))
    return tuple(found)


@st.composite
def kept_jobs(draw, statuses, most=3, placed=False, tenants=True, users=True, amounts=()):
    """Jobs in order of submission, the first at 0, every one of them kept by its reader."""
    ids = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    submitted, jobs = 0, []
    for name in ids:
        gpus = draw(st.integers(1, 64))
        relative = draw(attempts(most, placed, gpus))
        moved = tuple(
            Attempt(start=a.start + submitted, end=None if a.end is None else a.end + submitted, placement=a.placement)
            for a in relative
        )
        end = moved[-1].end
        jobs.append(
            TraceJob(
                id=name,
                submitted=float(submitted),
                gpus=gpus,
                tenant=draw(NAMES) if tenants else None,
                user=draw(NAMES) if users else None,
                cpus=draw(st.integers(0, 960)) / 8 if "cpus" in amounts else None,
                memory_gib=draw(st.integers(0, 8192)) / 4 if "memory" in amounts else None,
                status="running" if end is None else draw(st.sampled_from(statuses)),
                attempts=moved,
                duration=None if end is None else end - moved[0].start,
            )
        )
        submitted += draw(st.integers(0, 100_000))
    return jobs


@st.composite
def flat_jobs(draw):
    """Jobs with a duration and nothing else; they are named by their lines."""
    submitted, jobs = 0, []
    for line in range(2, 2 + draw(st.integers(1, 8))):
        duration, gpus = draw(st.integers(0, 4_000_000)) / 2, draw(st.integers(1, 128))
        jobs.append(
            TraceJob(id=f"line-{line}", submitted=float(submitted), gpus=gpus, tenant=draw(NAMES), duration=duration)
        )
        submitted += draw(st.integers(0, 100_000))
    return jobs
