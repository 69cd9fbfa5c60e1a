"""Levels of priority that plainly ask for too much are told at once, against asking job by job."""

from random import Random

import numpy as np
from bound_joint_rounds import offers_of
from joint_rounds import large_joint_round
from msgspec.structs import replace
from seeds import seed_by_seed

from muri_opt import Limits, policy_from
from muri_opt.rounds.budget import Budget
from muri_opt.systems.joint.charges.consumption import Consumption
from muri_opt.systems.joint.search import easy_priorities
from muri_opt.systems.joint.search.easy_priorities import _Alone, _Demands

JOBS = 40


@seed_by_seed(3, 6)
def test_what_is_plainly_too_much_is_too_much(seed):
    """Near the edge, too: what jobs wish is drawn with about as many GPUs, and quotas that stop one or all of them."""
    draw, told = Random(seed), []
    alone = _Alone(offers_of(large_joint_round(seed, jobs=JOBS, nodes=3)))
    for _ in range(1_500):
        lines = [tuple(draw.sample(range(4), draw.randint(0, 2))) for _ in range(JOBS)]
        counted = Consumption.of_lines(lines, 4)
        jobs = draw.sample(range(JOBS), draw.randint(1, 12))
        most = np.array([draw.choice((1, 2, 4, 8, 30)) for _ in range(JOBS)])
        quota = [draw.choice((0, 2, 5, 8, 100)) for _ in range(4)]
        unbounded = _Demands(alone, counted.things_of_each(), 10_000, quota).of_level(jobs, most.tolist())
        wished = sum((unbounded or {jobs[0]: 20}).values())
        gpus = draw.choice((draw.randint(0, wished), wished + draw.randint(0, 2)))
        wishes = _Demands(alone, counted.things_of_each(), gpus, quota)
        plainly = wishes.are_too_many(counted, jobs, most)
        told.append((plainly, wishes.of_level(jobs, most.tolist()) is None))
    assert (True, False) not in told
    assert {(True, True), (False, True), (False, False)} == {*told}


def test_a_level_of_many_times_the_gpus_is_plainly_too_much(monkeypatch):
    plain = large_joint_round(5, jobs=200, nodes=4)
    round_ = replace(plain, jobs=tuple(replace(job, priority=at % 2) for at, job in enumerate(plain.jobs)))
    told, real = [], easy_priorities._Demands.are_too_many

    def seen(self, counted, jobs, most):
        told.append(real(self, counted, jobs, most))
        return told[-1]

    monkeypatch.setattr(easy_priorities._Demands, "are_too_many", seen)
    policy_from("joint-s").decide_within(round_, 0, Budget(limits=Limits(seconds=1e-9)))
    assert told[0]
