"""Small random rounds of jobs with deadlines, elastic and not, that use the other fields of format 2 as well."""

from __future__ import annotations

from random import Random

from asked_rounds import GROUPS as ASKED_GROUPS, NOW, asked_round
from msgspec.structs import replace

from muri_opt.rounds import Job, Round

GROUPS = ("plain", *(group for group in ASKED_GROUPS if group != "shape"))
"""Which other fields the rounds use: none, those of a group, or all."""


def deadline_round(seed: int, group: str, most_jobs: int = 4) -> Round:
    """Return one round of a group, the same for the same seed."""
    draw = Random(f"deadline/{group}/{seed}")
    round_ = asked_round(seed, "tenants" if group == "plain" else group, most_jobs)
    jobs = [_with_deadline(draw, job) for job in round_.jobs]
    if group == "plain":
        jobs = [replace(job, preemptible=None, movable=None) for job in jobs]
        tenants = tuple(replace(tenant, parent=None) for tenant in round_.cluster.tenants)
        round_ = replace(round_, cluster=replace(round_.cluster, tenants=tenants))
    return replace(round_, name=f"deadline/{group}/{seed}", jobs=tuple(jobs))


def _with_deadline(draw: Random, job: Job) -> Job:
    said: dict[str, object] = {
        "nodes": None,
        "even": False,
        "remaining_iterations": draw.randint(0, 8),
        "restart_seconds": draw.choice([None, 1.0, 3.0, 9.0]),
        "deadline": draw.choice([None, NOW - 1, *(NOW + draw.randint(0, 12) for _ in range(4))]),
    }
    if draw.random() < 0.6:
        rates = [1.0]
        while len(rates) < draw.randint(1, 4):
            rates.append(rates[-1] + draw.choice([0.0, 0.5, 0.75, 1.0, -0.25]))
        said["scaling"] = {
            size: rate for size, rate in enumerate(rates, 1) if size in (1, len(rates)) or draw.random() < 0.7
        }
        held = sum((job.placement or {}).values())
        if held > len(rates):
            said["scaling"] = {**said["scaling"], held: rates[-1] + 0.5}
        if draw.random() < 0.5:
            said["iteration_seconds"] = None
        else:
            said["gpus"] = draw.randint(1, max(said["scaling"]))
            said["cpus"] = None if job.cpus is None else float(said["gpus"])
    elif draw.random() < 0.2:
        said |= {
            "remaining_iterations": None,
            "time_limit_seconds": float(draw.randint(1, 12)),
            "executed_seconds": 2.0,
        }
    return replace(job, **said)
