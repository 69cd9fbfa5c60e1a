"""Which shapes elastic jobs may not ask for, and which nodes shares cannot be packed into."""

from __future__ import annotations

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import Round


def check_shapes(round_: Round, policy: str, *, by_node: bool) -> None:
    """Refuse a place that is only preferred, and numbers of nodes that a job's shares cannot be on.

    ``by_node`` says that a share is on one node, or on as many as it fills, and leaves a job nothing to ask for.
    """
    if {"job.within", "job.nodes"}.isdisjoint(round_.used_fields):
        return
    for position, job in enumerate(round_.jobs):
        where = f"jobs[{position}] ({job.id!r})"
        if job.within is not None and not job.within.required:
            allowed = f"true: the policy {policy!r} prefers no place to another"
            raise RefusalError(f"{where}.within.required", "false", allowed)
        if job.nodes is not None and by_node:
            found, allowed = "a range", "none with packing=node: a share is on one node, or on as many as it fills"
            raise RefusalError(f"{where}.nodes", found, allowed)
        if job.nodes is not None and job.scaling and max(job.scaling) < job.nodes.least:
            found = f"at least {job.nodes.least} nodes for a job that scales to {max(job.scaling)} GPUs"
            raise InputError(f"{where}.nodes", found, "no more nodes than the GPUs of its largest share")


def check_packing(rest: Round) -> None:
    """Refuse what jobs that go on as they are leave to others, if shares cannot divide or fill its nodes."""
    sizes = sorted({node.gpus for node in rest.cluster.nodes if node.gpus})
    if len(sizes) > 1:
        found = f"jobs that go on as they are and leave nodes of {', '.join(map(str, sizes))} GPUs"
        raise RefusalError("packing", found, "nodes of one size with packing=node; packing=any takes the round")
