"""A whole trace: its jobs in order of submission, its machines, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Literal

import msgspec

from muri_opt.errors import InputError
from muri_opt.replay.traces.jobs import TraceJob
from muri_opt.replay.traces.round_at import Moment, checked_moment, moment_of, with_racks, with_tenants
from muri_opt.replay.traces.skipped_rows import ReadReport
from muri_opt.rounds import Cluster, Node, Round
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import check_kind

FormatName = Literal["philly", "philly-csv", "openb", "helios"]


class Trace(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A trace; ``epoch`` is the time at which its seconds begin, ``None`` where the file counts seconds itself.

    ``jobs`` are sorted by submission, those of one second in the order of the file. ``machines`` reports on the list of
    machines, if there was one.
    """

    format: FormatName
    epoch: datetime | None
    jobs: tuple[TraceJob, ...]
    report: ReadReport
    nodes: tuple[Node, ...] = ()
    machines: ReadReport | None = None

    def __post_init__(self) -> None:
        for before, after in pairwise(self.jobs):
            if after.submitted < before.submitted:
                found = f"{shown(after.id)} after {shown(before.id)}, which is submitted later"
                raise InputError("jobs", found, "jobs in the order of their submission")

    @cached_property
    def tenants(self) -> tuple[str, ...]:
        """The tenants of the jobs, in alphabetical order."""
        return tuple(sorted({job.tenant for job in self.jobs if job.tenant is not None}))

    def round_at(
        self,
        seconds: float,
        cluster: Cluster | None = None,
        *,
        quotas: Mapping[str, int] | None = None,
        racks: Mapping[str, Iterable[str]] | None = None,
    ) -> Round:
        """Return the round of :meth:`moment_at`."""
        return self.moment_at(seconds, cluster, quotas=quotas, racks=racks).round

    def moment_at(
        self,
        seconds: float,
        cluster: Cluster | None = None,
        *,
        quotas: Mapping[str, int] | None = None,
        racks: Mapping[str, Iterable[str]] | None = None,
    ) -> Moment:
        """Return the round of the jobs submitted and not ended at a moment, on ``cluster`` or the trace's own machines.

        A job whose attempt covers the moment runs where it was, if the cluster has these nodes and they have room;
        where it is given as waiting instead, the moment counts it. Tenants have no quota but those in ``quotas``;
        ``racks`` maps racks to the ids of their nodes.
        """
        if cluster is None:
            if not self.nodes:
                raise InputError("cluster", "no machine in the trace", "a list of machines for the trace, or a cluster")
            cluster = Cluster(nodes=self.nodes)
        check_kind("cluster", cluster, Cluster)
        at = checked_moment(seconds)
        if racks is not None:
            cluster = with_racks(cluster, racks)
        cluster = with_tenants(cluster, self.tenants, quotas or {})
        return moment_of(self.jobs, cluster, at, f"{self.format}/at-{at:.15g}")
