"""Changes that pay: what runs is changed only if that is worth more, and deciding again at once changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache, partial
from math import inf
from time import monotonic
from typing import Final

from msgspec.structs import force_setattr, replace

from muri_opt.rounds import Budget, Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.capacity import Leftover
from muri_opt.systems.deadline.admission import elastic_flow
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.levels import levels_of
from muri_opt.systems.deadline.placing import Placing

MOST_LOOKS: Final = 8
"""How often a decision is looked at again at most until nothing would be changed; hardly any takes three."""

_SECONDS_EACH: Final = 2e-4
"""What a look takes for each job."""
_TIMES_AS_LONG: Final = 4.0
"""How many times as long as to leave all as it is the rule takes, with its changes looked at."""
Shares = dict[int, Ints]
"""GPUs per node of each job that runs."""


def still_shares(round_: Round, interval: float, budget: Budget | None = None) -> Shares:
    """Return GPUs per node of the jobs that run by ElasticFlow's rule, where running jobs are changed only if it pays.

    Where nothing runs the rule decides. Else its decision, less every change that can be taken back alone, is taken if
    it is worth more than to leave all jobs that run as they are. Nothing is changed where just what runs is what the
    rule would decide for an idle cluster. A decision is looked at again as what runs, until nothing is changed any
    more: the round after it is decided by the same steps, and so the same. Where a ``budget`` is over before, all that
    runs is left as it is, or a decision is not looked at again.
    """
    runs = bool(Choices.of(round_, interval).held)
    if runs and _is_over(round_, budget):
        return staying(round_, interval)
    ruled = cache(partial(_ruled_sizes, round_, interval))
    if runs and _stays_only(round_, interval, budget):
        return staying(round_, interval)
    shares = _step(round_, interval, ruled)
    for _ in range(MOST_LOOKS if runs else 0):
        if _is_as_now(round_, interval, shares) or _is_over(round_, budget):
            break
        then = _step(_after(round_, shares), interval, ruled)
        if _same(then, shares):
            break
        shares = less_changes(round_, interval, then)
    return shares


def _stays_only(round_: Round, interval: float, budget: Budget | None) -> bool:
    """Return whether there is no time for more than to leave what runs as it is; under no limit of seconds there is.

    What that took tells how long the rule takes, which has all jobs to place and not only those that start.
    """
    if budget is None or budget.deadline == inf:
        return False
    began = monotonic()
    staying(round_, interval)
    then = monotonic()
    return budget.deadline - then < _TIMES_AS_LONG * (then - began)


def _is_over(round_: Round, budget: Budget | None) -> bool:
    """Count a look into a budget, and return whether nothing is left of it."""
    if budget is None:
        return False
    budget.spend(_SECONDS_EACH * len(round_.jobs))
    return budget.over()


def staying(round_: Round, interval: float) -> Shares:
    """Return the shares of jobs where nobody is stopped, moved or resized, with whoever fits beside those that run."""
    return dict(_staying(round_, interval))


@recalled
def _staying(round_: Round, interval: float) -> Shares:
    choices = Choices.of(round_, interval)
    return elastic_flow(round_, choices, _held_together(round_, choices))


def _step(round_: Round, interval: float, ruled: Callable[[], dict[int, int]]) -> Shares:
    """Return what is decided if it is looked at once; ``ruled`` says what the rule decides for an idle cluster."""
    choices = Choices.of(round_, interval)
    fixed = {job: choices.held[job] for job in choices.must.tolist()}
    found = elastic_flow(round_, choices, fixed)
    if not choices.held:
        return found
    found, stays = _less_stops(round_, interval, less_changes(round_, interval, found)), staying(round_, interval)
    better = found if _worth(round_, interval, found) > _worth(round_, interval, stays) else stays
    if not _is_as_now(round_, interval, better) and _sizes_now(round_) == ruled():
        return _held_together(round_, choices)
    return better


def _less_stops(round_: Round, interval: float, shares: Shares) -> Shares:
    """Return the shares or, if that is worth more, what the rule gives beside jobs that it stops and nobody may move.

    The rule counts the GPUs of those as free, and may have found no better use for them than another place would be.
    """
    choices = Choices.of(round_, interval)
    stopped = {job for job in choices.held if job not in shares and round_.jobs[job].stays_put}
    if not stopped:
        return shares
    stays = {job: held for job, held in _held_together(round_, choices).items() if job in stopped}
    must = {job: choices.held[job] for job in choices.must.tolist()}
    beside = less_changes(round_, interval, elastic_flow(round_, choices, must | stays))
    return beside if _worth(round_, interval, beside) > _worth(round_, interval, shares) else shares


def _ruled_sizes(round_: Round, interval: float) -> dict[int, int]:
    """Return the GPUs of the jobs that run by the rule if all jobs had to start; who runs now makes no difference."""
    idle = replace(round_, jobs=tuple(_then(job, None) for job in round_.jobs))
    shares = elastic_flow(idle, Choices.of(idle, interval), {})
    return {job: int(share.sum()) for job, share in shares.items()}


def _sizes_now(round_: Round) -> dict[int, int]:
    running = ((place, job.placement or {}) for place, job in enumerate(round_.jobs) if job.state == "running")
    return {place: sum(held.values()) for place, held in running}


def _after(round_: Round, shares: Shares) -> Round:
    """Return the round in which these jobs run, and all others wait.

    One that is stopped and may not be moved is held there: once it waits it could start anywhere, which in this round
    would move it.
    """
    nodes, jobs = round_.cluster.nodes, []
    for place, job in enumerate(round_.jobs):
        held = None
        if place in shares:
            held = {nodes[s].id: int(shares[place][s]) for s in shares[place].nonzero()[0].tolist()}
        jobs.append(_then(job, held))
        if held is None and job.stays_put and not is_lost(round_, place):
            force_setattr(jobs[-1], "held", "it may not be moved")
    return replace(round_, jobs=tuple(jobs))


def _then(job: Job, held: dict[str, int] | None) -> Job:
    """Return a job that runs with GPUs per node, or waits; the checks of a new job, which take long, are left out."""
    if job.state == ("waiting" if held is None else "running") and job.placement == held:
        return job
    then = copy(job)
    force_setattr(then, "state", "waiting" if held is None else "running")
    force_setattr(then, "placement", None if held is None else dict(sorted(held.items())))
    return then


def _is_as_now(round_: Round, interval: float, shares: Shares) -> bool:
    """Return whether exactly what runs goes on."""
    running = {place for place, job in enumerate(round_.jobs) if job.state == "running"}
    choices = Choices.of(round_, interval)
    return shares.keys() == running and all(choices.is_home(job, share) for job, share in shares.items())


def _same(one: Shares, other: Shares) -> bool:
    return one.keys() == other.keys() and all((share == other[job]).all() for job, share in one.items())


def _worth(round_: Round, interval: float, shares: Shares) -> tuple[int, ...]:
    """Return the value, level by level."""
    choices = Choices.of(round_, interval)
    rows = [choices.row_of(job, share) for job, share in shares.items()]
    return tuple(int(level.worth[rows].sum()) for level in levels_of(round_, interval))


def less_changes(round_: Round, interval: float, shares: Shares) -> Shares:
    """Return the shares with every running job as it is that fits so beside all others and is worth no less."""
    choices, levels = Choices.of(round_, interval), levels_of(round_, interval)
    state = Placing(round_, choices)
    state.give_all(shares)
    changed = [job for job in choices.held if job not in shares or not choices.is_home(job, shares[job])]
    for job in changed:
        home = choices.of_job(job)[-1]
        now = choices.row_of(job, shares[job]) if job in shares else None
        gain = [int(level.worth[home]) - (0 if now is None else int(level.worth[now])) for level in levels]
        if next((each for each in gain if each), 0) >= 0:
            state.try_row(home)
    return state.shares


def _held_together(round_: Round, choices: Choices) -> Shares:
    """Return GPUs per node of the running jobs that can all stay as they are, those first that must."""
    asks = choices.least.copy()
    for job, held in choices.held.items():
        asks[job] = held.sum()
    left, stays = Leftover(round_, asks), Shares()
    must = dict.fromkeys(choices.must.tolist())
    if left.types is None and left.borrowed is None and left.amounts.lines is None:
        all_ = {job: choices.held[job] for job in must | dict.fromkeys(choices.held)}
        left.take_all([((job,), held) for job, held in all_.items()])
        if (left.left >= 0).all() and (left.quota >= 0).all():  # then each of them finds room in its turn
            return all_
        left = Leftover(round_, asks)
    for job in must | dict.fromkeys(choices.held):
        held = choices.held[job]
        if left.holds_share(job, held) and (job in must or left.within_quota(job)):
            left.take(held, job)
            stays[job] = held
    return stays
