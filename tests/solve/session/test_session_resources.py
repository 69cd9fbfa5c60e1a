"""Many rounds in one session: memory, files and processes stay as they are."""

from __future__ import annotations

import gc
import os
import threading
from functools import _lru_cache_wrapper
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import walk_packages
from random import Random

import pytest

import muri_opt
from muri_opt import Cluster, Job, Limits, Node, Plan, Session
from muri_opt.systems import POLICIES

SMALL, USUAL = 4, 12
"""Jobs of a round; there is a node of 4 GPUs for each three of them, rounded up."""
MOST_OBJECTS = 6
"""How many objects a round may leave behind on average: fewer than it has jobs. Caches of a fixed size fill slowly."""
MOST_BYTES = 32 << 20
"""How much more memory ten thousand rounds may take than the first hundred, which is mostly caches of a fixed size."""

MOST_KEPT = 1 << 14
"""Answers that one function may keep: about as many as a large round has jobs, at one or two kilobytes each."""


def a_job(draw: Random, number: int, now: float) -> Job:
    """Return a job that says what any policy needs."""
    size = draw.choice((1, 1, 2, 4))
    plans = tuple(Plan(name=f"dp{gpus}", gpus=gpus, throughput=gpus * draw.uniform(0.7, 1.0)) for gpus in (1, 2, 4))
    return Job(
        id=f"j{number}",
        gpus=size,
        submitted=now,
        iteration_seconds=draw.uniform(0.5, 2.0),
        remaining_iterations=draw.randint(1, 500),
        stage_seconds=tuple(draw.uniform(0.1, 0.5) for _ in range(4)),
        scaling={1: 1.0, 2: draw.uniform(1.5, 1.9), 4: draw.uniform(2.0, 3.5)},
        plans=plans,
        plan=f"dp{size}",
        predictable=draw.random() < 0.7,
        restart_seconds=10.0,
    )


class Churn:
    """A session in which jobs come and go from round to round."""

    def __init__(self, policy: str, method: str, journal: Path | None = None, jobs: int = USUAL) -> None:
        nodes = Cluster(nodes=tuple(Node(id=f"n{place}", gpus=4) for place in range(-(-jobs // 3))))
        self.session = Session(nodes, policy, method, Limits(work=50), journal=journal)
        self.draw, self.jobs, self.number, self.now = Random(5), jobs, 0, 0.0

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.now += 30.0
            jobs = self.session.jobs
            running = [job.id for job in jobs.values() if job.state == "running"]
            for name in self.draw.sample(running, min(2, len(running))):
                self.draw.choice((self.session.finished, self.session.cancel))(name)
            while len(self.session.jobs) < self.jobs:
                self.number += 1
                self.session.submit(a_job(self.draw, self.number, self.now))
            self.session.progress_all(self.session.jobs, remaining_iterations=[9] * self.jobs)
            self.session.acknowledge(self.session.decide(self.now))


def held() -> dict[str, int]:
    """Return what this process holds of what runs out."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    files = [*Path("/proc/self/fd").iterdir()]
    return {"files": len(files), "threads": threading.active_count(), "processes": len(children)}


def objects() -> int:
    """Return how many objects of this package's classes there are.

    Of all objects, those of whatever watches the run (a tracer, a measurement of coverage) would be counted too.
    """
    gc.collect()
    return sum(str(type(one).__module__).startswith("muri_opt") for one in gc.get_objects())


def resident() -> int:
    """Return the bytes of memory that this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_rounds(churn: Churn, first: int, rounds: int) -> None:
    """Compare what is held after ``first`` rounds with what is held after so many more."""
    churn.rounds(first)
    before, there = held(), objects()
    churn.rounds(rounds)
    assert held() == before
    assert objects() - there < MOST_OBJECTS * rounds


@pytest.mark.parametrize("policy", ["srtf", "muri-s", "rubick"])
def test_some_rounds_leave_nothing_behind(policy: str, tmp_path: Path) -> None:
    churn = Churn(policy, "heuristic", tmp_path / "journal.jsonl")
    with churn.session:
        check_rounds(churn, first=25, rounds=30)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_takes_the_jobs_of_the_long_tests(policy: str) -> None:
    churn = Churn(policy, "heuristic", jobs=SMALL)
    churn.rounds(3)
    assert any(job.state == "running" for job in churn.session.jobs.values())


def test_rounds_that_are_solved_use_one_solver_process() -> None:
    """After twenty rounds caches of a fixed size are filled, whatever was run before."""
    check_rounds(Churn("muri-s", "auto"), first=20, rounds=15)


def test_no_function_keeps_more_answers_than_a_large_round_asks_for() -> None:
    names = [module.name for module in walk_packages(muri_opt.__path__, "muri_opt.")]
    modules = [import_module(name) for name in names if not name.endswith("__main__")]
    classes = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    inside = [one for place in (*modules, *classes) for one in vars(place).values()]
    functions = [one for one in inside if isinstance(one, _lru_cache_wrapper)]
    most = {
        f"{one.__module__}.{one.__qualname__}": one.cache_parameters()["maxsize"]
        for one in functions
        if one.__module__.startswith("muri_opt") and signature(one).parameters
        if not one.__module__.startswith("muri_opt.testing")  # strategies of tests, one for each number that is asked
    }
    assert len(most) > len(("curves", "matchings", "tables", "ways"))
    assert [name for name, size in most.items() if size is None or size > MOST_KEPT] == []


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_ten_thousand_rounds_leave_nothing_behind(policy: str, tmp_path: Path) -> None:
    churn = Churn(policy, "heuristic", tmp_path / "journal.jsonl", SMALL)
    with churn.session:
        churn.rounds(100)
        before, there = held(), resident()
        churn.rounds(9_900)
        assert held() == before
        assert resident() - there < MOST_BYTES
    assert (tmp_path / "journal.jsonl").stat().st_size < 3 << 20


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_a_thousand_rounds_that_are_solved_leave_nothing_behind(policy: str) -> None:
    churn = Churn(policy, "auto")
    churn.rounds(50)
    before, there = held(), resident()
    churn.rounds(950)
    assert held() == before
    assert resident() - there < MOST_BYTES
