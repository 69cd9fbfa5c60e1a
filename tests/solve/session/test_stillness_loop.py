"""The loop of the stillness benchmark: list policies change nothing needlessly, and a needless change is found."""

from __future__ import annotations

import pytest

from benchmarks.stillness import needless, run
from muri_opt import Assignment, Cluster, Decision, Job, Limits, Node, Round, policy_from

POLICIES = ("fifo", "srtf", "srsf", "las:nodes=fewest", "max-min", "fair-share", "tiresias")


@pytest.mark.parametrize("policy", POLICIES)
def test_list_policies_change_nothing_that_could_be_undone_alone(policy: str) -> None:
    found = run(policy, "heuristic", rounds=6, jobs=24, nodes=3, seed=1, limits=Limits(seconds=None))
    assert found.needless == 0
    assert found.counts["start"] > 24 // 4
    assert found.restart_gpu_seconds == 0 or found.counts["stop"] + found.counts["move"]


def test_a_move_for_nothing_and_a_stop_for_nothing_are_needless_and_one_for_another_job_is_not() -> None:
    fields = {"remaining_iterations": 10, "iteration_seconds": 1.0, "restart_seconds": 30.0}
    runs = Job(id="runs", gpus=2, state="running", placement={"n0": 2}, **fields)
    waits = Job(id="waits", gpus=4, **(fields | {"remaining_iterations": 1}))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4), Node(id="n1", gpus=4))), jobs=(runs, waits))
    rules = policy_from("srtf:nodes=fewest").rules

    def decided(**places: dict[str, int]) -> list[str]:
        some = tuple(Assignment(jobs=(job,), gpus=gpus, period_seconds=1.0) for job, gpus in places.items())
        return needless(round_, rules, Decision(assignments=some))

    assert decided(runs={"n1": 2}) == ["runs"]
    assert decided(waits={"n1": 4}) == ["runs"]
    assert decided(runs={"n1": 2}, waits={"n0": 4}) == []
    assert decided(runs={"n0": 2}, waits={"n1": 4}) == []
