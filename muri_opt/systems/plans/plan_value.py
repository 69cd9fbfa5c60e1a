"""What it is worth that a job runs by a plan, in exact whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan, Round
from muri_opt.rounds.quantities import microseconds

MILLION = 1_000_000
BILLION = 1_000_000_000
MOST = MILLION * MILLION
"""The largest value of an option: sums over all jobs of a round stay exact in 64 bits."""
WAITING_PRICE = 1_100_000
"""What Sia's program charges for a job that waits, in millionths: a little more than for the slowest way to run."""


def reference_of(job: Job, fitting: Sequence[Plan], reference: str) -> Fraction:
    """Return the throughput a job is measured against: the best that fits the cluster, or what it asked for.

    The latter is that of its plan on the GPUs it asks for, or of the best there where it runs by a plan for others.
    """
    if reference == "best":
        return Fraction(max((plan.throughput for plan in fitting), default=1.0))
    asked = [plan for plan in job.plans or () if plan.gpus == job.gpus]
    if not asked:
        raise InputError("plans", f"no plan of {job.gpus} GPUs", "one with the GPUs the job asks for")
    named = [plan for plan in asked if plan.name == job.plan] or asked
    return Fraction(max(plan.throughput for plan in named))


def worth(throughput: float, scale: Fraction, restart: int, stands: int) -> int:
    """Return millionths of the reference throughput, less the part that a restart takes of the time a decision stands.

    ``scale`` is a million over the reference; ``restart`` are the microseconds it takes, 0 for none, and ``stands``
    those of the decision.
    """
    numerator, denominator = throughput.as_integer_ratio()
    left = max(0, stands - restart)
    found = (numerator * scale.numerator * left) // (denominator * scale.denominator * stands)
    if found > MOST:
        raise InputError("plans", f"a throughput of {throughput:g}", f"at most {MOST // MILLION:,} times the reference")
    return found


def fair_worth(throughput: float, lowest: float, kept: Fraction, power: str) -> int:
    """Return what Sia's program gains, in millionths, if a job runs at a throughput instead of waiting.

    The throughput counts in multiples of the job's ``lowest``, times the part ``kept`` after a restart, to a negative
    power: the slower jobs are, the more a speed-up counts.
    """
    speed, slowest = throughput.as_integer_ratio(), lowest.as_integer_ratio()
    numerator, denominator = speed[0] * slowest[1] * kept.numerator, speed[1] * slowest[0] * kept.denominator
    if not numerator:
        return 0
    if power == "-0.5":
        return max(0, WAITING_PRICE - isqrt(MILLION**2 * denominator // numerator))
    return max(0, WAITING_PRICE - MILLION * denominator // numerator)


def completion_worth(job: Job, plan: Plan, restart: int) -> int:
    """Return a job's part in the rate of completions by a plan: one over the time it still needs, in 1e-9 per second.

    ``restart`` are the microseconds a restart takes. A time below a millisecond counts as one; no part is below 1.
    """
    if job.remaining_iterations is None:
        raise InputError("remaining_iterations", "nothing", "what is left to do: the policy goes by remaining service")
    numerator, denominator = plan.throughput.as_integer_ratio()
    needs = job.remaining_iterations * denominator * MILLION + restart * numerator
    return MOST if needs * 1000 <= numerator * MILLION else max(1, BILLION * MILLION * numerator // needs)


def kept_after_restart(round_: Round, job: Job) -> Fraction:
    """Return Sia's restart factor: the part of its age a job would have worked, had it restarted once more."""
    cost = microseconds(job.restart_seconds or 0.0)
    if job.submitted is None:
        age = microseconds(job.executed_seconds or 0.0) + microseconds(job.waiting_seconds or 0.0)
    else:
        age = max(0, microseconds(round_.now) - microseconds(job.submitted))
    if age + cost == 0:
        return Fraction(1)
    return Fraction(max(0, age - (job.restarts or 0) * cost), age + cost)
