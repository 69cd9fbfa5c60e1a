"""ElasticFlow's rule on one round: least shares that keep deadlines, earliest first; the rest by marginal return."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.levels import by_deadline
from muri_opt.systems.deadline.placing import Placing, settled

Gain = tuple[float, bool, bool]
"""How much faster a job is for each further GPU, as a negative number; whether it has some already, and is moved."""
Entry = tuple[float, bool, bool, int, int]
"""A gain, the place of its job in line, and the row."""


def elastic_flow(round_: Round, choices: Choices, fixed: Mapping[int, Ints]) -> dict[int, Ints]:
    """Return GPUs per node of the jobs that run, beside those that are ``fixed`` where they are.

    From the highest priority down: each job with a deadline, the earliest first, is given the fewest GPUs that keep
    it, if they are left; then what is left goes, step by step, to the job of the priority whose speed grows most for
    each further GPU. A job that is admitted keeps its deadline with every step. Jobs that end up with as many GPUs as
    they have now stay where they are, if all others find room then.
    """
    state = Placing(round_, choices)
    state.give_all(fixed)
    arrivals = sorted(range(len(round_.jobs)), key=lambda job: (round_.jobs[job].submitted or 0.0, job))
    rows = {job: [*choices.of_job(job)] for job in arrivals if job not in fixed}
    priorities, line, steps = round_.priorities.tolist(), by_deadline(round_), Steps.of(choices)
    for priority in sorted(set(priorities), reverse=True):
        for job in line:
            if priorities[job] == priority and job in rows:
                rows[job] = _admitted(state, steps, job, rows[job])
        _fill(state, steps, {job: mine for job, mine in rows.items() if priorities[job] == priority})
    sizes = {job: state.gpus(job) for job in state.shares if job not in fixed}
    at_home = {job for job in sizes if choices.is_home(job, state.shares[job])}
    return settled(round_, choices, sizes, fixed, at_home) or state.shares


@dataclass(frozen=True, slots=True)
class Steps:
    """The rows of the choices as lists: they are looked at one by one."""

    choices: Choices
    gpus: list[int]
    speed: list[int]
    home: list[bool]
    in_time: list[bool]
    least: dict[int, list[int]]
    """The rows by which a job keeps its deadline where it is, and with the fewest GPUs elsewhere, if it can."""

    @classmethod
    def of(cls, choices: Choices) -> Steps:
        """Return the rows of the choices."""
        gpus, speed, home = choices.gpus.tolist(), choices.speed.tolist(), choices.home.tolist()
        least: dict[int, list[int]] = {}
        away = np.flatnonzero(choices.in_time & ~choices.home)
        _, first = np.unique(choices.job[away], return_index=True)
        at_home = np.flatnonzero(choices.in_time & choices.home)
        for rows in (at_home, away[first]):
            for job, row in zip(choices.job[rows].tolist(), rows.tolist(), strict=True):
                least.setdefault(job, []).append(row)
        return cls(choices, gpus, speed, home, choices.in_time.tolist(), least)

    def next(self, state: Placing, job: int, rows: list[int]) -> Iterable[tuple[Gain, int]]:
        """Yield the best next row of a job, with what it gains; of equals where it is, or else the smallest."""
        now, free = state.gpus(job), state.free
        speed = self.speed[self.choices.row_of(job, state.shares[job])] if now else 0
        most, best = 0.0, -1
        for row in rows:
            more, gain = self.gpus[row] - now, self.speed[row] - speed
            if 0 < more <= free and gain > 0:
                each = gain / more
                if each > most or (each == most and self.home[row]):
                    most, best = each, row
        if best >= 0:
            yield (-most, now > 0, not self.home[best]), best

    def starts(self, state: Placing, line: Sequence[int], rows: Mapping[int, list[int]]) -> list[Entry]:
        """Return what :meth:`next` says of all jobs in line that have no GPUs yet, with their places."""
        places = [place for place, job in enumerate(line) if job not in state.shares and rows[job]]
        if not places:
            return []
        counts = [len(rows[line[place]]) for place in places]
        row = np.fromiter(chain.from_iterable(rows[line[place]] for place in places), dtype=np.int64)
        choices, first = self.choices, np.cumsum([0, *counts])[:-1]
        gpus, home = choices.gpus[row], choices.home[row]
        each = np.where((gpus <= state.free) & (choices.speed[row] > 0), choices.speed[row] / gpus, 0.0)
        most = np.maximum.reduceat(each, first)
        equal = each == np.repeat(most, counts)
        line_of = np.arange(len(row))
        earliest = np.minimum.reduceat(np.where(equal, line_of, len(row)), first)
        last_home = np.maximum.reduceat(np.where(equal & home, line_of, -1), first)
        best = np.where(last_home >= 0, last_home, earliest)
        columns = (-most, np.zeros(len(best), dtype=np.bool_), ~home[best], np.array(places), row[best])
        gains = np.flatnonzero(most > 0)
        return [*zip(*(column[gains].tolist() for column in columns), strict=True)]

    def without(self, rows: list[int], row: int) -> list[int]:
        """Return the rows of a job but one that does not fit; no larger share does then, unless it is at home."""
        if self.home[row]:
            return [one for one in rows if one != row]
        return [one for one in rows if self.home[one] or self.gpus[one] < self.gpus[row]]


def _admitted(state: Placing, steps: Steps, job: int, rows: list[int]) -> list[int]:
    """Give a job the fewest GPUs that keep its deadline, if it can have them; return the rows that stay open to it."""
    for row in sorted(steps.least.get(job, ()), key=lambda row: steps.gpus[row]):
        if (steps.home[row] or steps.gpus[row] <= state.free) and state.try_row(row):
            return [row for row in rows if steps.in_time[row]]
    return rows


def _fill(state: Placing, steps: Steps, rows: dict[int, list[int]]) -> None:
    """Let shares start and grow by the row of the largest gain for each GPU until nothing fits or gains.

    ``rows`` are those open to each job. Of equal gains a job that has nothing yet comes first, then one that is left
    where it is, then the one that comes first there.
    """
    if not state.free:
        return
    line = list(rows)
    heap = steps.starts(state, line, rows)
    for place, job in enumerate(line):
        if job in state.shares:
            heap += ((*gain, place, row) for gain, row in steps.next(state, job, rows[job]))
    heapq.heapify(heap)
    while heap and state.free:
        *_, place, row = heapq.heappop(heap)
        job = line[place]
        if steps.gpus[row] - state.gpus(job) <= state.free and not state.try_row(row):
            rows[job] = steps.without(rows[job], row)
        for gain, step in steps.next(state, job, rows[job]):
            heapq.heappush(heap, (*gain, place, step))
