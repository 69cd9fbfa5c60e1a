"""Policies in the form the clock of AFS asks them: shares of the live jobs, by what is left of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.outcome import Floats, Ints
from muri_opt.rounds.quantities import MILLISECONDS_PER_SECOND
from muri_opt.systems import policy_from
from muri_opt.systems.afs.afs_p_rule import afs_p_shares
from muri_opt.systems.afs.clock_rules import INELASTIC_ORDERS, ClockRules
from muri_opt.systems.afs.event_clock import Live, Rule

POLICIES = (*INELASTIC_ORDERS, "tiresias", "max-min-elastic", "srtf-elastic", "optimus", "afs-l", "afs-p")
WITH_SETTINGS = ("tiresias", "afs-l", "afs-p")
Wake = Callable[[float], float]


def asked_rule(policy: str, rules: ClockRules, requested: Ints, work: Floats, *, seed: int) -> tuple[Rule, Wake | None]:
    """Return the rule of a policy, and when it wants to be asked although nothing arrives or ends.

    The ``seed`` is of the coin of ``afs-p``; no other policy leaves anything to chance.
    """
    name, _, settings = policy.partition(":")
    if name not in POLICIES or (settings and name not in WITH_SETTINGS):
        raise unknown_name("policy of the clock 'afs'", policy, POLICIES)
    if name in INELASTIC_ORDERS:
        return rules.inelastic(requested, name), None
    chosen: Any = policy_from(policy)
    if name == "tiresias":
        queues = Queues(rules, requested, work, np.array(chosen.order.limits) / MILLISECONDS_PER_SECOND)
        return queues.shares, queues.wakes
    if name == "afs-p" and chosen.objective != "completion":
        turns = Turns(rules, float(chosen.quantum), np.random.default_rng(seed))
        return turns.shares, turns.wakes
    rule = chosen.clock_rule(rules)
    if rule is None:
        raise InputError("policy of the clock 'afs'", repr(policy), "a rule that looks at the work left of jobs alone")
    return rule, None


@dataclass(slots=True)
class Queues:
    """Tiresias on jobs that have all GPUs they ask for or none: by queue, then by first service, then by arrival."""

    rules: ClockRules
    requested: Ints
    work: Floats
    limits: Floats
    due: float = inf

    def shares(self, live: Live) -> Ints:
        """Return the GPUs of the live jobs, and remember when the next one leaves its queue."""
        asked = self.requested[live.jobs]
        rate = self.rules.speed[live.jobs, asked]
        service = (self.work[live.jobs] - live.remaining) / rate * asked
        queue = np.searchsorted(self.limits, service + 1e-6, side="right")
        shares, free = np.zeros(len(asked), dtype=np.int64), self.rules.gpus
        for i in np.lexsort((np.arange(len(asked)), live.first_served, queue)).tolist():
            if asked[i] <= free:
                shares[i] = asked[i]
                free -= int(asked[i])
        ahead = np.append(self.limits, inf)[queue]
        left = np.where(shares > 0, (ahead - service) / asked, inf)
        self.due = live.now + float(left.min(initial=inf))
        return shares

    def wakes(self, now: float) -> float:
        """Return when the next job leaves its queue."""
        return self.due


@dataclass(slots=True)
class Turns:
    """AFS-P: lengths are not known, and where jobs outnumber GPUs they take turns of a quantum.

    Every job that is given a share begins a quantum, also where there are fewer jobs than GPUs. There all shares are
    found anew at every decision, so all quanta begin again; a job that has several GPUs when jobs reach the number of
    GPUs keeps them until its quantum ends. Only a quantum that ends where jobs take turns is counted.
    """

    rules: ClockRules
    quantum: float
    coin: np.random.Generator
    had: Ints = field(init=False)
    until: Floats = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.rules.cap)
        self.had, self.until = np.zeros(count, dtype=np.int64), np.full(count, inf)

    def shares(self, live: Live) -> Ints:
        """Return the GPUs of the live jobs; a quantum that has ended is counted, one that begins gets its end."""
        ends = self.until[live.jobs]
        inside = (live.shares > 0) & (ends > live.now)
        if len(live.jobs) >= self.rules.gpus:
            self.had[live.jobs[ends <= live.now]] += 1
        else:
            inside[:] = False
        shares = afs_p_shares(
            self.rules.speed[live.jobs],
            self.rules.cap[live.jobs],
            self.rules.gpus,
            quanta=self.had[live.jobs],
            keeps=np.where(inside, live.shares, 0),
            order=np.lexsort((np.arange(len(live.jobs)), live.first_served)),
            coin=self.coin,
        )
        self.until = np.full_like(self.until, inf)  # quanta of jobs that are gone or wait wake nobody
        self.until[live.jobs[shares > 0]] = np.where(inside, ends, live.now + self.quantum)[shares > 0]
        return shares

    def wakes(self, now: float) -> float:
        """Return when the next quantum ends."""
        return float(self.until[self.until > now].min(initial=inf))
