"""The clock of the Muri authors' simulator, on schedules worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node
from muri_opt.errors import InputError
from muri_opt.replay import Workload
from muri_opt.replay.clocks.muri_clock import replay_muri
from muri_opt.replay.clocks.muri_task import SOLO
from muri_opt.systems.muri.interleaving import group_periods

ONE_GPU = Cluster(nodes=(Node(id="n0", gpus=1),))
TWO_NODES = Cluster(nodes=(Node(id="n0", gpus=8), Node(id="n1", gpus=8)))
POLICIES = ("srtf", "srsf", "tiresias", "muri-s:preset=authors", "muri-l:preset=authors")


def job(name: str, submitted: float, iterations: int, **more: object) -> Job:
    """Return a job of one-second iterations (1.015 in the simulator) that restarts in no time unless told."""
    fields = {"gpus": 1, "iteration_seconds": 1.0, "restart_seconds": 0.0, "stage_seconds": (0.3, 0.3, 0.3), **more}
    return Job(id=name, submitted=submitted, remaining_iterations=iterations, **fields)


def workload(*jobs: Job) -> Workload:
    return Workload(name="by hand", jobs=jobs, resources=("data", "gpu", "network"))


def test_a_job_alone_takes_its_iterations_a_little_slower_than_measured() -> None:
    outcome = replay_muri(workload(job("a", 10.0, 100)), ONE_GPU, "srtf")
    assert outcome.jobs.ended.tolist() == [10.0 + 100 * SOLO]
    assert outcome.jobs.started.tolist() == [10.0]


def test_the_shorter_job_preempts_and_every_event_charges_the_running_job() -> None:
    """a runs 100 s, of which 5 s are lost at the event at 100; b runs 10 iterations; then a has 5 + 5 more to pay."""
    jobs = workload(job("a", 0.0, 1000, restart_seconds=5.0), job("b", 100.0, 10))
    outcome = replay_muri(jobs, ONE_GPU, "srtf")
    done = 95 / SOLO
    b_ends = 100 + 10 * SOLO
    assert outcome.jobs.ended[1] == pytest.approx(b_ends, rel=1e-12)
    assert outcome.jobs.ended[0] == pytest.approx(b_ends + (1000 - done) * SOLO, rel=1e-12)
    assert outcome.jobs.preemptions.tolist() == [1, 0]
    assert outcome.jobs.restarts.tolist() == [1, 0]
    assert outcome.jobs.lost.tolist() == [5.0, 0.0]


def test_srsf_counts_gpus() -> None:
    wide, narrow = job("wide", 0.0, 100, gpus=8), job("narrow", 0.0, 300)
    one_node = Cluster(nodes=(Node(id="n0", gpus=8),))
    by_time = replay_muri(workload(wide, narrow), one_node, "srtf")
    by_service = replay_muri(workload(wide, narrow), one_node, "srsf")
    assert by_time.jobs.started.tolist() == [0.0, 100 * SOLO]
    assert by_service.jobs.started.tolist() == [300 * SOLO, 0.0]


def test_tiresias_demotes_at_its_limits() -> None:
    """The first job leaves the first queue after 3,250 s, so a later one overtakes it."""
    outcome = replay_muri(workload(job("a", 0.0, 10_000), job("b", 1000.0, 1000)), ONE_GPU, "tiresias")
    assert outcome.jobs.started.tolist() == [0.0, 3250.0]
    assert outcome.jobs.ended[1] == pytest.approx(3250 + 1000 * SOLO, rel=1e-12)


def test_a_job_of_more_gpus_than_a_node_takes_whole_nodes() -> None:
    outcome = replay_muri(workload(job("a", 0.0, 10, gpus=16), job("b", 0.0, 20)), TWO_NODES, "srtf")
    assert outcome.jobs.started.tolist() == [0.0, 10 * SOLO]


def test_muri_lets_jobs_share_when_they_ask_for_more_than_there_is() -> None:
    """Two jobs of complementary stages interleave: both run from the start, each at the period of the pair."""
    heavy_data = job("data", 0.0, 100, stage_seconds=(0.9, 0.05, 0.05))
    heavy_gpu = job("gpu", 0.0, 100, stage_seconds=(0.05, 0.9, 0.05))
    outcome = replay_muri(workload(heavy_data, heavy_gpu), ONE_GPU, "muri-s:preset=authors")
    stages = np.array([[[900_000, 50_000, 50_000], [50_000, 900_000, 50_000]]])
    period = group_periods(stages, "muri-4slot").microseconds[0] / 1e6 * 1.33 / 1.015
    assert outcome.jobs.started.tolist() == [0.0, 0.0]
    assert outcome.jobs.ended == pytest.approx([100 * period] * 2, rel=1e-12)
    assert outcome.jobs.gpu_seconds.sum() == pytest.approx(outcome.jobs.ended.max(), rel=1e-12)


def test_an_arrival_and_an_end_of_one_moment_are_one_event() -> None:
    outcome = replay_muri(workload(job("a", 0.0, 100), job("b", 101.5, 100)), ONE_GPU, "muri-s:preset=authors")
    assert 100 * SOLO != 101.5  # they differ by a rounding
    assert outcome.rounds == 3
    assert outcome.jobs.started.tolist() == [0.0, 101.5]


def test_a_policy_the_simulator_does_not_know_is_refused() -> None:
    with pytest.raises(InputError, match="clock 'muri'"):
        replay_muri(workload(job("a", 0.0, 1)), ONE_GPU, "rubick")


def test_a_job_larger_than_the_cluster_is_refused() -> None:
    with pytest.raises(InputError, match="at most the 1 GPUs"):
        replay_muri(workload(job("a", 0.0, 1, gpus=2)), ONE_GPU, "srtf")


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Return a few jobs of sizes that fit two nodes of 8 GPUs."""
    stage = st.integers(1, 900).map(lambda milli: milli / 1000)
    jobs = []
    submitted = 0.0
    for place in range(draw(st.integers(1, 9))):
        submitted += draw(st.integers(0, 500))
        fields = {
            "gpus": draw(st.sampled_from([1, 2, 4, 8, 16])),
            "restart_seconds": float(draw(st.integers(0, 20))),
            "stage_seconds": draw(st.tuples(stage, stage, stage)),
            "iteration_seconds": draw(stage),
        }
        jobs.append(job(f"j{place}", submitted, draw(st.integers(1, 5000)), **fields))
    return workload(*jobs)


@given(jobs=workloads(), policy=st.sampled_from(POLICIES))
def test_every_job_ends_and_no_gpu_is_used_twice(jobs: Workload, policy: str) -> None:
    outcome = replay_muri(jobs, TWO_NODES, policy)
    found, notes = outcome.jobs, outcome.timeline
    assert np.isfinite(found.ended).all()
    assert (found.started >= found.submitted).all()
    assert (notes.busy <= 16).all()
    assert notes.busy[-1] == notes.queue[-1] == 0
    busy = float((notes.busy[:-1] * np.diff(notes.seconds)).sum())
    assert found.gpu_seconds.sum() == pytest.approx(busy, rel=1e-9, abs=1e-6)
    alone = found.ideal * SOLO
    if not policy.startswith("muri"):
        assert (found.completion >= alone * (1 - 1e-9)).all()


@given(jobs=workloads(), policy=st.sampled_from(POLICIES))
def test_the_same_replay_twice_is_the_same(jobs: Workload, policy: str) -> None:
    once, again = (replay_muri(jobs, TWO_NODES, policy) for _ in range(2))
    assert once.jobs.ended.tolist() == again.jobs.ended.tolist()
