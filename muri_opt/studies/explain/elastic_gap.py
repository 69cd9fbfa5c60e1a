"""How far rules for elastic shares are from the true optimum of a round, if nothing else arrives."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, microseconds
from muri_opt.studies.explain.followed_rule import check_one_pool
from muri_opt.systems import admit
from muri_opt.systems.afs import AfsPolicy, Curves
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.event_clock import Live, Rule, run_clock
from muri_opt.systems.afs.optimum.search import ElasticOptimum, branches_in, elastic_optimum
from muri_opt.systems.afs.program_dp import best_shares_of_jobs
from muri_opt.systems.afs.share_values import speed_weights
from muri_opt.verify.certificates.elastic_optimum import ElasticCase, check_elastic_optimum

MOST_JOBS = 8
"""Jobs up to which the optimum over all finishing orders is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOutcome:
    """What a rule comes to if it decides at every completion: the average completion time of the jobs."""

    rule: str
    mean_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticGap:
    """Average completion time of the optimum, a bound on it (equal if proved), and of each rule, in seconds."""

    optimum_seconds: float
    bound_seconds: float
    proved: bool
    outcomes: tuple[RuleOutcome, ...]


def elastic_gap(
    round_: Round, *, arrivals: bool = False, seconds: float | None = None, work: float | None = None
) -> ElasticGap:
    """Return the average completion time of the rules and of the optimum, which is checked in exact rationals.

    The GPUs of the cluster are one pool; shares change at any moment, free of charge. With ``arrivals`` a job submitted
    after the round's ``now`` comes at that time, known beforehand to the optimum and not to the rules; otherwise all
    jobs are there. After ``seconds``, or so many units of ``work``, the best schedule found so far takes the
    place of the optimum.
    """
    check_one_pool(round_)
    admit(AfsPolicy(name="afs-l"), round_)
    if not 1 <= len(round_.jobs) <= MOST_JOBS:
        found = f"{len(round_.jobs)} jobs"
        raise RefusalError("elastic optimum", found, f"1 to {MOST_JOBS}: there is a program for every finishing order")
    gpus = round_.cluster.total_gpus
    if gpus < 1:
        raise InputError("cluster.nodes", "no GPUs", "at least 1 GPU to finish the jobs")
    curves = Curves.of(round_.jobs, gpus)
    todo = [(job.remaining_iterations or 0) * unit for job, unit in zip(round_.jobs, curves.unit, strict=True)]
    begun = [max(0, microseconds(job.submitted or 0.0) - microseconds(round_.now)) for job in round_.jobs]
    known = begun if arrivals else None
    branches = None if work is None else branches_in(work, len(todo))
    best = elastic_optimum(curves.speed.tolist(), curves.cap.tolist(), todo, gpus, known, seconds, branches)
    _confirm(best, ElasticCase.of(curves.speed.tolist(), curves.cap.tolist(), todo, gpus, known))
    outcomes = [
        RuleOutcome(
            rule=name,
            mean_seconds=run_clock(
                arrivals=np.array(known or [0] * len(todo)) / MICROSECONDS_PER_SECOND,
                work=[amount / MICROSECONDS_PER_SECOND for amount in todo],
                speed=curves.speed,
                cap=curves.cap,
                rule=rule,
                gpus=gpus,
            ).mean_duration,
        )
        for name, rule in _rules(ClockRules(speed=curves.speed, cap=curves.cap, gpus=gpus)).items()
    ]
    return ElasticGap(
        optimum_seconds=_seconds(best.total_completion, len(todo)),
        bound_seconds=_seconds(best.bound, len(todo)),
        proved=best.proved,
        outcomes=tuple(outcomes),
    )


def best_speed(rules: ClockRules) -> Rule:
    """Return the rule that follows the chapter *sharing* at every event: the shares of the most ``speed``."""

    def rule(live: Live) -> Ints:
        time, speed = rules.microseconds(live), rules.speed[live.jobs]
        weight = speed_weights(time[:, 1])[:, None]
        return best_shares_of_jobs(weight * speed // speed[:, 1:2], rules.cap[live.jobs], rules.gpus)

    return rule


def _rules(rules: ClockRules) -> dict[str, Rule]:
    return {
        "afs-l": rules.afs(),
        "afs-l:scan=arrival": rules.afs(scan="arrival"),
        "afs-l, exact": best_speed(rules),
        "optimus": rules.optimus,
        "max-min-elastic": rules.max_min,
        "srtf-elastic": rules.srtf,
    }


def _confirm(best: ElasticOptimum, case: ElasticCase) -> None:
    """Check schedule and bound with the verifier's own arithmetic; a difference is a defect of this package."""
    if check_elastic_optimum(case, best.pieces, best.proof) != (best.total_completion, best.bound):
        raise AssertionError("the elastic optimum does not pass its check")


def _seconds(total: Fraction, jobs: int) -> float:
    return float(total / jobs / MICROSECONDS_PER_SECOND)
