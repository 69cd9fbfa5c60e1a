"""The lower bound of a trace: below every replay, and each of its arguments against a method of its own."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.optimize import linprog

from muri_opt import Cluster, Job, Node, Plan
from muri_opt.replay import Workload, replay
from muri_opt.replay.bounds import lower_bound
from muri_opt.replay.bounds.busy_time import busy_machine
from muri_opt.replay.bounds.job_curves import Curve, JobCurves, job_curves
from muri_opt.replay.bounds.price_function import PriceFunction

RESOURCES = ("data", "gpu", "network")


def cluster(*gpus: int) -> Cluster:
    return Cluster(nodes=tuple(Node(id=f"n{place}", gpus=count) for place, count in enumerate(gpus)))


def drawn(seed: int, jobs: int) -> Workload:
    """Return jobs that scale and have stages, the sum of which may be less or more than an iteration takes alone."""
    rng = Random(seed)
    found, now = [], 0.0
    for place in range(jobs):
        now += rng.choice([0.0, rng.uniform(0, 40)])
        gpus, power, alone = rng.choice([1, 1, 2]), rng.uniform(0.3, 1), round(rng.uniform(0.2, 2), 2)
        parts = [rng.random() for _ in RESOURCES]
        stages = tuple(round(part / sum(parts) * alone * rng.choice([0.8, 1, 1.1]), 3) for part in parts)
        fields = {"scaling": {k: round(k**power, 3) for k in (1, 2, 4)}, "stage_seconds": stages}
        found.append(
            Job(
                id=f"j{place}",
                gpus=gpus,
                submitted=round(now, 3),
                remaining_iterations=rng.randint(1, 60),
                iteration_seconds=alone,
                restart_seconds=rng.choice([0.0, 2.0]),
                **fields,
            )
        )
    return Workload(name=f"drawn-{seed}", jobs=tuple(found), resources=RESOURCES)


ALONE = ("fifo:preempt=yes", "srtf", "afs-l", "optimus", "afs-l:objective=completion", "joint-s:group=1")
TOGETHER = ("muri-s", "muri-l:group=2", "joint-s:sharing=stretch", "joint-l", "muri-s:objective=completion,sizes=mixed")


@pytest.mark.parametrize("seed", range(3))
def test_no_replay_of_any_policy_is_below_it(seed: int) -> None:
    workload, nodes = drawn(seed, 8), cluster(*([4], [2, 2], [1])[seed % 3])
    if nodes.total_gpus == 1:
        workload = Workload(name="one", jobs=tuple(job for job in workload.jobs if job.gpus == 1), resources=RESOURCES)
    alone, any_ = (lower_bound(workload, nodes, sharing=sharing, cells=24, steps=15) for sharing in (False, True))
    assert any_.seconds <= alone.seconds
    for policies, bound in ((ALONE, alone), ((*ALONE, *TOGETHER), any_)):
        assert bound.seconds == max(bound.own, bound.busy, bound.prices)
        for policy in policies:
            mean = float(replay(workload, nodes, policy).jobs.completion.mean())
            assert mean >= bound.seconds, (policy, mean, bound)


def shortest_first(jobs: list[tuple[float, float]]) -> float:
    """Return the sum of completion times of shortest remaining time first on one machine, second by second."""
    left, total, now = [length for _, length in jobs], 0.0, 0
    while any(left):
        there = [place for place, (begin, _) in enumerate(jobs) if begin <= now and left[place]]
        if there:
            place = min(there, key=lambda place: left[place])
            left[place] -= 1
            total += 0 if left[place] else now + 1 - jobs[place][0]
        now += 1
    return total


def test_on_one_machine_it_is_near_the_optimum() -> None:
    for seed in range(3):
        rng = Random(seed)
        drawn = sorted((float(rng.randint(0, 60)), float(rng.randint(1, 20))) for _ in range(12))
        jobs = tuple(
            Job(id=f"j{k}", gpus=1, submitted=begin, iteration_seconds=1.0, remaining_iterations=int(length))
            for k, (begin, length) in enumerate(drawn)
        )
        best = shortest_first(drawn) / len(jobs)
        bound = lower_bound(Workload(name="one", jobs=jobs), cluster(1), steps=80)
        assert 0.93 * best <= bound.seconds <= best
        assert bound.own < bound.busy <= best


def test_mean_busy_times_are_the_least_of_a_linear_program() -> None:
    for seed in range(5):
        rng = Random(seed)
        begin = np.array(sorted(rng.randint(0, 5) + 0.01 * k for k in range(4)))
        work = np.array([float(rng.randint(1, 8)) for _ in range(4)])
        machine = busy_machine(begin, work, 2)
        slots = 4 * int(begin.max() + work.sum())
        cost = np.array([[(t + 0.5) / 4 / work[j] for t in range(slots)] for j in range(4)])
        most = [(0.0, None if t >= 4 * begin[j] else 0.0) for j in range(4) for t in range(slots)]
        once = np.kron(np.eye(4), np.ones(slots))
        capacity = np.kron(np.ones(4), np.eye(slots))
        found = linprog(cost.reshape(-1), capacity, np.full(slots, 0.5), once, work, bounds=most)
        assert found.fun - 1 <= (begin + machine.after).sum() <= found.fun + 1e-9  # slots are coarser than the machine
        # Its prices prove it: no job could be served at a lower cost than it is.
        high = machine.price + machine.slope * (machine.end - machine.start)
        costs = [
            min(
                *(time / work[j] + price for time, price in zip(machine.start, high, strict=True) if time >= begin[j]),
                *(
                    time / work[j] + price
                    for time, price in zip(machine.end, machine.price, strict=True)
                    if time > begin[j]
                ),
            )
            for j in range(4)
        ]
        span = np.array([0.0, machine.end[-1]])
        proved = float(np.dot(costs, work)) - 2 * float(machine.prices(span)[0] * span[1])
        assert (begin + machine.after).sum() == pytest.approx(proved)


def drawn_prices(seed: int) -> tuple[JobCurves, np.ndarray, np.ndarray]:
    """Return one job with a convex curve, the bounds of cells, and their prices."""
    rng = np.random.default_rng(seed)
    rate, gpus = np.sort(rng.random(3)), np.cumsum(np.cumsum(rng.random(3)))
    curve = Curve(rate=rate / rate[-1], gpus=gpus, uses=np.ones(1))
    slopes = np.diff(np.append(0, gpus)) / np.diff(np.append(0, curve.rate))
    if (np.diff(slopes) < 0).any():
        curve = Curve(rate=np.ones(1), gpus=gpus[:1], uses=np.ones(1))
    bounds = np.append(0.0, rng.uniform(0.5, 4, 6).cumsum())
    begin = np.array([rng.uniform(0, bounds[-1])])
    job = JobCurves(submitted=begin, fastest=rng.uniform(0.2, 6, 1), curves=(curve,), of=np.zeros(1, dtype=np.int64))
    return job, bounds, rng.choice([0.0, 1.0, 3.0], 6) * rng.random(6)


def cheapest(jobs: JobCurves, bounds: np.ndarray, prices: np.ndarray) -> float:
    """Return the least completion time and cost of one job: a linear program for each cell in which it may end."""
    begin, fastest, curve = float(jobs.submitted[0]), float(jobs.fastest[0]), jobs.curves[0]
    starts, price = np.append(bounds[:-1], bounds[-1]), np.append(prices, 0.0)
    ends = np.append(bounds[1:], bounds[-1] + 2 * fastest + begin)
    best = np.inf
    for last in range(len(price)):
        if ends[last] <= begin:
            continue
        cells = [cell for cell in range(last + 1) if ends[cell] > begin]
        # Variables: seconds at every corner in every cell, then the seconds of the last cell that are used.
        cost = [price[cell] * taken for cell in cells for taken in curve.gpus] + [1.0]
        width = {cell: ends[cell] - max(begin, starts[cell]) for cell in cells}
        rows = np.zeros((len(cells), len(cost)))
        for place, cell in enumerate(cells):
            rows[place, place * len(curve.rate) : (place + 1) * len(curve.rate)] = 1.0
            rows[place, -1] = -1.0 if cell == last else 0.0
        limits = [0.0 if cell == last else width[cell] for cell in cells]
        work = np.append(np.tile(curve.rate, len(cells)), 0.0)[None]
        bounded = [(0.0, None)] * (len(cost) - 1) + [(0.0, width[last])]
        found = linprog(cost, rows, limits, work, [fastest], bounds=bounded)
        if found.status == 0:
            best = min(best, max(begin, starts[last]) - begin + found.fun)
    return best


def test_what_a_job_costs_at_prices_is_the_least_of_linear_programs() -> None:
    near = 0
    for seed in range(40):
        jobs, bounds, prices = drawn_prices(seed)
        found = PriceFunction(jobs, bounds, 0, worths=200).at(prices[:, None]).total
        exact = cheapest(jobs, bounds, prices)
        assert found <= exact + 1e-7
        near += found >= exact - 1e-3
    assert near >= 32


def test_any_prices_bound_every_replay_and_the_excess_is_where_they_rise() -> None:
    workload, nodes = drawn(3, 12), cluster(2, 2)
    curves = job_curves(workload, 4, sharing=True)
    bounds = np.linspace(0, 400, 9)
    function, rng = PriceFunction(curves, bounds, 4, worths=150), np.random.default_rng(0)
    ended = min(float(replay(workload, nodes, policy).jobs.completion.sum()) for policy in ("afs-l", *TOGETHER[:3]))
    drawn_at = [rng.random((8, 3)) * scale for scale in (0.05, 0.2, 0.5, 1.0, 2.0)]
    values = [function.at(prices) for prices in drawn_at]
    for here, prices in zip(values, drawn_at, strict=True):
        assert here.total <= ended
        for other, there in zip(values, drawn_at, strict=True):
            assert other.total <= here.total + (here.excess * (there - prices)).sum() + 0.01 * abs(here.total) + 1.0


def test_plans_on_no_gpus_cost_nothing_and_large_ones_do_not_count() -> None:
    plans = (
        Plan(name="cpu", gpus=0, nodes=1, throughput=0.5),
        Plan(name="gpu", gpus=1, nodes=1, throughput=1.0),
        Plan(name="large", gpus=9, nodes=1, throughput=9.0),
    )
    job = Job(id="a", gpus=1, submitted=0.0, iteration_seconds=1.0, remaining_iterations=10, plans=plans)
    jobs = job_curves(Workload(name="w", jobs=(job,)), 4, sharing=True)
    assert (jobs.fastest.tolist(), jobs.curves[0].rate.tolist(), jobs.curves[0].gpus.tolist()) == (
        [10.0],
        [0.5, 1.0],
        [0.0, 1.0],
    )
    bound = lower_bound(Workload(name="w", jobs=(job,)), cluster(4))
    assert bound.seconds == pytest.approx(10.0, rel=1e-5)


def test_of_no_jobs_it_is_nothing() -> None:
    assert lower_bound(Workload(name="none", jobs=()), cluster(1)).as_dict() == {
        "own": 0.0,
        "busy": 0.0,
        "prices": 0.0,
        "sharing": True,
        "seconds": 0.0,
        "by": "own",
    }


@pytest.mark.parametrize(
    "first", [pytest.param(1e5, marks=pytest.mark.slow), pytest.param(1e9, marks=pytest.mark.slow), 1.7e9]
)
def test_a_trace_that_begins_at_a_date_has_the_bounds_of_one_that_begins_at_nothing(first: float) -> None:
    rng = Random(3)
    for length in (0.01, 5.0, 4_000.0):
        jobs = [
            Job(
                id=f"j{place}",
                gpus=rng.choice([1, 2, 4]),
                submitted=round(length * rng.uniform(0, 9), 3),
                iteration_seconds=length / 10,
                remaining_iterations=rng.randint(1, 30),
            )
            for place in range(25)
        ]
        plain, dated = (
            lower_bound(Workload.of("-", [replace(job, submitted=job.submitted + at) for job in jobs]), cluster(4))
            for at in (0.0, first)
        )
        close = 1e-4 if length < 1 else 1e-6  # a date leaves fewer digits for what comes behind it
        assert dated.own == pytest.approx(plain.own, rel=close)
        assert dated.busy == pytest.approx(plain.busy, rel=close)
        assert dated.prices == pytest.approx(plain.prices, rel=0.05)  # steps of the search go another way
        reached = replay(Workload.of("-", jobs), cluster(4), "srtf").jobs.completion.mean()
        assert max(plain.seconds, dated.seconds * (1 - 1e-4)) <= reached


def test_short_jobs_long_after_the_first_are_not_said_to_take_longer_than_they_do() -> None:
    jobs = [Job(id="first", gpus=1, submitted=0.0, iteration_seconds=1.0, remaining_iterations=1)]
    jobs += [
        Job(
            id=f"j{place}",
            gpus=1,
            submitted=1e9 + place * 0.25,
            iteration_seconds=0.001,
            remaining_iterations=place + 1,
        )
        for place in range(6)
    ]
    mean = sum([1.0, *(0.001 * (place + 1) for place in range(6))]) / 7
    bound = lower_bound(Workload.of("-", jobs), cluster(1))
    assert 0.99 * mean <= bound.seconds <= mean
    assert bound.busy <= mean
    assert bound.prices <= mean
