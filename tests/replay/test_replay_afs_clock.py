"""The clock of the AFS authors: published golden numbers, hand-computed queues, and invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node
from muri_opt.errors import InputError
from muri_opt.replay import Workload
from muri_opt.replay.clocks.afs_clock import replay_afs
from muri_opt.replay.clocks.afs_rules import POLICIES
from muri_opt.replay.run import replay
from muri_opt.systems.afs.clock_rules import INELASTIC_ORDERS

MILLI = 0.001


def job(name: str, submitted: float, seconds: float, gpus: int, *speeds: float) -> Job:
    """Return a job that takes so many seconds on the GPUs it asks for, and has these speeds on 1, 2, ... GPUs."""
    return Job(
        id=name,
        gpus=gpus,
        submitted=submitted,
        remaining_iterations=round(seconds / MILLI),
        iteration_seconds=MILLI,
        scaling=dict(enumerate(speeds, start=1)),
    )


def mean_completion(jobs: list[Job], gpus: int, policy: str) -> float:
    cluster = Cluster(nodes=(Node(id="n0", gpus=gpus),))
    return float(replay_afs(Workload(name="", jobs=tuple(jobs)), cluster, policy).jobs.completion.mean())


@pytest.mark.parametrize(("policy", "mean"), [("afs-l", 10.082305), ("optimus", 12.037037), ("srtf-elastic", 9.722222)])
def test_two_jobs_of_known_means(policy: str, mean: float) -> None:
    """Work 10 and 30 at speed 1 on three GPUs."""
    jobs = [job("a", 0.0, 10.0, 1, 1.0, 1.8, 2.4), job("b", 0.0, 30.0, 1, 1.0, 1.9, 2.7)]
    assert mean_completion(jobs, 3, policy) == pytest.approx(mean, abs=5e-7)


def test_a_job_has_all_it_asks_for_or_nothing() -> None:
    """Three seconds on both GPUs, then two on one of them."""
    jobs = [job("a", 0.0, 3.0, 2, 1.0, 2.0), job("b", 0.0, 2.0, 1, 1.0, 2.0)]
    assert mean_completion(jobs, 2, "fifo") == pytest.approx((3 + 5) / 2)
    assert mean_completion(jobs, 2, "srtf") == pytest.approx((5 + 2) / 2)


def test_tiresias_demotes_at_a_limit_of_gpu_seconds() -> None:
    """After 100 s the first job has had 100 GPU seconds and makes room for the second."""
    jobs = [job("a", 0.0, 1000.0, 1, 1.0), job("b", 10.0, 50.0, 1, 1.0)]
    cluster = Cluster(nodes=(Node(id="n0", gpus=1),))
    outcome = replay_afs(Workload(name="", jobs=tuple(jobs)), cluster, "tiresias:queues=100")
    assert outcome.jobs.started.tolist() == [0.0, 100.0]
    assert outcome.jobs.ended == pytest.approx([1050.0, 150.0])


def test_jobs_of_unknown_length_take_turns() -> None:
    """One GPU, quanta of 10 s: the second job runs from 10 to 20, and both are done at 40."""
    jobs = [job("a", 0.0, 20.0, 1, 1.0), job("b", 0.0, 20.0, 1, 1.0)]
    cluster = Cluster(nodes=(Node(id="n0", gpus=1),))
    outcome = replay_afs(Workload(name="", jobs=tuple(jobs)), cluster, "afs-p:quantum=10")
    assert outcome.jobs.started.tolist() == [0.0, 10.0]
    assert outcome.jobs.ended == pytest.approx([30.0, 40.0])


def test_the_quantum_of_a_job_that_is_gone_is_no_event() -> None:
    """The first job ends in its quantum, at 4; the second runs from there, with a quantum's end at 14, until 19."""
    jobs = [job("a", 0.0, 4.0, 1, 1.0), job("b", 0.0, 15.0, 1, 1.0)]
    cluster = Cluster(nodes=(Node(id="n0", gpus=1),))
    outcome = replay_afs(Workload(name="", jobs=tuple(jobs)), cluster, "afs-p:quantum=10")
    assert outcome.jobs.ended == pytest.approx([4.0, 19.0])
    assert outcome.rounds == 3  # at 0, 4 and 14, not at 10


def test_a_share_given_while_jobs_were_few_is_kept_to_the_end_of_its_quantum() -> None:
    """Two GPUs, quanta of 100 s.

    The first job has both from 0. At 10 there are as many jobs as GPUs, so it keeps them until its quantum ends at 100
    and the second waits. From then on each has one. At 110 the second is done and the first has both again: by then it
    has done 200 + 10 of its 400, and the rest takes 95 s.
    """
    jobs = [job("a", 0.0, 400.0, 1, 1.0, 2.0), job("b", 10.0, 10.0, 1, 1.0)]
    cluster = Cluster(nodes=(Node(id="n0", gpus=2),))
    outcome = replay_afs(Workload(name="", jobs=tuple(jobs)), cluster, "afs-p:quantum=100")
    assert outcome.jobs.started.tolist() == [0.0, 100.0]
    assert outcome.jobs.ended == pytest.approx([205.0, 110.0])


def test_quanta_begin_anew_at_every_decision_while_jobs_are_few() -> None:
    """As above, but a third job comes and goes from 40 to 45, on three GPUs; the quantum of the first then ends at 145.

    On three GPUs the first has three from 0, two and one with the third job (tails or heads, none can tell), three from
    45. At 50 two more make as many jobs as GPUs. They wait for the end of its quantum, at 145, not at 100.
    """
    jobs = [
        job("a", 0.0, 1000.0, 1, 1.0, 2.0, 3.0),
        job("b", 40.0, 5.0, 1, 1.0),
        job("c", 50.0, 7.0, 1, 1.0),
        job("d", 50.0, 9.0, 1, 1.0),
    ]
    cluster = Cluster(nodes=(Node(id="n0", gpus=3),))
    outcome = replay_afs(Workload(name="", jobs=tuple(jobs)), cluster, "afs-p:quantum=100")
    assert outcome.jobs.started.tolist() == [0.0, 40.0, 145.0, 145.0]
    assert outcome.jobs.ended[1:] == pytest.approx([45.0, 152.0, 154.0])


@pytest.mark.parametrize("seed", range(8))
def test_the_seed_tosses_the_coin_between_jobs_of_unknown_length(seed: int) -> None:
    """Three GPUs, two jobs that double: the one toss, at the start, gives the third GPU to either."""
    jobs = [job("short", 0.0, 20.0, 1, 1.0, 2.0), job("long", 0.0, 40.0, 1, 1.0, 2.0)]
    cluster = Cluster(nodes=(Node(id="n0", gpus=3),))
    outcome = replay_afs(Workload(name="", jobs=tuple(jobs)), cluster, "afs-p", seed=seed)
    to_long = np.random.default_rng(seed).integers(0, 2) == 1
    assert outcome.jobs.ended == pytest.approx([20.0, 20.0] if to_long else [10.0, 25.0])
    assert outcome.seed == seed
    again = replay(Workload(name="", jobs=tuple(jobs)), cluster, "afs-p", clock="afs", seed=seed)
    assert again.jobs.ended.tolist() == outcome.jobs.ended.tolist()


def test_a_policy_the_clock_does_not_know_is_refused() -> None:
    with pytest.raises(InputError, match="clock 'afs'"):
        mean_completion([job("a", 0.0, 1.0, 1, 1.0)], 1, "rubick")


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Return a few jobs with any speeds on up to four GPUs."""
    jobs, submitted = [], 0.0
    for place in range(draw(st.integers(1, 8))):
        submitted += draw(st.integers(0, 50))
        speeds = draw(st.lists(st.integers(1, 9).map(float), min_size=1, max_size=4))
        gpus = draw(st.integers(1, len(speeds)))
        jobs.append(job(f"j{place}", submitted, draw(st.integers(1, 400)), gpus, *speeds))
    return Workload(name="drawn", jobs=tuple(jobs))


@given(jobs=workloads(), policy=st.sampled_from(POLICIES))
def test_every_job_ends_within_capacity(jobs: Workload, policy: str) -> None:
    cluster = Cluster(nodes=(Node(id="n0", gpus=4),))
    outcome = replay_afs(jobs, cluster, policy)
    found, notes = outcome.jobs, outcome.timeline
    assert np.isfinite(found.ended).all()
    assert (found.started >= found.submitted).all()
    assert (notes.busy <= 4).all()
    assert notes.busy[-1] == 0
    busy = float((notes.busy[:-1] * np.diff(notes.seconds)).sum())
    assert found.gpu_seconds.sum() == pytest.approx(busy, rel=1e-9)
    assert (found.capacity >= -1e-6).all()
    if policy in INELASTIC_ORDERS:
        assert found.held == pytest.approx(found.ideal, rel=1e-9)
