"""What a job asks of nodes, order and time beside its GPUs: the fields of format 2, checked."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import check_kind, check_names, check_texts
from muri_opt.rounds.quantities import check_seconds, whole
from muri_opt.rounds.shape import NodeRange, Within

if TYPE_CHECKING:
    from muri_opt.rounds.job import Job

MAX_PRIORITY = 10**10
DEMANDS: Final = {
    "priority": 0,
    "gpu_types": None,
    "nodes": None,
    "even": False,
    "requires": (),
    "excludes": (),
    "within": None,
    "preemptible": None,
    "movable": None,
    "held": None,
    "not_before": None,
    "deadline": None,
    "time_limit_seconds": None,
    "model": None,
}
"""The fields with what stands where a job does not say them."""

_demands = attrgetter(*DEMANDS)
_nothing: Final = tuple(DEMANDS.values())
_ANY_NODES: Final = NodeRange()


def demanding(jobs: Sequence[Job]) -> list[int]:
    """Return the places of jobs that say any of the fields; written out, as every round that is made asks for it."""
    return [
        place
        for place, job in enumerate(jobs)
        if job.priority
        or job.gpu_types is not None
        or job.nodes is not None
        or job.even
        or job.requires
        or job.excludes
        or job.within is not None
        or job.preemptible is not None
        or job.movable is not None
        or job.held is not None
        or job.not_before is not None
        or job.deadline is not None
        or job.time_limit_seconds is not None
        or job.model is not None
    ]


def check_demands(job: Job) -> None:
    """Refuse what is no demand, and demands that contradict each other; most jobs have none."""
    if _demands(job) == _nothing and type(job.priority) is int and job.even is False:
        return
    priority = whole("priority", job.priority, MAX_PRIORITY, -MAX_PRIORITY)
    msgspec.structs.force_setattr(job, "priority", priority)
    if job.gpu_types is not None:
        check_names(job, "gpu_types")
        if not job.gpu_types:
            raise InputError("gpu_types", "an empty list", "at least one GPU type, or no list: any one type")
    check_names(job, "requires")
    check_names(job, "excludes")
    if job.excludes and job.requires:
        _check_labels(job)
    check_kind("even", job.even, bool)
    if job.preemptible is not None:
        check_kind("preemptible", job.preemptible, bool)
    if job.movable is not None:
        check_kind("movable", job.movable, bool)
    if job.within is not None:
        check_kind("within", job.within, Within)
    if job.nodes is not None or job.even:
        _check_shape(job)
    check_texts(job, "held", "model")
    check_seconds(job, "not_before", "deadline", "time_limit_seconds")


def _check_labels(job: Job) -> None:
    both = [label for label in job.requires if label in job.excludes]
    if both:
        raise InputError("excludes", f"{shown(both[0])}, which the job requires too", "labels that it does not require")


def _check_shape(job: Job) -> None:
    """Refuse a range of nodes over which the job's GPUs cannot be split."""
    if job.nodes is not None:
        check_kind("nodes", job.nodes, NodeRange)
    wanted = _ANY_NODES if job.nodes is None else job.nodes
    if type(job.gpus) is int and job.gpus and not wanted.counts(job.gpus, even=job.even):
        most = "" if wanted.most is None else f" and at most {wanted.most}"
        split = ", the same number on each" if job.even else ", at least one on each"
        found = f"at least {wanted.least}{most} nodes for {job.gpus} GPUs{split}"
        raise InputError("nodes", found, "a number of nodes that can hold the job's GPUs")
