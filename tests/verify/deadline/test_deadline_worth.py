"""What one way to run is worth is what the table of all ways of its job says."""

import pytest
from msgspec.structs import replace

from muri_opt import Limits, Round, solve_round
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.next_round import after
from muri_opt.verify.deadline.value import values_of

INTERVAL = 300_000_000
HOURS = (None, -1, 0, 1, 2, 8, 24)


def drawn(seed: int) -> Round:
    """Return a round of elastic jobs and gangs with deadlines of some hours, passed, or none."""
    round_ = generate("elastic", jobs=28, nodes=4, seed=seed)
    jobs = []
    for place, job in enumerate(round_.jobs):
        ahead = HOURS[place % len(HOURS)]
        deadline = None if ahead is None else max(0.0, round_.now + 3600.0 * ahead)
        scaling = job.scaling if place % 3 else None
        jobs.append(replace(job, deadline=deadline, scaling=scaling, restart_seconds=400.0 * (place % 2)))
    return replace(round_, jobs=tuple(jobs))


@pytest.mark.parametrize("seed", range(4))
def test_a_single_worth_is_that_of_the_table(seed: int) -> None:
    round_ = drawn(seed)
    decision = solve_round(round_, "deadline", "heuristic", Limits(seconds=None)).answer
    for one in (round_, after(round_, decision)):
        values = values_of(one, INTERVAL)
        for job in one.jobs:
            for (gpus, stays), worth in values[job.id].items():
                assert values.worth(job.id, gpus, stays=stays) == worth
            assert values.worth(job.id, 10**6, stays=False) == 0
