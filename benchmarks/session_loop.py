"""The loop of rounds that benchmarks of sessions decide: a twentieth of the jobs end between rounds, as many arrive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from muri_opt import Round, Session, policy_from
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.systems import systems

SECONDS_BETWEEN: Final = 300.0
PART_ENDING: Final = 20
"""One job of so many ends between two rounds."""
HOURS_AHEAD: Final = (1, 2, 4, 8, 24)
_DRAWN: Final = {"stages": "interleaving", "scaling": "elastic", "deadlines": "elastic"}
"""The generated rounds that have what the drawn rounds of a family have, where these have another name."""


def all_jobs(policy: str, *, jobs: int, nodes: int, rounds: int, seed: int) -> Round:
    """Return the jobs that a loop needs in all its rounds, and their cluster: they wait and have what the policy needs.

    ``jobs`` are those of one round.
    """
    count = jobs + _turnover(jobs) * (rounds - 1)
    round_ = generate(family_drawn(policy), jobs=count, nodes=nodes, seed=seed)
    fresh = [replace(job, state="waiting", placement=None) for job in round_.jobs]
    if policy.startswith("deadline"):
        hours = (HOURS_AHEAD[place % len(HOURS_AHEAD)] for place in range(len(fresh)))
        fresh = [replace(job, deadline=round_.now + 3600.0 * ahead) for job, ahead in zip(fresh, hours, strict=True)]
    if "plan" in policy_from(policy).needs:
        fresh = [replace(job, plan=job.plan or (job.plans or ())[0].name) for job in fresh]
    return replace(round_, jobs=tuple(fresh))


def family_drawn(policy: str) -> str:
    """Return the family of generated rounds that have what a policy needs."""
    if policy.startswith("philly"):
        return "philly"
    (family,) = {system.family for system in systems() if policy.partition(":")[0] in system.policies}
    return _DRAWN.get(family, family)


def times_of_rounds(session: Session, drawn: Round, *, jobs: int, rounds: int, seed: int) -> Iterator[float]:
    """Yield the time of each round once its jobs have been submitted; the caller decides it and acknowledges."""
    coming, draws, now = iter(drawn.jobs), Draws(seed), drawn.now
    for position in range(rounds):
        for _ in range(_turnover(jobs) if position else jobs):
            session.submit(replace(next(coming), submitted=now))
        yield now
        _pass_time(session, draws, _turnover(jobs))
        now += SECONDS_BETWEEN


def _turnover(jobs: int) -> int:
    return max(1, jobs // PART_ENDING)


def _pass_time(session: Session, draws: Draws, ending: int) -> None:
    """Let what runs come nearer to its end, and some jobs, or all of fewer that run, end."""
    running = [job for job in session.jobs.values() if job.state == "running"]
    for _ in range(min(ending, len(running))):
        session.finished(running.pop(int(draws.below(1, len(running))[0])).id)
    for job in running:
        if job.remaining_iterations and job.iteration_seconds:
            done = int(SECONDS_BETWEEN / job.iteration_seconds)
            session.progress(job.id, remaining_iterations=max(1, job.remaining_iterations - done))
