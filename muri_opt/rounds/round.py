"""One scheduling round: the cluster and the jobs at one moment."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Literal

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds.amounts import Amounts
from muri_opt.rounds.cluster import Cluster
from muri_opt.rounds.error_text import listed, shortened, shown
from muri_opt.rounds.field_checks import check_items, check_kind, check_unique, items, text
from muri_opt.rounds.job import Job, Seconds
from muri_opt.rounds.quantities import MAX_SECONDS, MICROSECONDS_PER_SECOND, snapped
from muri_opt.rounds.running_jobs import check_running

ROUND_FORMAT: Literal["muri-opt/round/1"] = "muri-opt/round/1"
DEFAULT_RESOURCES = ("storage", "cpu", "gpu", "network")


class Round(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Everything one decision is made from; consistent in itself once it exists.

    Refused are two jobs, nodes or tenants of one id, a job of a tenant that is not listed (when any is), stage times
    that do not match ``resources``, a placement on a node that is missing or too small, and running jobs that do not
    say where they are, hold GPUs they cannot run with, or together overfill a node.

    >>> round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=(Job(id="a", gpus=2), Job(id="b", gpus=1)))
    >>> len(round_.jobs), round_.cluster.total_gpus
    (2, 2)
    """

    format: Literal["muri-opt/round/1"] = ROUND_FORMAT
    name: str = ""
    now: Seconds = 0.0
    resources: tuple[str, ...] = DEFAULT_RESOURCES
    cluster: Cluster
    jobs: tuple[Job, ...]

    def __post_init__(self) -> None:
        if self.format != ROUND_FORMAT:
            raise InputError("format", shown(self.format), repr(ROUND_FORMAT))
        now = snapped("now", self.now, MAX_SECONDS, MICROSECONDS_PER_SECOND)
        names = tuple(text(f"resources[{at}]", name) for at, name in enumerate(items("resources", self.resources)))
        checked = {"format": ROUND_FORMAT, "name": text("name", self.name), "now": now, "resources": names}
        for field, value in checked.items():
            msgspec.structs.force_setattr(self, field, value)
        check_kind("cluster", self.cluster, Cluster)
        check_items(self, "jobs", Job)
        check_unique("jobs", [job.id for job in self.jobs])
        tenants = {tenant.id for tenant in self.cluster.tenants}
        for position, job in enumerate(self.jobs):
            try:
                _check_job(self, job, tenants)
            except InputError as error:
                raise error.inside(f"jobs[{position}] ({shown(job.id)})") from None
        check_running(self.cluster, self.jobs)

    @cached_property
    def job_index(self) -> dict[str, int]:
        """Position of each job id in ``jobs``."""
        return {job.id: position for position, job in enumerate(self.jobs)}

    @cached_property
    def amounts(self) -> Amounts:
        """Demands and capacities as integer arrays."""
        return Amounts.of(self.cluster, self.jobs)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical text: equal rounds have equal fingerprints."""
        return "sha256:" + hashlib.sha256(canonical_json(self)).hexdigest()


def canonical_json(round_: Round) -> bytes:
    """Return the one compact text of a round: fields in order, absent ones left out, mappings as a job sorted them."""
    return msgspec.json.encode(round_)


def _check_job(round_: Round, job: Job, tenants: set[str]) -> None:
    if job.tenant is not None and tenants and job.tenant not in tenants:
        raise InputError("tenant", shown(job.tenant), f"a tenant of the cluster: {listed(tenants)}")
    if job.stage_seconds is not None and len(job.stage_seconds) != len(round_.resources):
        raise InputError(
            "stage_seconds",
            f"{len(job.stage_seconds)} times",
            f"{len(round_.resources)} times, one per resource: {', '.join(map(shortened, round_.resources))}",
        )
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
