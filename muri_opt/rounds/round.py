"""One scheduling round: the cluster and the jobs at one moment."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, Final, Literal

import msgspec
import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.rounds.cluster import Cluster, Seconds
from muri_opt.rounds.eligibility import Bools, Eligibility, waits_by_order
from muri_opt.rounds.error_text import listed, shortened, shown
from muri_opt.rounds.field_checks import check_items, check_kind, check_unique, items, text
from muri_opt.rounds.job import Job, Plan
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.quantities import MAX_SECONDS, MICROSECONDS_PER_SECOND, snapped
from muri_opt.rounds.running_jobs import check_running
from muri_opt.rounds.together import Together, check_together
from muri_opt.rounds.used_fields import used_fields

Format = Literal["muri-opt/round/1", "muri-opt/round/2"]
ROUND_FORMATS: tuple[Format, Format] = ("muri-opt/round/1", "muri-opt/round/2")
FORMATS_ALLOWED = "one of " + ", ".join(map(repr, ROUND_FORMATS))
DEFAULT_RESOURCES = ("storage", "cpu", "gpu", "network")


_WRITTEN: Final = KeptByObject[msgspec.Raw]()
"""The text of plans, which are most of a round and which jobs keep from round to round."""


class Round(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Everything one decision is made from; consistent in itself once it exists.

    Refused are two jobs, nodes or tenants of one id, a job of a tenant that is not listed (when any is), stage times
    that do not match ``resources``, a placement on a node that is missing or too small, and running jobs that do not
    say where they are, hold GPUs they cannot run with, or together overfill a node. So are a level that the cluster
    does not have, and a job on a node that is down and may not be stopped. A deadline that has passed is no fault.

    ``format`` is 2 where a field is used that format 1 does not have, or where it is said and nodes have several GPU
    types: in format 2 no gang mixes them. All else is of format 1, however it was given.

    >>> round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=(Job(id="a", gpus=2), Job(id="b", gpus=1)))
    >>> len(round_.jobs), round_.cluster.total_gpus
    (2, 2)
    """

    format: Format = ROUND_FORMATS[0]
    name: str = ""
    now: Seconds = 0.0
    resources: tuple[str, ...] = DEFAULT_RESOURCES
    cluster: Cluster
    jobs: tuple[Job, ...]
    together: tuple[Together, ...] = ()

    def __post_init__(self) -> None:
        if self.format not in ROUND_FORMATS:
            raise InputError("format", shown(self.format), FORMATS_ALLOWED)
        now = snapped("now", self.now, MAX_SECONDS, MICROSECONDS_PER_SECOND)
        names = tuple(text(f"resources[{at}]", name) for at, name in enumerate(items("resources", self.resources)))
        checked = {"name": text("name", self.name), "now": now, "resources": names}
        for field, value in checked.items():
            msgspec.structs.force_setattr(self, field, value)
        check_kind("cluster", self.cluster, Cluster)
        check_items(self, "jobs", Job)
        check_unique("jobs", [job.id for job in self.jobs])
        check_items(self, "together", Together)
        check_together(self.together)
        tenants = {tenant.id for tenant in self.cluster.tenants}
        for position, job in _worth_a_look(self.jobs, tenants, len(self.resources)):
            try:
                _check_job(self, job, tenants)
            except InputError as error:
                raise error.inside(f"jobs[{position}] ({shown(job.id)})") from None
        check_running(self.cluster, self.jobs)
        msgspec.structs.force_setattr(self, "format", ROUND_FORMATS[bool(self.used_fields)])

    @cached_property
    def used_fields(self) -> dict[str, str]:
        """The fields used that format 1 does not have, such as ``job.priority``, each with the first place it is in."""
        return used_fields(self)

    @cached_property
    def job_index(self) -> dict[str, int]:
        """Position of each job id in ``jobs``."""
        return {job.id: position for position, job in enumerate(self.jobs)}

    @cached_property
    def amounts(self) -> Amounts:
        """Demands and capacities as integer arrays."""
        return Amounts.of(self.cluster, self.jobs)

    @cached_property
    def eligible(self) -> Bools:
        """``[j, s]``: whether job j may start on node s, as far as types, labels, levels and states of nodes say."""
        return Eligibility.of(self).mask

    @cached_property
    def waits_by_order(self) -> Bools:
        """Which jobs may not start, as they are held or are to begin later."""
        return waits_by_order(self)

    @cached_property
    def priorities(self) -> Ints:
        """The priority of each job; the larger goes first."""
        return np.fromiter((job.priority for job in self.jobs), dtype=np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical text: equal rounds have equal fingerprints."""
        return "sha256:" + hashlib.sha256(canonical_json(self)).hexdigest()


def canonical_json(round_: Round) -> bytes:
    """Return the one compact text of a round: fields in order, absent ones left out, mappings as a job sorted them."""
    return format_text(round_, round_.format)


def format_text(round_: Round, format_: Format) -> bytes:
    """Return the compact text of a round in a format that can say it; both say racks, in ways of their own."""
    two = format_ == ROUND_FORMATS[1]
    content = {field: getattr(round_, field) for field in round_.__struct_fields__}
    content |= {"format": format_, "cluster": _with_levels(round_.cluster) if two else round_.cluster}
    content["jobs"] = _with_written_plans(round_.jobs)
    if not round_.together:
        del content["together"]
    return msgspec.json.encode(content)


def _with_written_plans(jobs: tuple[Job, ...]) -> Sequence[Job]:
    """Return jobs to be written, their plans as the text that was written of the very plans before."""
    if not any(job.plans for job in jobs):
        return jobs
    _WRITTEN.expect(len(jobs))
    every = [job.plans for job in jobs]
    found = [copy(job) for job in jobs]
    for job, plans, written in zip(found, every, _WRITTEN.get_all(every), strict=True):
        msgspec.structs.force_setattr(job, "plans", _written(plans) if written is None else written)
    return found


def _written(plans: Sequence[Plan] | None) -> msgspec.Raw | Sequence[Plan] | None:
    """Return the text of plans, which is kept, if there are any."""
    if not plans:
        return plans
    text = msgspec.Raw(msgspec.json.encode(plans))
    _WRITTEN.put(plans, None, text)
    return text


def _with_levels(cluster: Cluster) -> dict[str, Any]:
    """Return the cluster as format 2 writes it: racks are a level like others."""
    content: dict[str, Any] = msgspec.to_builtins(cluster)
    for node, written in zip(cluster.nodes, content["nodes"], strict=True):
        written.pop("rack", None)
        units = {level: node.units[level] for level in cluster.level_names if level in node.units}
        if units:
            written["levels"] = units
    return {"levels": list(cluster.level_names), **content} if cluster.level_names else content


def _worth_a_look(jobs: tuple[Job, ...], tenants: set[str], stages: int) -> list[tuple[int, Job]]:
    """Return the jobs that say something which the rest of the round may contradict, with their places."""
    known: set[str | None] = {None, *tenants}
    if not tenants:
        known.update(job.tenant for job in jobs)
    return [
        (position, job)
        for position, job in enumerate(jobs)
        if job.placement
        or (job.stage_seconds is not None and len(job.stage_seconds) != stages)
        or job.tenant not in known
        or job.within is not None
    ]


def _check_job(round_: Round, job: Job, tenants: set[str]) -> None:
    if job.tenant is not None and tenants and job.tenant not in tenants:
        raise InputError("tenant", shown(job.tenant), f"a tenant of the cluster: {listed(tenants)}")
    if job.stage_seconds is not None and len(job.stage_seconds) != len(round_.resources):
        raise InputError(
            "stage_seconds",
            f"{len(job.stage_seconds)} times",
            f"{len(round_.resources)} times, one per resource: {', '.join(map(shortened, round_.resources))}",
        )
    if job.within is not None and job.within.level not in round_.cluster.level_names:
        known = listed(round_.cluster.level_names) or "it has none"
        raise InputError("within.level", shown(job.within.level), f"a level of the cluster: {known}")
    for node, gpus in (job.placement or {}).items():
        field = f"placement[{shortened(node)}]"
        position = round_.cluster.node_index.get(node)
        if position is None:
            known = listed(round_.cluster.node_index)
            lost = "a job whose node is gone waits: leave out its state and placement"
            raise InputError(field, f"{gpus} GPUs on {shown(node)}", f"a node of the cluster: {known}; {lost}")
        has = round_.cluster.nodes[position].gpus
        if gpus > has:
            raise InputError(field, f"{gpus} GPUs", f"at most the {has} GPUs of the node")
        if job.stays and round_.cluster.nodes[position].state == "down":
            lost = "a job that may be stopped, or one that waits: leave out its state and placement"
            raise InputError(field, f"{gpus} GPUs of a node that is down, for a job that is not preemptible", lost)
