"""A job that goes on as it is runs by the plan for the GPU type of its nodes, or is refused by name."""

from __future__ import annotations

import pytest

from muri_opt import Cluster, InputError, Job, Node, Plan, Round, solve_round

POLICIES = ("rubick", "synergy", "antman", "sia", "equal-share", "srs", "aiturbo", "optimus-ps")
KNOWN = {"submitted": 0.0, "remaining_iterations": 60, "executed_seconds": 0.0, "restart_seconds": 5.0}


def fixed(*plans: Plan) -> Round:
    """Return a node of two H100 and four CPUs, a job on one of them that may not be moved, and one that waits."""
    runs = Job(id="a", gpus=1, state="running", placement={"n0": 1}, plans=plans, plan="p", movable=False, **KNOWN)
    waits = Job(id="b", gpus=1, plans=(Plan(name="p", gpus=1, cpus=3, throughput=1.0),), plan="p", **KNOWN)
    return Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2, cpus=4, gpu_type="h100"),)), jobs=(runs, waits))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_plan_for_another_type_is_refused(policy: str) -> None:
    round_ = fixed(Plan(name="p", gpus=1, gpu_type="a100", throughput=1.0))
    with pytest.raises(InputError, match=r"jobs\[0\] \('a'\).plan: .* of a type that it is for"):
        solve_round(round_, policy, "heuristic")


@pytest.mark.parametrize("policy", [*POLICIES, "joint-s"])
def test_of_plans_of_one_name_it_is_the_one_for_the_type(policy: str) -> None:
    small = Plan(name="p", gpus=1, cpus=1, gpu_type="a100", throughput=1.0)
    large = Plan(name="p", gpus=1, cpus=2, gpu_types=("h100", "v100"), throughput=1.0)
    result = solve_round(fixed(small, large), policy, "heuristic")
    assert result.certificate.violations == ()
    assert [dict(one.cpus) for one in result.answer.assignments] == [{"n0": 2.0}]
