"""Which jobs could start beside groups that have their places, against a look at every node for every job."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from bound_joint_rounds import with_all
from joint_rounds import large_joint_round, mixed_joint_round

from muri_opt import InputError, Round, policy_from
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.nodes.places import free_beside, place_in_turn
from muri_opt.systems.joint.nodes.regions import Regions
from muri_opt.systems.joint.nodes.state import Case
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.search.by_priority import decided
from muri_opt.systems.joint.search.jobs_with_room import JobsWithRoom


def case_of(round_: Round) -> Case:
    """Return the round as it is decided by `joint-s`."""
    rules = JointRules.of(policy_from("joint-s").rules)
    models = models_of(round_, rules)
    return Case(round_=round_, models=models, worth=worth_of(round_, models, rules), rules=rules)


@cache
def cases() -> tuple[Case, ...]:
    """Return cases in which something binds, and some with plans."""
    found = [case_of(with_all(large_joint_round(seed, jobs=40, nodes=5), seed, 2)) for seed in range(2)]
    for seed in range(12):
        try:
            found.append(case_of(mixed_joint_round(seed)))
        except InputError:  # of a running job that makes the round impossible
            continue
    return tuple(found)


@cache
def decided_once(case: Case) -> dict[Group, Place]:
    """Return what is decided for a case."""
    return decided(case)


def left_on_nodes(case: Case, placed: dict[Group, Place]) -> list[list[int]]:
    """Return GPUs, milli-CPUs and MiB of each node that groups leave, counted one by one."""
    amounts = case.round_.amounts
    left = [[int(amount) for amount in node] for node in zip(amounts.G, amounts.C, amounts.M, strict=True)]
    for group, (parts, way) in placed.items():
        cpus, memory = (sum(int(need[job]) for job in group) for need in (amounts.c, amounts.m))
        largest_first = sorted(parts, key=lambda part: -part[1])
        each = [(gpus, gpus * cpus, gpus * memory) for _, gpus in largest_first]
        if way is not None:
            each = [*case.models.plans_of(group[0]).shape(way).parts]
        for (node, _), taken in zip(largest_first, each, strict=True):
            left[node] = [has - took for has, took in zip(left[node], taken, strict=True)]
    return left


def quota_left(case: Case, placed: dict[Group, Place]) -> list[int]:
    """Return the GPUs that each tenant may have more."""
    amounts = case.round_.amounts
    left = amounts.U.tolist()
    for group, place in placed.items():
        for job in group:
            for tenant in amounts.line(int(amounts.tenant[job])):
                left[tenant] -= place.gpus
    return left


def _fits(node: list[int], needs: tuple[int, int]) -> int:
    """Return how many GPUs of such needs a node has room for."""
    return max(0, min([node[0], *(has // need for has, need in zip(node[1:], needs, strict=True) if need)]))


def test_who_is_left_out_has_no_room_anywhere() -> None:
    left_out = 0
    for case in cases():
        every = decided_once(case)
        for count in (0, len(every) // 2, len(every)):
            placed = dict([*every.items()][:count])
            most = JobsWithRoom.of(case).beside(placed)
            nodes, quota, regions = left_on_nodes(case, placed), quota_left(case, placed), Regions.of(case.round_)
            amounts = case.round_.amounts
            for job, found in enumerate(most.tolist()):
                needs = (0, 0) if case.models.runs_by_plans(job) else (int(amounts.c[job]), int(amounts.m[job]))
                fits = [_fits(node, needs) for node in nodes]
                own = regions.of_group((job,))
                rooms = [sum(fit for at, fit in enumerate(fits) if region >> at & 1) for region in own]
                room = max(rooms, default=0)
                over = any(quota[tenant] <= 0 for tenant in amounts.line(int(amounts.tenant[job])))
                least = int(case.models.least[case.models.kind[job]])
                assert found == (0 if over or room < least else room)
                left_out += not found
    assert left_out > 100


def test_what_groups_leave_is_counted_as_one_by_one() -> None:
    for case in cases():
        placed = decided_once(case)
        left = free_beside(case.round_.amounts, case.models, placed).left
        assert left.T.tolist() == left_on_nodes(case, placed)
        assert (left >= 0).all() or (case.round_.amounts.C < UNLIMITED).any()


def test_jobs_in_turn_have_at_most_what_they_are_given_and_fixed_ones_stay() -> None:
    for case in cases()[:4]:
        every = [*decided_once(case).items()]
        fixed = dict(every[: len(every) // 2])
        busy = {job for group in fixed for job in group}
        given = {job: 4 for job in range(len(case.models)) if job not in busy}
        found = place_in_turn(case.round_, case.models, given, fixed)
        assert {group: found[group] for group in fixed} == fixed
        assert all(place.gpus <= 4 for group, place in found.items() if group not in fixed)
        assert len(found) > len(fixed) or not free_beside(case.round_.amounts, case.models, fixed).gpus.any()
        assert all(min(node) >= 0 for node in left_on_nodes(case, found))
        assert min(quota_left(case, found), default=0) >= 0


@pytest.mark.parametrize("seed", range(20))
def test_kinds_of_jobs_meet_where_they_have_a_region_in_common(seed: int) -> None:
    round_ = with_all(large_joint_round(seed, jobs=30, nodes=6), seed, 1)
    regions = Regions.of(round_)
    common = [[any(a & b for a in one for b in other) for other in regions.of_kind] for one in regions.of_kind]
    assert regions.together.tolist() == common
    for kind, own in enumerate(regions.of_kind):
        assert regions.nodes_of_each(own).any(axis=0).tolist() == regions.inside[kind].tolist()
        assert len(regions.nodes_of_each(own)) == len(own)
    assert np.array_equal(regions.together, regions.together.T)
