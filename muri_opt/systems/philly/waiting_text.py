"""Why a gang of a tenant waits, and what would start it, in words."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.change_wording import gpus_text, time_text
from muri_opt.rounds.decision import WaitingReason
from muri_opt.rounds.waiting import waited_by
from muri_opt.systems.capacity.quota_text import short_tenants
from muri_opt.systems.capacity.shaped_fit import only_where
from muri_opt.systems.capacity.waiting_words import KEPT_FREE
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.locality import ANYWHERE, IN_RACK, SPREADS, TOGETHER
from muri_opt.systems.philly.rack_room import RackRoom
from muri_opt.systems.philly.waiting_changes import demand_of, soonest


def free_where(state: ClusterState, job: int) -> int:
    """Return the free GPUs of the nodes on which a job may start."""
    sets = state.status.sets
    return int((state.gpus if sets is None else only_where(state.gpus, sets.of(job))).sum())


class BindingRules:
    """The rules that keep each job from starting beside what is in the cluster, with their numbers."""

    def __init__(self, round_: Round, state: ClusterState) -> None:
        self.round, self.state = round_, state
        self.free, self.total = int(state.gpus.sum()), state.status.total
        self._best: dict[tuple[int, ...], str] = {}
        self._short: dict[tuple[int, int], str] = {}
        """Whose quotas are short, by tenant and GPUs."""

    def of(self, job: int, reason: WaitingReason) -> str:
        """Return what the job asks for, and what there is of it where it may sit."""
        state, status, amounts = self.state, self.state.status, self.round.amounts
        asks = f"asks for {gpus_text(int(amounts.g[job]))}"
        if reason is WaitingReason.PRIORITY:
            return f"{asks}, {KEPT_FREE}"
        lacks = bool(status.locality.fits[job] and amounts.g[job] > self.free)
        if reason is WaitingReason.QUOTA or (lacks and not state.has_quota_left(job)):
            asks += f"; {self._quota(job)}"
        if reason is WaitingReason.BACKOFF:
            return f"{asks}{f'; {self.free} of {self.total} are free' * lacks}; {self.backing_off(job)}"
        if not status.locality.fits[job]:
            most = int(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M).sum())
            some = "" if most == self.total else f", {most} of them with the CPUs and memory it needs"
            return f"{asks}; the empty cluster has {self.total}{some}"
        if lacks:
            return f"{asks}; {self.free} of {self.total} are free"
        return f"{asks}; {self.free} of {self.total} are free, at most {self._most(job)}; {self.may_sit(job)}"

    def backing_off(self, job: int) -> str:
        """Return how long a job is left alone yet."""
        rules, waited = self.state.status.rules, waited_by(self.round, self.round.jobs[job])
        left = soonest(rules, waited, TOGETHER) - waited
        return f"in back-off for {time_text(left)} more, then tried for {time_text(rules.hold)}"

    def _quota(self, job: int) -> str:
        """Return whose quotas are short."""
        state, amounts = self.state, self.round.amounts
        key = int(amounts.tenant[job]), int(amounts.g[job])
        if key not in self._short:
            line = amounts.line(key[0])
            self._short[key] = "; ".join(short_tenants(self.round, line, state.quota, key[1]).values())
        return self._short[key]

    def _most(self, job: int) -> str:
        """Return how many GPUs the job finds at most, spread as far as it may; equal demands are looked at once."""
        level = int(self.state.status.widest[job])
        key = (*demand_of(self.state, job), level)
        if key not in self._best:
            self._best[key] = self._most_at(job, level)
        return self._best[key]

    def _most_at(self, job: int, level: int) -> str:
        locality, room = self.state.status.locality, self.state.room(job)
        if level == ANYWHERE:
            return f"{int(room.sum())} where it can use them"
        in_rack, fewest = bool(locality.in_rack[job]), int(locality.fewest[job])
        rooms = RackRoom(room, locality.rack if in_rack else np.zeros_like(locality.rack), len(locality.racks))
        together = f"{rooms.most(fewest)} together on {fewest} node{'s' * (fewest != 1)}"
        wider = f"{rooms.most(len(room))} in one rack"
        if not in_rack:
            return together
        return f"{together}, {wider}" if level == TOGETHER else wider

    def may_sit(self, job: int) -> str:
        """Return how far the job may spread, and from when on further."""
        status, waited = self.state.status, waited_by(self.round, self.round.jobs[job])
        level = int(status.widest[job])
        wider = (IN_RACK, ANYWHERE) if status.locality.in_rack[job] else (ANYWHERE,)
        left = {spread: soonest(status.rules, waited, spread) - waited for spread in wider if spread > level}
        if IN_RACK in left and left[IN_RACK] == left[ANYWHERE]:
            del left[IN_RACK]
        now = f"may sit {SPREADS[level]}" if level in wider else "must sit together"
        return ", ".join([now, *(f"{SPREADS[spread]} in {time_text(span)}" for spread, span in left.items())])
