"""Outcomes of replays made by hand or at random, for tests of what is drawn of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muri_opt.replay import JobOutcomes, Outcome, Timeline


def floats(*values):
    return np.array(values, dtype=np.float64)


def ints(*values):
    return np.array(values, dtype=np.int64)


def by_hand(policy="fifo", *, ids=("a", "b", "c", "d"), **changes):
    """Four jobs on two nodes of two GPUs, done after 10, 10, 40 and 100 seconds; the queue is 1, then 2, then 0."""
    jobs = JobOutcomes(
        ids=ids,
        tenants=("x", None, "x", "y"),
        gpus=ints(2, 2, 4, 1),
        submitted=floats(0, 0, 0, 0),
        started=floats(0, 0, 20, 40),
        ended=floats(10, 10, 40, 100),
        ideal=floats(10, 10, 20, 60),
        held=floats(10, 10, 20, 60),
        gpu_seconds=floats(20, 20, 80, 60),
        fairness=floats(0, 0, 0, 8),
        fragmentation=floats(0, 0, 4, 0),
        capacity=floats(0, 0, 16, 32),
        lost=floats(0, 0, 0, 0),
        failed=floats(0, 0, 0, 0),
        restarts=ints(0, 0, 0, 0),
        preemptions=ints(0, 0, 0, 0),
        migrations=ints(0, 0, 0, 0),
    )
    timeline = Timeline(
        seconds=floats(0, 10, 20, 40, 100),
        busy=ints(4, 0, 4, 1, 0),
        queue=ints(2, 2, 1, 0, 0),
        running=ints(2, 0, 1, 1, 0),
        stages=np.zeros((5, 0)),
        nodes=np.array([[2, 2], [0, 0], [2, 2], [0, 1], [0, 0]], dtype=np.int32),
    )
    made = Outcome(
        workload="hand",
        policy=policy,
        clock="own",
        cluster="2x2",
        seed=0,
        total_gpus=4,
        jobs=jobs,
        timeline=timeline,
        rounds=5,
        decision_seconds=0.25,
    )
    return replace(made, **changes)


def without_jobs():
    """Nothing was submitted, and nothing happened."""
    few = by_hand()
    jobs = JobOutcomes(**{name: getattr(few.jobs, name)[:0] for name in few.jobs.__slots__})
    timeline = Timeline(**{name: getattr(few.timeline, name)[:0] for name in few.timeline.__slots__})
    return replace(few, jobs=jobs, timeline=timeline)


def without_nodes(outcome):
    """The same, by a clock that only counts GPUs."""
    timeline = replace(outcome.timeline, nodes=np.zeros((len(outcome.timeline.seconds), 0), dtype=np.int32))
    return replace(outcome, timeline=timeline)


def at_random(policy, *, jobs, nodes, moments, seed):
    """Numbers that fit together no better than the charts need, and change at every moment on every node."""
    draw = np.random.default_rng(seed)
    submitted = np.sort(draw.uniform(0, 1e5, jobs))
    waited, ran = draw.exponential(5e3, jobs), draw.lognormal(7, 2, jobs)
    ones, none = np.ones(jobs, dtype=np.int64), np.zeros(jobs)
    seconds = np.sort(draw.uniform(0, 2e5, moments))
    used = draw.integers(0, 9, (moments, nodes)).astype(np.int32)
    return by_hand(
        policy,
        workload="random",
        total_gpus=8 * nodes,
        cluster=f"{nodes}x8",
        jobs=JobOutcomes(
            ids=tuple(f"job-{j}" for j in range(jobs)),
            tenants=(None,) * jobs,
            gpus=ones,
            submitted=submitted,
            started=submitted + waited,
            ended=submitted + waited + ran,
            ideal=ran,
            held=ran,
            gpu_seconds=ran,
            fairness=none,
            fragmentation=0.25 * waited,
            capacity=0.75 * waited,
            lost=none,
            failed=none,
            restarts=0 * ones,
            preemptions=0 * ones,
            migrations=0 * ones,
        ),
        timeline=Timeline(
            seconds=seconds,
            busy=used.sum(axis=1, dtype=np.int64),
            queue=draw.integers(0, 500, moments),
            running=draw.integers(0, 500, moments),
            stages=np.zeros((moments, 0)),
            nodes=used,
        ),
    )
