"""Which jobs may be grouped: the authors' rule where only GPUs are limited, and no partner that could not run there."""

from __future__ import annotations

from math import inf

import msgspec
import numpy as np
import pytest
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Job, Node, Round, Tenant
from muri_opt.systems.capacity import Leftover, first_fit
from muri_opt.systems.muri.candidates import candidates
from muri_opt.testing import rounds


def one_by_one(round_: Round, queue: list[int], largest: int) -> list[int]:
    """Return the candidates as the rule says it, each partner tried on its own against what is left."""
    left = Leftover(round_)
    chosen: set[int] = set()
    for place, job in enumerate(queue):
        if job in chosen or not left.within_quota(job):
            continue
        share = first_fit(left.room(job), round_.jobs[job].gpus, round_.amounts.G)
        if share is None:
            continue
        slot = [job]
        for other in queue[place + 1 :]:
            free = other not in chosen and round_.jobs[other].gpus == round_.jobs[job].gpus and len(slot) < largest
            if free and (left.room(*slot, other) >= share).all() and left.within_quota(*slot, other):
                slot.append(other)
        left.take(share, *slot)
        chosen.update(slot)
    return [job for job in queue if job in chosen]


def authors(round_: Round, queue: list[int], largest: int) -> list[int]:
    """Return the candidates of the authors' simulator: per slot the next jobs of that size, whatever they need."""
    left = Leftover(round_)
    chosen: set[int] = set()
    for job in queue:
        share = first_fit(left.room(job), round_.jobs[job].gpus, round_.amounts.G)
        if job not in chosen and share is not None:
            left.take(share, job)
            alike = [other for other in queue if round_.jobs[other].gpus == round_.jobs[job].gpus]
            chosen.update([other for other in alike if other not in chosen][:largest])
    return [job for job in queue if job in chosen]


@st.composite
def queues(draw: st.DrawFn, *, tight: bool) -> tuple[Round, list[int], int]:
    drawn = draw(rounds(max_jobs=9, max_gpus=4, tight=tight, running=False))
    small = draw(st.booleans())
    jobs = tuple(msgspec.structs.replace(job, gpus=1 + job.gpus % 2) if small else job for job in drawn.jobs)
    queue = draw(st.permutations(range(len(jobs))))
    return msgspec.structs.replace(drawn, jobs=jobs), queue, draw(st.integers(1, 4))


def smallest_first(round_: Round) -> Round:
    """Return the round with its nodes listed from the smallest: then first fit as it is written begins there."""
    nodes = sorted(round_.cluster.nodes, key=lambda one: (one.gpus, one.cpus or inf, one.memory_gib or inf))
    cluster = msgspec.structs.replace(round_.cluster, nodes=tuple(nodes))
    return msgspec.structs.replace(round_, cluster=cluster)


@given(queues(tight=True))
@more_examples(200)
def test_partners_are_taken_one_by_one_while_they_fit(case: tuple[Round, list[int], int]) -> None:
    sorted_, queue, largest = smallest_first(case[0]), *case[1:]
    assert candidates(sorted_, queue, largest) == one_by_one(sorted_, queue, largest)


@given(queues(tight=True))
@more_examples(200)
def test_of_two_orders_of_the_nodes_that_counts_which_serves_the_earlier_jobs(
    case: tuple[Round, list[int], int],
) -> None:
    """Once by first fit on the nodes as they are listed, once from the smallest."""
    round_, queue, largest = case
    found = [one_by_one(round_, queue, largest), one_by_one(smallest_first(round_), queue, largest)]
    best = max(found, key=lambda chosen: [job in chosen for job in queue])
    assert candidates(round_, queue, largest) == best


def test_a_small_job_leaves_the_large_node_to_a_large_one() -> None:
    assert candidates(round_of([4, 2], [2, 4]), [0, 1], 1) == [0, 1]


@given(queues(tight=False))
def test_with_nothing_but_gpus_limited_the_rule_is_the_authors(case: tuple[Round, list[int], int]) -> None:
    sorted_, queue, largest = smallest_first(case[0]), *case[1:]
    assert candidates(sorted_, queue, largest) == authors(sorted_, queue, largest)


@pytest.mark.parametrize("seed", range(3))
def test_partners_far_down_the_queue_are_found(seed: int) -> None:
    draw = np.random.default_rng(seed)
    jobs = [
        gang(j, int(draw.integers(1, 3)), cpus=float(draw.choice([1, 60, 90])), tenant=f"t{draw.integers(0, 2)}")
        for j in range(400)
    ]
    nodes = [Node(id=f"n{s}", gpus=4, cpus=96) for s in range(6)]
    round_ = round_of(nodes, jobs, [Tenant(id="t0", quota_gpus=12), Tenant(id="t1")])
    found = candidates(round_, list(range(400)), 4)
    assert found == one_by_one(round_, list(range(400)), 4)
    assert max(found) > 100  # beyond the first windows


def cpu_job(position: int, cpus: float) -> Job:
    return gang(position, 1, cpus=cpus)


def test_a_job_that_is_passed_over_may_open_a_slot_of_its_own() -> None:
    nodes = [Node(id="n0", gpus=1, cpus=8), Node(id="n1", gpus=1, cpus=8)]
    jobs = [cpu_job(0, 6), cpu_job(1, 5), cpu_job(2, 2), cpu_job(3, 3), cpu_job(4, 1)]
    assert candidates(round_of(nodes, jobs), list(range(5)), 2) == [0, 1, 2, 3]
    assert candidates(round_of(nodes, jobs), list(range(5)), 4) == [0, 1, 2, 3]
    assert candidates(round_of(nodes[:1], jobs), list(range(5)), 4) == [0, 2]
