"""What ways to run are worth, level by level: each level outweighs all that come after it.

From the highest priority down, of the jobs of each: deadlines kept that waiting would lose, deadlines kept, deadlines
kept from the earliest on, and speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.modelling import Stage
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.job_times import job_times

MOST_IN_ONE = 10**6
"""What levels that are solved together may reach: a larger weight in a row is more than solvers keep exactly."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """One level: what each row of the choices adds to it, and the most that all jobs together can reach."""

    worth: Ints
    most: int


def levels_of(round_: Round, interval: float) -> tuple[Level, ...]:
    """Return the levels of a round, the first outweighs all others; those without any worth are left out.

    ``interval`` are the seconds after which the round is decided again.
    """
    return _levels(round_, interval)


@recalled
def _levels(round_: Round, interval: float) -> tuple[Level, ...]:
    choices, times = Choices.of(round_, interval), job_times(round_)
    jobs = range(len(times))
    urgent = np.array([not mine.can_wait(microseconds(interval)) for mine in times], dtype=np.int64)
    in_time, priorities = choices.in_time.astype(np.int64), round_.priorities
    found: list[Level] = []
    for priority in sorted(set(priorities.tolist()), reverse=True):
        here = priorities[choices.job] == priority
        line = [job for job in by_deadline(round_) if priorities[job] == priority]
        count = len(line)
        rank = np.zeros(len(times), dtype=np.int64)
        rank[line] = np.arange(count, 0, -1)
        speed = sum(int(times[job].speed.max(initial=0)) for job in jobs if priorities[job] == priority)
        kept = in_time * here
        found += [
            Level(worth=kept * urgent[choices.job], most=count),
            Level(worth=kept, most=count),
            Level(worth=kept * rank[choices.job], most=count * (count + 1) // 2),
            Level(worth=choices.speed * here, most=speed),
        ]
    return tuple(level for level in found if level.most)


def by_deadline(round_: Round) -> list[int]:
    """Return the jobs that have a deadline, the earliest first; equals by submission, then as in the round."""
    dated = [
        (job.deadline, job.submitted or 0.0, place) for place, job in enumerate(round_.jobs) if job.deadline is not None
    ]
    return [place for _, _, place in sorted(dated)]


def stages_of(levels: tuple[Level, ...], columns: Ints, size: int) -> tuple[Stage, ...]:
    """Return the objectives of a program of so many columns, in which row i of the choices has column ``columns[i]``.

    Levels that follow each other and stay small together are one stage.
    """
    joined: list[Level] = []
    for level in levels:
        if joined and (joined[-1].most + 1) * (level.most + 1) <= MOST_IN_ONE:
            worth = joined[-1].worth * (level.most + 1) + level.worth
            joined[-1] = Level(worth=worth, most=(joined[-1].most + 1) * (level.most + 1) - 1)
        else:
            joined.append(level)
    stages: list[Stage] = []
    weight = 1
    for level in reversed(joined):
        objective = np.zeros(size, dtype=np.int64)
        objective[columns] = level.worth
        stages.append(Stage(objective=objective, weight=weight, best=level.most))
        weight *= level.most + 1
    return tuple(reversed(stages))
