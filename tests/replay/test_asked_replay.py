"""A replay of jobs that ask for nodes: every round of it keeps what they ask."""

from __future__ import annotations

import pytest

from muri_opt.replay import Workload, replay
from muri_opt.rounds import Cluster, Job, Node

CLUSTER = Cluster(
    nodes=(
        Node(id="a0", gpus=4, gpu_type="a", labels=("x",)),
        Node(id="a1", gpus=4, gpu_type="a"),
        Node(id="b0", gpus=4, gpu_type="b", state="drain"),
        Node(id="b1", gpus=4, gpu_type="b"),
    )
)


def job(name: str, gpus: int, submitted: float, **said: object) -> Job:
    return Job(id=name, gpus=gpus, submitted=submitted, remaining_iterations=100, iteration_seconds=1.0, **said)


@pytest.mark.parametrize("policy", ["fifo", "srtf", "max-min"])
def test_jobs_take_their_turns_where_they_may_run(policy: str) -> None:
    jobs = (
        job("first", 4, 0.0, gpu_types=("b",)),
        job("second", 4, 1.0, gpu_types=("b",)),
        job("urgent", 4, 2.0, gpu_types=("b",), priority=5, preemptible=False),
        job("wide", 8, 3.0, even=True),
        job("labelled", 2, 4.0, requires=("x",)),
    )
    outcome = replay(Workload(name="asked", jobs=jobs), CLUSTER, policy)
    ends = dict(zip(outcome.jobs.ids, outcome.jobs.ended.tolist(), strict=True))
    # One node of type b takes jobs: they run one after another, and the larger priority is not the last.
    assert ends["urgent"] < max(ends["first"], ends["second"])
    assert max(ends["first"], ends["second"], ends["urgent"]) >= 300.0
    # Eight GPUs of one type are those of the nodes a0 and a1, all of them.
    assert min(ends["wide"], ends["labelled"]) + 100.0 <= max(ends["wide"], ends["labelled"])
