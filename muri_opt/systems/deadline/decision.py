"""From GPUs per node of jobs to a decision: their periods, and why the others wait, with what that is to deadlines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Round, Waiting
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import Decision
from muri_opt.rounds.readable_time import duration
from muri_opt.systems.capacity import held_gpus
from muri_opt.systems.capacity.decision import Placed, assignments_of, group_decision
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.job_times import job_times, period_of


def deadline_decision(round_: Round, choices: Choices, shares: Mapping[int, Ints]) -> Decision:
    """Return the decision that gives job j ``shares[j][s]`` GPUs of node s; all others wait for their least share.

    >>> round_ = shipped_round("toy/three-elastic")
    >>> deadline_decision(round_, Choices.of(round_, 60.0), {0: np.array([3])}).assignments[0].gpus
    {'n0': 3}
    """
    placed, asks = _placed(round_, shares), choices.least.copy()
    for group in placed:
        asks[group.jobs[0]] = group.share.sum()
    decision = group_decision(round_, placed, consolidate=False, asks=asks)
    enough = enough_gpus(choices)
    return replace(decision, waiting=tuple(_with_deadline(round_, enough, wait) for wait in decision.waiting))


def deadline_assignments(round_: Round, shares: Mapping[int, Ints]) -> Decision:
    """Return the same decision without those that wait."""
    return Decision(assignments=assignments_of(round_, _placed(round_, shares)))


def _placed(round_: Round, shares: Mapping[int, Ints]) -> list[Placed]:
    times, found = job_times(round_), []
    for job, share in sorted(shares.items()):
        period = period_of(round_.jobs[job], times[job], int(share.sum()))
        found.append(Placed(jobs=(job,), share=share, period_seconds=period))
    return found


def enough_gpus(choices: Choices) -> dict[int, int]:
    """Return the fewest GPUs with which each job keeps its deadline, of those that can."""
    rows = np.flatnonzero(choices.in_time)
    fewest = np.full(len(choices.least), UNLIMITED)
    np.minimum.at(fewest, choices.job[rows], choices.gpus[rows])
    able = np.flatnonzero(fewest < UNLIMITED)
    return dict(zip(able.tolist(), fewest[able].tolist(), strict=True))


def _with_deadline(round_: Round, enough: Mapping[int, int], wait: Waiting) -> Waiting:
    """Return the waiting job with how it stands to its deadline among what it is told."""
    said = _standing(round_, enough, round_.job_index[wait.job])
    return replace(wait, detail=f"{wait.detail}; {said}") if said else wait


def standing(round_: Round, choices: Choices, job: int) -> str:
    """Return in words how a job stands to its deadline, nothing where it has none.

    >>> late = Job(id="a", gpus=1, deadline=5.0)
    >>> round_ = Round(now=9.0, cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(late,))
    >>> standing(round_, Choices.of(round_, 60.0), 0)
    'its deadline passed 4 s ago: it has what others leave'
    """
    return _standing(round_, enough_gpus(choices), job)


def _standing(round_: Round, enough: Mapping[int, int], job: int) -> str:
    deadline = round_.jobs[job].deadline
    if deadline is None:
        return ""
    if deadline < round_.now:
        return f"its deadline passed {duration(round_.now - deadline)} ago: it has what others leave"
    left = duration(deadline - round_.now)
    if job not in enough:
        return f"no share that it may have keeps its deadline in {left}: it has what others leave"
    return f"{gpus_text(enough[job])} from now on would keep its deadline in {left}"


def deadlines_kept(round_: Round, decision: Decision) -> dict[str, bool]:
    """Return for each job with a deadline whether it is done by then with what the decision gives it, from now on.

    >>> round_ = shipped_round("toy/four-deadlines")
    >>> deadlines_kept(round_, policy_from("deadline").decide(round_, 0))
    {'a': True, 'b': False, 'c': False, 'late': False}
    """
    times, found = job_times(round_), {job.id: False for job in round_.jobs if job.deadline is not None}
    for assignment in decision.assignments:
        name = assignment.jobs[0]
        if name in found:
            place = round_.job_index[name]
            stays = held_gpus(round_, place) is not None and dict(assignment.gpus) == round_.jobs[place].placement
            size = times[place].sizes.index(sum(assignment.gpus.values()))
            found[name] = times[place].in_time(size, stays=stays)
    return found
