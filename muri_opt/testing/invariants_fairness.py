"""Fairness and incentives: how far from the ideal, as a number. What is too far is for you to say: ``allowing()``.

Who has a claim is a tenant, or a job without one. What it gets out of a decision are GPUs in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from muri_opt.rounds import Decision, Job, Limits, Round
from muri_opt.solve.round import solve_round
from muri_opt.testing.changed_rounds import alone, understated
from muri_opt.testing.invariant import Case, Finding, Tier, invariant
from muri_opt.verify import decision_value

PLAIN_POLICY = "fifo:objective=weighted,preempt=yes"
"""The policy of plain gangs, where none is named."""
EXACT_SECONDS = 20.0
"""How long the optimum of a small round is searched for; what is not proved by then is not held against anybody."""


@invariant("sharing-incentive", Tier.FAIRNESS)
def SHARING_INCENTIVE(case: Case) -> Finding | None:
    """Each of n claimants uses at least the GPUs that its jobs could use of an n-th of the cluster.

    The amount is the largest part of these GPUs that a claimant lacks.
    """
    if not case.sound():
        return None
    claims, has = _claims(case.round_), _used(case.round_, case.decision())
    part = case.round_.cluster.total_gpus // max(1, len(claims))
    worst = Finding(amount=0.0, detail="nobody lacks anything")
    for claimant, jobs in claims.items():
        due = _most(case, claimant, jobs, part)
        if has[claimant] < due and 1 - has[claimant] / due > worst.amount:
            words = (
                f"{claimant} uses {has[claimant]} GPUs; an equal part of the cluster, {part}, would let it use {due}"
            )
            worst = Finding(amount=1 - has[claimant] / due, detail=words)
    return worst


@invariant("pareto", Tier.FAIRNESS)
def PARETO(case: Case) -> Finding | None:
    """No waiting job could start beside everything that runs: nobody would lose, and one would gain.

    The amount is the part of the cluster that the largest such start would use.
    """
    if not case.sound():
        return None
    worst = Finding(amount=0.0, detail="nobody else could start")
    total = max(1, case.round_.cluster.total_gpus)
    for job in case.round_.jobs:
        if job.id in case.decision().running:
            continue
        way = next(case.judge.starts(case.round_, case.decision(), job.id), None)
        gpus = 0 if way is None else sum(way.assignments[-1].gpus.values())
        if gpus / total > worst.amount:
            words = f"job {job.id!r} waits; {gpus} GPUs that it could start on stay idle"
            worst = Finding(amount=gpus / total, detail=words)
    return worst


@invariant("envy", Tier.FAIRNESS)
def ENVY(case: Case) -> Finding | None:
    """No claimant could use more GPUs with what another one has than with what it has.

    The amount is the largest such difference, as a part of the cluster.
    """
    if not case.sound():
        return None
    claims, has = _claims(case.round_), _used(case.round_, case.decision())
    total = max(1, case.round_.cluster.total_gpus)
    worst = Finding(amount=0.0, detail="nobody envies anybody")
    for claimant, jobs in claims.items():
        for other in claims:
            could = _most(case, claimant, jobs, has[other])
            if other != claimant and (could - has[claimant]) / total > worst.amount:
                words = (
                    f"{claimant} uses {has[claimant]} GPUs; with the {has[other]} of {other} it would use {could} GPUs"
                )
                worst = Finding(amount=(could - has[claimant]) / total, detail=words)
    return worst


@invariant("understating", Tier.FAIRNESS)
def UNDERSTATING(case: Case) -> Finding | None:
    """No waiting job that fits the empty cluster would run if it asked for fewer GPUs than it needs.

    The amount is the largest part of its GPUs that a job would get so. Where jobs run by plans, nothing is said.
    """
    if case.judge.chapter(case.round_).has_plans:
        return None
    worst = Finding(amount=0.0, detail="nobody gains by asking for less")
    for job in case.round_.jobs:
        only = alone(case.round_, job)
        fits = next(case.judge.starts(only, Decision(), job.id), None) is not None
        if job.state == "running" or job.id in case.decision().running or not fits:
            continue
        for gpus in range(1, job.gpus):
            told = understated(case.round_, job, gpus)
            if gpus / job.gpus > worst.amount and job.id in case.decision(told).running:
                words = f"job {job.id!r} waits with its {job.gpus} GPUs, and runs if it asks for {gpus}"
                worst = Finding(amount=gpus / job.gpus, detail=words)
    return worst


@invariant("near-optimum", Tier.FAIRNESS, most=0.5)
def NEAR_OPTIMUM(case: Case) -> Finding | None:
    """The value is near the proved optimum of the policy whose rules are used (``fifo`` where none is named).

    The amount is the part of the optimum that is missing.
    """
    if not case.sound():
        return None
    policy = case.judge.policy or PLAIN_POLICY
    best = solve_round(case.round_, policy, "exact", Limits(seconds=EXACT_SECONDS))
    if best.value is None or best.value != best.bound:
        return None
    value = decision_value(case.round_, case.judge.rules, case.judge.completed(case.round_, case.decision()))
    words = f"worth {value:,}; the optimum of {policy} is {best.value:,}"
    return Finding(amount=(best.value - value) / max(1, abs(best.value)), detail=words)


def _claims(round_: Round) -> dict[str, list[Job]]:
    claims: dict[str, list[Job]] = {}
    for job in round_.jobs:
        claims.setdefault(_claimant(job), []).append(job)
    return claims


def _claimant(job: Job) -> str:
    return f"job {job.id!r}" if job.tenant is None else f"tenant {job.tenant!r}"


def _used(round_: Round, decision: Decision) -> Counter[str]:
    """Return the GPUs each claimant uses; those that jobs share by interleaving count for each."""
    used: Counter[str] = Counter()
    for assignment in decision.assignments:
        for job in assignment.jobs:
            used[_claimant(round_.jobs[round_.job_index[job]])] += sum(assignment.gpus.values())
    return used


def _most(case: Case, claimant: str, jobs: Iterable[Job], gpus: int) -> int:
    """Return the most GPUs that the jobs of a claimant use out of so many, counted and not placed."""
    quotas = {f"tenant {tenant.id!r}": tenant.quota_gpus for tenant in case.round_.cluster.tenants}
    quota = quotas.get(claimant)
    within = gpus if quota is None else min(gpus, quota)
    sums = {0}
    for job in jobs:
        sums |= {total + size for total in sums for size in _sizes(case, job) if total + size <= within}
    return max(sums)


def _sizes(case: Case, job: Job) -> set[int]:
    """Return the numbers of GPUs a job can use: its gang, a share of its table, or those of plans it may run by."""
    return set(case.judge.chapter(case.round_).sizes(job))


FAIRNESS = (SHARING_INCENTIVE, PARETO, ENVY, UNDERSTATING, NEAR_OPTIMUM)
"""All of them, in the order in which they are told."""
