"""Evictions of ``antman``: only who is on the nodes of a guaranteed job is looked at, with the plain rule's answer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf
from random import Random

import pytest
from msgspec.structs import replace
from plan_rounds_for_policies import plan_round, planned, promise, running

from benchmarks.session_loop import all_jobs
from muri_opt import Round, policy_from
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.next_round import after
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals, guaranteed_first
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.rubick.baselines import antman


def plain_choice(round_: Round, options: PlanOptions) -> Mapping[int, Ints]:
    """Return the choice of the rule as it is stated: all best-effort jobs leave, and those that still fit come back."""
    allocation, queue = PlanAllocation(round_, options), arrivals(round_)
    line = guaranteed_first(options, queue)
    allocation.stay(line)
    promised, largest = antman._promised(round_, options), antman._largest(options)
    for job in line:
        if not options.guaranteed[job]:
            allocation.grow(job, largest[job])
        elif (
            not allocation.start(job, promised[job])
            and job not in allocation.placements
            and allocation.free.within_quota(job)
        ):
            evict(allocation, job, promised[job], queue)
    return allocation.chosen


def evict(allocation: PlanAllocation, job: int, wanted: list[int], queue: list[int]) -> None:
    options = allocation.options
    latest = sorted(allocation.placements.items(), key=lambda held: -queue.index(held[0]))
    guests = {
        other: placement
        for other, placement in latest
        if not options.guaranteed[other] and options.level[other] >= options.level[job]
    }
    for other in guests:
        allocation.leave(other)
    started = allocation.start(job, wanted)
    for other, placement in reversed(guests.items()):
        if not started or all(
            allocation.free.has_room(placement.option, placement.nodes, node) for node in placement.nodes.tolist()
        ):
            allocation.take(other, *placement)


def evolving(seed: int) -> list[Round]:
    """Return rounds of a session in which jobs with and without guarantees come and go, some with priorities."""
    random = Random(seed)
    drawn = all_jobs("antman", jobs=40, nodes=4 + seed % 4, rounds=6, seed=seed)
    jobs = [replace(job, priority=random.choice([0, 0, 5, 9]) if seed % 2 else 0) for job in drawn.jobs]
    rounds = [replace(drawn, jobs=tuple(jobs[:25]))]
    for first, end in pairwise(range(25, 38, 3)):
        then = after(rounds[-1], policy_from("antman").decide(rounds[-1], 0))
        stay = tuple(job for job in then.jobs if random.random() > 0.12)
        rounds.append(replace(then, jobs=stay + tuple(jobs[first:end])))
    return rounds


@pytest.mark.parametrize("seed", range(12))
def test_the_choice_is_that_of_the_plain_rule(seed: int) -> None:
    policy = policy_from("antman")
    for round_ in evolving(seed):
        options = PlanOptions.of(round_, policy.plan_rules)
        found, plain = policy.choose(round_, options, 0), plain_choice(round_, options)
        assert {option: nodes.tolist() for option, nodes in found.items()} == {
            option: nodes.tolist() for option, nodes in plain.items()
        }


def test_nobody_is_evicted_and_nobody_grows_where_it_is_late() -> None:
    guests = [running(j, {1: 1.0, 2: 5.0}, {"n0": 1}) for j in range(3)]
    promised = planned(3, {2: 1.0}, gpus=2, guarantee=promise(1.0))
    round_, policy = plan_round([4], [*guests, promised]), policy_from("antman")
    options = PlanOptions.of(round_, policy.plan_rules)

    def jobs_running(until: float) -> set[int]:
        return {int(options.job[option]) for option in policy.choose(round_, options, 0, until)}

    assert jobs_running(inf) == {0, 1, 3}
    assert jobs_running(-inf) == {0, 1, 2}
