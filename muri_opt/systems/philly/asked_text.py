"""Why a gang of a tenant waits that may not start just anywhere: all rules that bind, and who holds what it lacks."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import WaitingReason
from muri_opt.systems.capacity.binding_in_sets import Binding, BindingInSets, kept_back
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.quota_text import WITHIN_QUOTA, over_quota, quota_text
from muri_opt.systems.capacity.released import demand_of
from muri_opt.systems.capacity.shaped_fit import fit_in_sets, only_where
from muri_opt.systems.capacity.waiting_words import KEPT_FREE
from muri_opt.systems.philly.waiting_text import BindingRules


class AskedRules:
    """What binds beside what runs; jobs that ask for the same, and are told the same, are looked at once."""

    def __init__(self, rules: BindingRules) -> None:
        round_, state = rules.round, rules.state
        self._round, self._state, self._rules = round_, state, rules
        shares = {job: self._share(held) for job, held in sorted(state.at.items())}
        self._left = Leftover.beside(round_, shares)
        holders = Holders.of(round_, [((job,), share) for job, share in shares.items()])
        self._sets = BindingInSets(round_, self._left, holders, consolidate=False)
        self._known: dict[tuple[int, ...], Binding] = {}
        self._short: dict[tuple[int, int], list[str]] = {}

    def look_at(self, jobs: Collection[int]) -> None:
        """Look at many jobs at once: what :meth:`of` says of them is then known."""
        self._sets.look_at(jobs)

    def of(self, job: int, reason: WaitingReason) -> Binding:
        """Return all that binds for a job, of which ``reason`` is the first, and what would help."""
        if reason is WaitingReason.PRIORITY:
            asks = gpus_text(int(self._round.amounts.g[job]))
            return Binding(reason, f"asks for {asks}, {KEPT_FREE}", "decide again", 0, True)
        found, able = self._binding(job), self._fits_empty(job)
        by_order = bool(self._round.waits_by_order[job])
        # GPUs that are freed may be borrowed, so a quota is told and need not be raised.
        quota = self._quota(job) if able else []
        if by_order:
            told = found._replace(detail="; ".join([found.detail, *quota]))
            return kept_back(self._round, job, None if found.room else told)
        said, remedy = [found.detail], found.remedy
        if found.room:  # it finds its GPUs, but not as close together as it must be
            said = [said[0].removesuffix(f", {KEPT_FREE}"), self._apart(job)]
            remedy = "free GPUs that it can use together where it may start"
        said += quota
        if reason is WaitingReason.BACKOFF:
            said.append(self._rules.backing_off(job))
        elif able:
            said.append(self._rules.may_sit(job))
        return Binding(reason, "; ".join(said), remedy, 0, found.room)

    def _binding(self, job: int) -> Binding:
        """Return what binds whatever a job has waited for, quotas aside."""
        amounts, one = self._round.amounts, self._round.jobs[job]
        own = job if one.state == "running" or self._round.waits_by_order[job] else -1
        what = (int(amounts.g[job]), int(amounts.c[job]), int(amounts.m[job]))
        key = (*what, self._state.status.kind(job), own)
        if key not in self._known:
            self._known[key] = self._sets.binding(job, WITHIN_QUOTA)
        return self._known[key]

    def _quota(self, job: int) -> list[str]:
        """Return whose quotas are short, as one text or none."""
        amounts = self._round.amounts
        key = int(amounts.g[job]), int(amounts.tenant[job])
        if key not in self._short:
            over = over_quota(self._left, job) > 0
            self._short[key] = [quota_text(self._round, self._left, job)] if over else []
        return self._short[key]

    def _fits_empty(self, job: int) -> bool:
        """Return whether the job fits the empty cluster; of one that is kept back, were it not."""
        if not self._round.waits_by_order[job]:
            return bool(self._state.status.locality.fits[job])
        amounts = self._round.amounts
        empty = amounts.most_gpus([job], amounts.G, amounts.C, amounts.M)
        return fit_in_sets(empty, int(amounts.g[job]), demand_of(self._round, job)) is not None

    def _apart(self, job: int) -> str:
        """Return what is free for a job that finds its GPUs, though not where it may be placed."""
        free = int(only_where(self._left.gpus, demand_of(self._round, job)).sum())
        alone = self._state.status.rules.dedicated is not None
        return f"{free} are free where it may start, not close enough together{' or not on nodes of its own' * alone}"

    def _share(self, held: dict[int, int]) -> Ints:
        share = np.zeros(len(self._round.cluster.nodes), dtype=np.int64)
        share[list(held)] = list(held.values())
        return share
