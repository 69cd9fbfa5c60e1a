"""A rule for elastic shares followed to the end of a round, in exact rationals: the schedule it comes to.

The clock of ``elastic`` counts in floats, which is right for thousands of jobs. Here two jobs that finish together do
so exactly, and the total completion time is one rational number that anybody finds again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import INFORMATION, Round
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.systems import Policy, admit, policy_from
from muri_opt.systems.afs import Curves, ElasticPolicy
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.event_clock import Live, Rule

FOLLOWED = ("afs-l", "max-min-elastic", "optimus", "srtf-elastic")
"""The policies whose rule can be asked at every completion."""

Held = tuple[Fraction, tuple[int, ...]]
"""For how many seconds which shares are held."""


def follow_rule(round_: Round, policy: str | Policy) -> list[Held]:
    """Return the shares a policy's rule gives at every completion, and how long they last, until all jobs are done.

    All jobs are there from the start, in the order of the round; the GPUs are one pool; changes are free of charge.
    """
    chosen = followed_policy(policy)
    check_one_pool(round_)
    admit(chosen, round_)
    curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
    rule = chosen.clock_rule(ClockRules(speed=curves.speed, cap=curves.cap, gpus=round_.cluster.total_gpus))
    if rule is None:
        raise AssertionError(f"{chosen.spec} is not followed")
    left = [
        Fraction((job.remaining_iterations or 0) * unit, MICROSECONDS_PER_SECOND)
        for job, unit in zip(round_.jobs, curves.unit, strict=True)
    ]
    return _run(rule, curves.speed.tolist(), left)


def check_one_pool(round_: Round) -> None:
    """Refuse a round that says where jobs may be or who goes first: to what is followed the GPUs are one pool."""
    field = unhonoured(round_.used_fields, INFORMATION)
    if field is not None:
        raise refusal(round_.used_fields, field, "a rule that is followed on one pool of GPUs", ())


def followed_policy(policy: str | Policy) -> ElasticPolicy:
    """Return the elastic policy of that name; one whose shares hang on more than the work left is refused."""
    chosen = policy_from(policy)
    if not isinstance(chosen, ElasticPolicy) or chosen.name not in FOLLOWED:
        raise RefusalError("policy", repr(chosen.spec), "a rule asked at every completion: " + ", ".join(FOLLOWED))
    if chosen.packing != "any":
        raise RefusalError("policy", repr(chosen.spec), "packing=any: the GPUs are one pool")
    return chosen


def _run(rule: Rule, speed: Sequence[Sequence[int]], left: list[Fraction]) -> list[Held]:
    now, pieces = Fraction(0), []
    shares = np.zeros(len(left), dtype=np.int64)
    first_served = np.full(len(left), np.inf)
    live = [j for j, work in enumerate(left) if work > 0]
    while live:
        at = np.array(live)
        asked = rule(
            Live(
                now=float(now),
                jobs=at,
                remaining=np.array([float(left[j]) for j in live]),
                shares=shares[at],
                first_served=first_served[at],
            )
        )
        shares[:] = 0
        shares[at] = asked
        first_served[shares > 0] = np.minimum(first_served[shares > 0], float(now))
        rate = {j: speed[j][shares[j]] for j in live if shares[j]}
        if not rate:
            raise InputError("shares", f"no progress of {len(live)} jobs after {now} s", "GPUs for a job")
        duration = min(left[j] / rate[j] for j in rate)
        for j in rate:
            left[j] -= rate[j] * duration
        pieces.append((duration, tuple(shares.tolist())))
        now += duration
        live = [j for j in live if left[j] > 0]
    return pieces
