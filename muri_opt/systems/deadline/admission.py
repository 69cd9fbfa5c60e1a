"""ElasticFlow's rule on one round: least shares that keep deadlines, earliest first; the rest by marginal return."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.levels import by_deadline
from muri_opt.systems.deadline.placing import Placing, settled

Gain = tuple[float, bool, bool]
"""How much faster a job is for each further GPU, as a negative number; whether it has some already, and is moved."""


def elastic_flow(round_: Round, choices: Choices, fixed: Mapping[int, Ints]) -> dict[int, Ints]:
    """Return GPUs per node of the jobs that run, beside those that are ``fixed`` where they are.

    From the highest priority down: each job with a deadline, the earliest first, is given the fewest GPUs that keep
    it, if they are left; then what is left goes, step by step, to the job of the priority whose speed grows most for
    each further GPU. A job that is admitted keeps its deadline with every step. Jobs that end up with as many GPUs as
    they have now stay where they are, if all others find room then.
    """
    state = Placing(round_, choices)
    for job, share in fixed.items():
        state.give(job, share)
    arrivals = sorted(range(len(round_.jobs)), key=lambda job: (round_.jobs[job].submitted or 0.0, job))
    rows = {job: np.array(choices.of_job(job), dtype=np.int64) for job in arrivals if job not in fixed}
    priorities, line = round_.priorities.tolist(), by_deadline(round_)
    for priority in sorted(set(priorities), reverse=True):
        for job in line:
            if priorities[job] == priority and job in rows:
                rows[job] = _admitted(state, choices, rows[job])
        _fill(state, choices, {job: mine for job, mine in rows.items() if priorities[job] == priority})
    sizes = {job: state.gpus(job) for job in state.shares if job not in fixed}
    at_home = {job for job in sizes if job in choices.held and (state.shares[job] == choices.held[job]).all()}
    return settled(round_, choices, sizes, fixed, at_home) or state.shares


def _admitted(state: Placing, choices: Choices, rows: Ints) -> Ints:
    """Give a job the fewest GPUs that keep its deadline, if it can have them; return the rows that stay open to it."""
    keeps = rows[choices.in_time[rows]]
    away = keeps[~choices.home[keeps]][:1]
    candidates = [*keeps[choices.home[keeps]].tolist(), *away.tolist()]
    for row in sorted(candidates, key=lambda row: int(choices.gpus[row])):
        if state.try_row(row):
            return keeps
    return rows


def _fill(state: Placing, choices: Choices, rows: dict[int, Ints]) -> None:
    """Let shares start and grow by the row of the largest gain for each GPU until nothing fits or gains.

    ``rows`` are those open to each job. Of equal gains a job that has nothing yet comes first, then one that is left
    where it is, then the one that comes first there.
    """
    line = list(rows)
    heap = [
        (*gain, place, row)
        for place, job in enumerate(line)
        for gain, row in _next_step(state, choices, job, rows[job])
    ]
    heapq.heapify(heap)
    while heap and state.free:
        *_, place, row = heapq.heappop(heap)
        job = line[place]
        if choices.gpus[row] - state.gpus(job) <= state.free and not state.try_row(row):
            rows[job] = _without(choices, rows[job], row)
        for gain, step in _next_step(state, choices, job, rows[job]):
            heapq.heappush(heap, (*gain, place, step))


def _next_step(state: Placing, choices: Choices, job: int, rows: Ints) -> Iterable[tuple[Gain, int]]:
    """Yield the best next row of a job, with what it gains."""
    now = state.gpus(job)
    more = choices.gpus[rows] - now
    gain = choices.speed[rows] - _speed(choices, state, job)
    able = np.flatnonzero((more > 0) & (more <= state.free) & (gain > 0))
    if len(able):
        each = gain[able] / more[able]
        best = able[each == each.max()]
        row = int(rows[best[np.argmax(choices.home[rows[best]])]])  # of equals where it is, or else the smallest
        yield (-float(each.max()), now > 0, not choices.home[row]), row


def _without(choices: Choices, rows: Ints, row: int) -> Ints:
    """Return the rows of a job but one that does not fit; no larger share does then, unless it is where the job is."""
    stays: Ints = rows[rows != row]
    if choices.home[row]:
        return stays
    smaller: Ints = rows[choices.home[rows] | (choices.gpus[rows] < choices.gpus[row])]
    return smaller


def _speed(choices: Choices, state: Placing, job: int) -> int:
    """Return how fast a job is with what it has so far."""
    if job not in state.shares:
        return 0
    share = state.shares[job]
    home = job in choices.held and bool((share == choices.held[job]).all())
    same = [row for row in choices.of_job(job) if choices.gpus[row] == share.sum()]
    return max(int(choices.speed[row]) for row in same if home or not choices.home[row])
