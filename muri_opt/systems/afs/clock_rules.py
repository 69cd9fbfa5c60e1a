"""The rules of AFS and its baselines in the form the clock asks: shares of the live jobs, by their remaining work.

Speeds are whole numbers, ``speed[j, k]`` of job ``j`` on ``k`` GPUs as in :class:`Curves`; positions are those of the
arrays the clock was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.errors import unknown_name
from muri_opt.systems.afs.baseline_rules import max_min_shares, optimus_shares, srtf_shares
from muri_opt.systems.afs.event_clock import Live, Rule
from muri_opt.systems.afs.greedy import afs_shares
from muri_opt.systems.afs.scan_orders import scan_order
from muri_opt.systems.curves import NEVER, Ints

INELASTIC_ORDERS: Final = ("fifo", "srtf", "srsf")
"""By arrival; by remaining time; by remaining time times GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockRules:
    """Rules for jobs with these curves on a cluster of ``gpus`` GPUs.

    >>> rules = ClockRules(speed=np.array([[0, 1, 2]]), cap=np.array([2]), gpus=2)
    >>> run_clock(arrivals=[0], work=[8], speed=rules.speed, cap=rules.cap, rule=rules.max_min, gpus=2).durations
    array([4.])
    """

    speed: Ints
    cap: Ints
    gpus: int

    def afs(self, *, scan: str = "longest", tie: str = "longer", phi: int | None = 1) -> Rule:
        """Return AFS-L; ``scan`` is the order in which it visits the jobs."""

        def rule(live: Live) -> Ints:
            time = self.microseconds(live)
            order = scan_order(scan, time)
            return afs_shares(self.speed[live.jobs], self.cap[live.jobs], time, self.gpus, scan=order, tie=tie, phi=phi)

        return rule

    def max_min(self, live: Live) -> Ints:
        """Return GPUs dealt one by one in turn, the job that was first served first, then by arrival."""
        order = np.lexsort((np.arange(len(live.jobs)), live.first_served))
        return max_min_shares(self.cap[live.jobs], self.gpus, order=order)

    def optimus(self, live: Live) -> Ints:
        """Return one GPU each, shortest first, and the rest one by one where it saves most time."""
        return optimus_shares(self.cap[live.jobs], self.microseconds(live), self.gpus)

    def srtf(self, live: Live) -> Ints:
        """Return elastic SRTF: to each job all it can use, the one that would then finish first first."""
        return srtf_shares(self.cap[live.jobs], self.microseconds(live), self.gpus)

    def inelastic(self, requested: Ints, order: str) -> Rule:
        """Return the rule under which a job has all GPUs it requested, or none.

        Jobs go by ``order``, one of ``INELASTIC_ORDERS``; a later job fills what an earlier, larger one leaves free.
        """
        if order not in INELASTIC_ORDERS:
            raise unknown_name("order", order, INELASTIC_ORDERS)

        def rule(live: Live) -> Ints:
            asked = requested[live.jobs]
            seconds = live.remaining / self.speed[live.jobs, asked]
            keys = {"fifo": np.arange(len(asked)), "srtf": seconds, "srsf": seconds * asked}
            shares, free = np.zeros(len(asked), dtype=np.int64), self.gpus
            for i in np.argsort(keys[order], kind="stable").tolist():
                if asked[i] <= free:
                    shares[i] = asked[i]
                    free -= int(asked[i])
            return shares

        return rule

    def microseconds(self, live: Live) -> Ints:
        """Return the remaining time of the live jobs on every number of GPUs, ``NEVER`` where they make no progress."""
        rate = self.speed[live.jobs].astype(np.float64)
        taken = np.divide(live.remaining[:, None] * 1e6, rate, out=np.full(rate.shape, float(NEVER)), where=rate > 0)
        return np.asarray(np.rint(np.minimum(taken, NEVER)), dtype=np.int64)
