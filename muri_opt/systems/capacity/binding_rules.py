"""Why a gang does not start beside what runs: all rules that bind, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import WaitingReason
from muri_opt.systems.capacity.binding_in_sets import Binding, BindingInSets, kept_back
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import fewest_nodes
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.kind_rooms import KindRooms
from muri_opt.systems.capacity.lacking_amounts import LackingAmounts
from muri_opt.systems.capacity.quota_text import WITHIN_QUOTA, OverQuota, over_quota_text
from muri_opt.systems.capacity.waiting_words import DECIDE_AGAIN, KEPT_FREE


class BindingRules:
    """The rules that keep jobs from starting beside what runs; ``left`` is what that leaves."""

    def __init__(self, round_: Round, left: Leftover, holders: Holders, *, consolidate: bool) -> None:
        self._round, self._left, self._holders, self.consolidates = round_, left, holders, consolidate
        self._free, self._total = int(left.gpus.sum()), round_.cluster.total_gpus
        self._rooms = KindRooms(round_, left)
        self._lacking = LackingAmounts(round_, left, holders, np.ones((1, len(left.gpus)), dtype=np.bool_))
        self._lacks: dict[int, list[str]] = {}
        """What each job lacks that was looked at."""
        self._sets = BindingInSets(round_, left, holders, consolidate=consolidate)
        self._quotas: dict[tuple[int, int], OverQuota] = {}
        """What quotas keep jobs from starting, by tenant and GPUs."""

    def look_at(self, jobs: Collection[int]) -> None:
        """Look at many jobs at once: what :meth:`of` says of them is then known."""
        if self._left.sets is not None:
            self._sets.look_at(jobs)
        else:
            some = [*jobs]
            self._rooms.look_at(some)
            lacks = self._lacking.of_each(some, [self._rooms.of(job).free for job in some], [0] * len(some))
            self._lacks.update(zip(some, lacks, strict=True))

    def tenants_told(self, jobs: Sequence[int]) -> Ints:
        """Return the tenant of each job of which :meth:`of` tells something, -1 where no quota binds."""
        tenants = self._left.amounts.tenant[jobs]
        if self._left.types is not None:
            return tenants
        asks = self._left.asks[jobs]
        if self._left.borrowed is None:
            return np.where(asks > self._least_left[tenants], tenants, -1)
        over = [self._over_quota(job, gpus).gpus > 0 for job, gpus in zip(jobs, asks.tolist(), strict=True)]
        return np.where(over, tenants, -1)

    @cached_property
    def _least_left(self) -> Ints:
        """How many GPUs each tenant may have more by its quota and those above it; a job without one may have any."""
        return self._left.amounts.least_in_line(self._left.quota)

    def of(self, job: int) -> Binding:
        """Return what binds for a job that waits."""
        if self._left.sets is not None:
            return self._in_sets(job)
        left, kind = self._left, self._rooms.of(job)
        asks, free, most = int(left.asks[job]), self._free, kind.most
        said, remedies = [f"asks for {gpus_text(asks)}"], list[str]()
        reasons = list[WaitingReason]()
        if asks > most:
            some = "" if most == self._total else f", {most} of them with the CPUs and memory it needs"
            said.append(f"the empty cluster has {self._total}{some}")
            remedies.append(f"ask for at most {gpus_text(most)}, or enlarge the cluster")
            reasons.append(WaitingReason.CAPACITY)
        over = self._over_quota(job, asks)
        if over.gpus:
            said.append(over.said)
            remedies.append(over.remedy)
            reasons.append(WaitingReason.QUOTA)
        nodes = fewest_nodes(self._round, job) if self.consolidates else len(left.gpus)
        best = kind.most_on(nodes) if self.consolidates else kind.free
        fits = asks <= min(most, best)
        if asks <= most and not fits:
            said.append(f"{free} of {self._total} are free" + self._short_of(job, nodes, best) * (free > 0))
            short = f"{asks - best} more GPU{'s' * (asks - best != 1)}"
            remedies.append(f"free {short}" if asks > free else f"free room for {short} where it can use them")
            reasons.append(WaitingReason.CAPACITY if asks > free else WaitingReason.FRAGMENTATION)
        if not reasons:
            said = [f"asks for {gpus_text(asks)}, {KEPT_FREE}"]
            remedies.append(DECIDE_AGAIN)
            reasons.append(WaitingReason.PRIORITY)
        return Binding(reasons[0], "; ".join(said), " and ".join(remedies), over.gpus, fits)

    def _in_sets(self, job: int) -> Binding:
        """Return what binds for a job that may not start just anywhere."""
        found = self._sets.binding(job, self._over_quota(job, self._left.asks.item(job)))
        return kept_back(self._round, job, found) if self._round.waits_by_order[job] else found

    def _over_quota(self, job: int, asks: int) -> OverQuota:
        """Return how many of the GPUs of a job are above a quota, and in words which."""
        tenant = self._left.amounts.tenant.item(job)
        if self._left.borrowed is None and asks <= self._least_left.item(tenant):
            return WITHIN_QUOTA
        key = tenant, asks
        if key not in self._quotas:
            self._quotas[key] = over_quota_text(self._round, self._left, job)
        return self._quotas[key]

    def _short_of(self, job: int, nodes: int, best: int) -> str:
        """Return how many of the free GPUs the job could use, and what is in the way of the others."""
        if job not in self._lacks:
            self.look_at([job])
        words = [*self._lacks[job]]
        if self.consolidates and nodes < len(self._left.gpus):
            words.append(f"{best} on {nodes} node{'s' * (nodes != 1)}")
        return ", at most " + " and ".join(words) if words else ""
