"""What it is worth that a job runs by one of its plans, from exact rationals to whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isqrt

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import micro
from muri_opt.verify.completion import behind_guessed, behind_known, worth_of_work
from muri_opt.verify.plans.next_configurations import cost_of

MILLION = 1_000_000
BY_WORTH = ("completion", "completion-attained")
"""Objectives by which throughput counts as much as it is worth for completion times."""
WAITING = 1_100_000
"""What a waiting job costs in Sia's program, in millionths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Which plans a policy may choose, and what they are worth.

    Throughput counts in millionths of a reference, over ``horizon`` microseconds less those of a restart, by the
    objective ``completion`` over no more of them than the job still needs at its fastest; or, where ``power`` is given,
    as in Sia's program. With the ``objective`` ``completions`` a job counts one over the time it still needs; with
    ``time`` or ``service`` that time counts against it, by service units if so told. Without ``switch`` configurations
    stay on CPUs, or on GPUs. With a ``gate``, a job that would not keep that part of its run time after one more
    restart has no throughput if it restarts, and that it stays outweighs the throughput of all.
    """

    change: str
    reference: str = "best"
    horizon: int = 600_000_000
    power: str | None = None
    objective: str = "throughput"
    switch: bool = True
    gate: str | None = None

    @property
    def counts_past(self) -> bool:
        """Whether the time that a running job ran or waited says what a restart costs it."""
        return self.power is not None or self.gate is not None

    @property
    def counts_others(self) -> bool:
        """Whether what a job is worth depends on the others of the round."""
        return self.objective in BY_WORTH

    @property
    def counts_time(self) -> bool:
        """Whether the time that jobs still need counts against them."""
        return self.objective in ("time", "service")

    @property
    def counts_alone(self) -> bool:
        """Whether what a plan is worth does not hang on the other plans of its job."""
        return self.objective == "completions" or self.counts_time


def plan_values(
    round_: Round, job: Job, planned: Planned, fitting: Sequence[Plan], allowed: Sequence[Plan]
) -> list[tuple[int, int]]:
    """Return for each allowed plan what it is worth anywhere, and on the nodes where it needs no restart.

    ``fitting`` are the plans of the job that fit the empty cluster. A job that does not run needs no restart anywhere.
    Where time counts against a job these are negative: that a job runs at all is added by whoever knows all jobs.
    """
    restarts = job.state == "running" and bool(job.placement)
    if planned.objective == "completions":
        lost = micro(job.restart_seconds or 0.0) if restarts else 0
        return [(_completions(job, plan, lost), _completions(job, plan, 0)) for plan in allowed]
    if planned.counts_time:
        pause = micro(job.restart_seconds or 0.0) if restarts else 0
        by_service = planned.objective == "service"
        home = [-cost_of(job, plan, 0, by_service) for plan in allowed]
        away = [-cost_of(job, plan, pause, by_service) for plan in allowed] if pause else home
        return list(zip(away, home, strict=True))
    if planned.power is not None:
        lowest = min((plan.throughput for plan in allowed), default=1.0)
        kept = kept_of(round_, job) if restarts else Fraction(1)
        ratios = [Fraction(plan.throughput) / Fraction(lowest) for plan in allowed]
        return [(_fair(ratio * kept, planned.power), _fair(ratio, planned.power)) for ratio in ratios]
    if planned.counts_others:
        check_ranked(job, planned)
        parts, reference = worth_by_plans(round_, planned.objective)[job.id]
    else:
        parts, reference = MILLION, reference_of(job, planned, fitting)
    whole = stands_for(job, planned, reference)
    cost = micro(job.restart_seconds or 0.0) if restarts else 0
    if restarts and planned.gate is not None and is_shut(job, planned.gate):
        cost = whole
    moved, still = (Fraction(parts * max(0, whole - lost), whole) / reference for lost in (cost, 0))
    return [(_product(plan.throughput, moved), _product(plan.throughput, still)) for plan in allowed]


def one_value(
    round_: Round,
    job: int,
    planned: Planned,
    fitting: Sequence[Plan],
    allowed: Sequence[Plan],
    plan: Plan,
    *,
    restart: bool,
) -> int:
    """Return what one of the allowed plans of a job is worth, with a restart or without."""
    if planned.power is None:
        allowed = [plan]  # the others count only against the slowest of them
    values = plan_values(round_, round_.jobs[job], planned, fitting, allowed)
    place = next(place for place, one in enumerate(allowed) if one is plan)
    return values[place][0 if restart else 1]


def check_ranked(job: Job, planned: Planned) -> None:
    """Refuse a job that does not say what it is ranked by."""
    field = "attained_gpu_seconds" if planned.objective == "completion-attained" else "remaining_iterations"
    if getattr(job, field) is None:
        raise InputError(field, "nothing", "a number: jobs are ranked by it")


def stands_for(job: Job, planned: Planned, fastest: Fraction) -> int:
    """Return the microseconds that a decision stands for a job: those that it needs at its fastest, if they are fewer.

    Only by the objective ``completion``, which knows lengths, are they fewer than the horizon.
    """
    if planned.objective != "completion":
        return planned.horizon
    return min(planned.horizon, max(1, floor(MILLION * (job.remaining_iterations or 0) / fastest)))


def worth_by_plans(round_: Round, objective: str) -> Mapping[str, tuple[int, Fraction]]:
    """Return, for each job, what a second of the fastest of its plans is worth, in millionths, and its throughput.

    Plans for more GPUs than the cluster has do not count. Jobs are ranked by the GPU time they still need with the
    fewest GPUs that they have a plan for, the fastest of those, or by the service that they have had.
    """
    return _worth_by_plans(round_, objective)


@recalled
def _worth_by_plans(round_: Round, objective: str) -> Mapping[str, tuple[int, Fraction]]:
    total, seconds, service, tops = round_.cluster.total_gpus, list[dict[int, int]](), list[int](), list[Fraction]()
    for job in round_.jobs:
        rates: dict[int, float] = {}
        for plan in sorted(job.plans or (), key=lambda plan: plan.throughput):
            if plan.gpus <= total and plan.throughput > 0:
                rates[plan.gpus] = plan.throughput
        top = Fraction(max(rates.values(), default=1.0))
        tops.append(top)
        seconds.append({gpus: ceil(MILLION * top / Fraction(rate)) for gpus, rate in rates.items()})
        fewest = min(rates, default=1)
        still = (job.remaining_iterations or 0) / Fraction(rates.get(fewest, 1.0))
        service.append(floor(MILLION * still * max(fewest, 1)))
    worth = worth_of_work(_behind(round_, objective, service), seconds, total)
    return {job.id: (each, top) for job, each, top in zip(round_.jobs, worth, tops, strict=True)}


def _behind(round_: Round, objective: str, left: Sequence[int]) -> tuple[int, list[int]]:
    """Return the parts of a job and how many of them are behind each, by what jobs have had or have left."""
    if objective != "completion-attained":
        return behind_known(left)
    return behind_guessed(round_.jobs, [round((job.attained_gpu_seconds or 0.0) * 1000) for job in round_.jobs])


def is_shut(job: Job, gate: str) -> bool:
    """Return whether a job, restarted once more, would have spent more of its run time on restarts than the gate lets.

    One that restarts in no time never does; one that has not run yet does, if it says so.
    """
    if job.executed_seconds is None:
        return False
    takes, ran = micro(job.restart_seconds or 0.0), micro(job.executed_seconds)
    return takes > 0 and (ran == 0 or takes * (1 + (job.restarts or 0)) > (1 - Fraction(gate)) * ran)


def may_not_stop(job: Job, planned: Planned) -> bool:
    """Return whether a gate keeps a running job where it is."""
    runs = job.state == "running" and bool(job.placement)
    return runs and planned.gate is not None and is_shut(job, planned.gate)


def _completions(job: Job, plan: Plan, lost: int) -> int:
    """Return billionths of a completion per second, if the job first loses so many microseconds."""
    if job.remaining_iterations is None:
        raise InputError("remaining_iterations", "nothing", "the iterations that are left: completions are counted")
    above, below = plan.throughput.as_integer_ratio()
    needs = job.remaining_iterations * below * MILLION + lost * above  # parts of a second, of `above` millions
    most = 10**12  # one that needs less than a millisecond needs one
    return max(1, min(most, 10**9 * above * MILLION // needs)) if needs else most


def _product(throughput: float, scale: Fraction) -> int:
    """Return the whole part of a product, without reducing it first: there are many."""
    above, below = throughput.as_integer_ratio()
    return above * scale.numerator // (below * scale.denominator)


def reference_of(job: Job, planned: Planned, fitting: Sequence[Plan]) -> Fraction:
    """Return the throughput that counts as a million."""
    if planned.reference == "best":
        return Fraction(max((plan.throughput for plan in fitting), default=1.0))
    asked = [plan for plan in job.plans or () if plan.gpus == job.gpus]
    if not asked:
        raise InputError("plans", f"no plan of {job.gpus} GPUs", "a plan with the GPUs the job asks for")
    own = [plan for plan in asked if plan.name == job.plan]  # none where the job was given a plan for other GPUs
    return Fraction(max(plan.throughput for plan in own or asked))


def kept_of(round_: Round, job: Job) -> Fraction:
    """Return the part of its age that a job would have worked, had it restarted once more."""
    if job.submitted is None:
        age = micro(job.executed_seconds or 0.0) + micro(job.waiting_seconds or 0.0)
    else:
        age = max(0, micro(round_.now) - micro(job.submitted))
    cost = micro(job.restart_seconds or 0.0)
    return Fraction(max(0, age - (job.restarts or 0) * cost), age + cost) if age + cost else Fraction(1)


def _fair(ratio: Fraction, power: str) -> int:
    """Return what Sia's program gains by the throughput, in millionths: waiting costs 1.1, running the power of it."""
    if ratio == 0:
        return 0
    root = isqrt(floor(MILLION**2 / ratio)) if power == "-0.5" else floor(MILLION / ratio)
    return max(0, WAITING - root)
