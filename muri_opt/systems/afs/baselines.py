"""Policies ``optimus``, ``max-min-elastic`` and ``srtf-elastic``: what AFS is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.baseline_rules import max_min_shares, optimus_shares, srtf_shares
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.demand import Demand
from muri_opt.systems.afs.event_clock import Rule
from muri_opt.systems.afs.policy import ElasticPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimusPolicy(ElasticPolicy):
    """One GPU each, shortest first, then one by one where a GPU saves most time.

    >>> decision = policy_from("optimus").decide(shipped_round("toy/three-elastic"), 0)
    >>> [sum(one.gpus.values()) for one in decision.assignments]
    [1, 2, 1]
    """

    own_name: ClassVar[str] = "optimus"
    objective: str = "time"

    def shares(self, round_: Round, demand: Demand, gpus: int, seed: int) -> Ints:
        """Return the shares by marginal gain."""
        return optimus_shares(demand.cap, demand.time, gpus)

    def clock_rule(self, rules: ClockRules) -> Rule:
        """Return the same rule."""
        return rules.optimus


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxMinPolicy(ElasticPolicy):
    """GPUs dealt one by one in turn, in the order of submission.

    >>> decision = policy_from("max-min-elastic").decide(shipped_round("toy/three-elastic"), 0)
    >>> [sum(one.gpus.values()) for one in decision.assignments]
    [2, 1, 1]
    """

    own_name: ClassVar[str] = "max-min-elastic"

    def shares(self, round_: Round, demand: Demand, gpus: int, seed: int) -> Ints:
        """Return the most equal shares."""
        return max_min_shares(demand.cap, gpus, order=demand.arrivals(round_))

    def clock_rule(self, rules: ClockRules) -> Rule:
        """Return the same rule."""
        return rules.max_min


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortestFirstPolicy(ElasticPolicy):
    """All GPUs it can use to the job that then ends first, what is left to the next.

    >>> decision = policy_from("srtf-elastic").decide(shipped_round("toy/three-elastic"), 0)
    >>> [sum(one.gpus.values()) for one in decision.assignments]
    [3, 1]
    """

    own_name: ClassVar[str] = "srtf-elastic"
    objective: str = "speed"

    def shares(self, round_: Round, demand: Demand, gpus: int, seed: int) -> Ints:
        """Return the shares of elastic SRTF."""
        return srtf_shares(demand.cap, demand.time, gpus)

    def clock_rule(self, rules: ClockRules) -> Rule:
        """Return the same rule."""
        return rules.srtf
