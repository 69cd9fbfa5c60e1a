"""The verifier's rules for plans whose parts are of two sizes, and what is refused as no such plan."""

from __future__ import annotations

import json

import pytest
from by_policy import broken_rules, decision_value, enumerated_optimum, wrong_reasons
from msgspec.structs import replace

from muri_opt import Guarantee, InputError, parse_round, solve_round
from muri_opt.report.round.occupancy import node_uses
from muri_opt.rounds import Assignment, Cluster, Decision, Job, Node, Plan, Round, canonical_json

SPECS = ("rubick", "sia", "srs", "synergy", "antman", "equal-share")
FIVE = Plan(name="dp5", gpus=5, nodes=2, cpus=6.0, memory_gib=2.5, throughput=5.0)
"""Parts of 3 GPUs with 3.6 CPUs and 1.5 GiB, and of 2 with 2.4 CPUs and 1 GiB."""
CPUS = {3: 3.6, 2: 2.4}
SIZES = {"n0": (4, 8.0, 4.0), "n1": (4, 3.0, 4.0), "n2": (2, 8.0, 4.0), "n3": (4, 8.0, 1.25)}


def round_of(job: Job, *nodes: str) -> Round:
    boxes = [Node(id=node, gpus=gpus, cpus=cpus, memory_gib=gib) for node, (gpus, cpus, gib) in SIZES.items()]
    return Round(cluster=Cluster(nodes=tuple(box for box in boxes if not nodes or box.id in nodes)), jobs=(job,))


def job(**said: object) -> Job:
    return Job(**{"id": "a", "gpus": 5, "plan": "dp5", "plans": (FIVE,), "remaining_iterations": 1000} | said)


def placed(gpus: dict[str, int], cpus: dict[str, float] | None = None) -> Decision:
    """Return the decision in which the job runs so, with the CPUs of its parts if no others are given."""
    given = {node: CPUS.get(count, 0.0) for node, count in gpus.items()} if cpus is None else cpus
    return Decision(assignments=(Assignment(jobs=("a",), plan="dp5", gpus=gpus, cpus=given),))


MUTANTS = {
    "plan/other-parts": (placed({"n0": 4, "n1": 1}), {"plan"}),
    "plan/two-larger-parts": (placed({"n0": 3, "n3": 3}), {"plan"}),
    "plan/three-nodes": (placed({"n0": 2, "n1": 2, "n2": 1}), {"plan"}),
    "cpus/of-the-other-part": (placed({"n0": 3, "n1": 2}, {"n0": 2.4, "n1": 3.6}), {"cpus-with-gpus"}),
    "cpus/equal": (placed({"n0": 3, "n1": 2}, {"n0": 3.0, "n1": 3.0}), {"cpus-with-gpus"}),
    "room/gpus": (placed({"n0": 2, "n2": 3}), {"gpu-capacity"}),
    "room/cpus": (placed({"n0": 2, "n1": 3}), {"cpu-capacity"}),
    "room/memory": (placed({"n0": 2, "n3": 3}), {"memory-capacity"}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_an_uneven_plan_that_breaks_one_rule_is_told_which(name: str) -> None:
    decision, rules = MUTANTS[name]
    assert {breach.rule for breach in broken_rules(round_of(job()), decision, "rubick")} == rules


@pytest.mark.parametrize("other", ["n1", "n2", "n3"])
@pytest.mark.parametrize("method", ["heuristic", "exact"])
@pytest.mark.parametrize("spec", SPECS)
def test_the_larger_part_is_where_it_has_room(spec: str, method: str, other: str) -> None:
    result = solve_round(round_of(job(), "n0", other), spec, method)
    (found,) = result.decision.assignments
    assert found.gpus == {"n0": 3, other: 2}
    assert found.cpus == {"n0": 3.6, other: 2.4}
    assert result.certificate.violations == ()
    assert broken_rules(round_of(job()), result.decision, spec) == []


def test_parts_keep_their_nodes_or_the_job_restarts() -> None:
    stays, swapped = {"n0": 2, "n3": 3}, {"n0": 3, "n3": 2}
    boxes = Cluster(nodes=(Node(id="n0", gpus=4), Node(id="n3", gpus=4)))
    running = job(state="running", placement=stays, restart_seconds=60.0)
    round_ = Round(cluster=boxes, jobs=(running,))
    assert decision_value(round_, "rubick", placed(stays)) == 1_000_000
    assert decision_value(round_, "rubick", placed(swapped)) == 900_000
    for spec in SPECS:
        for method in ("heuristic", "exact"):
            result = solve_round(round_, spec, method)
            assert result.decision.assignments[0].gpus == stays
            assert result.certificate.violations == ()


def test_a_job_that_may_not_be_stopped_goes_on_in_uneven_parts() -> None:
    held = {"n0": 2, "n3": 3}
    boxes = Cluster(nodes=(Node(id="n0", gpus=4, cpus=4.0), Node(id="n3", gpus=4, cpus=4.0)))
    running = job(state="running", placement=held, preemptible=False)
    small = Plan(name="dp1", gpus=1, cpus=1.0, throughput=1.0)
    others = [Job(id=f"b{j}", gpus=1, plan="dp1", plans=(small,), remaining_iterations=9) for j in range(3)]
    round_ = Round(cluster=boxes, jobs=(running, *others))
    for spec in SPECS:
        for method in ("heuristic", "exact"):
            result = solve_round(round_, spec, method)
            (kept,) = (one for one in result.decision.assignments if one.jobs == ("a",))
            assert (kept.gpus, kept.cpus) == (held, {"n0": 2.4, "n3": 3.6})
            assert [dict(one.gpus) for one in result.decision.assignments if one.jobs != ("a",)] == [{"n0": 1}]
            assert result.certificate.violations == ()


def boxes_of(*gpus: int) -> Cluster:
    return Cluster(nodes=tuple(Node(id=f"n{s}", gpus=count) for s, count in enumerate(gpus)))


def other(gpus: int, **said: object) -> Job:
    plan = Plan(name="one", gpus=gpus, throughput=1.0)
    return Job(**{"id": "b", "gpus": gpus, "plan": "one", "plans": (plan,), "remaining_iterations": 9} | said)


def test_a_larger_part_is_a_part() -> None:
    # Parts of 2 on the small nodes and one GPU more on the large one would fit beside the other job.
    round_ = Round(cluster=boxes_of(2, 2, 4), jobs=(job(), other(3)))
    result = solve_round(round_, "rubick", "exact")
    assert (result.value, result.certificate.violations) == (1_000_000, ())
    assert enumerated_optimum(round_, "rubick", steps=10_000) == 1_000_000


def test_a_plan_of_two_sizes_replaces_no_smaller_one() -> None:
    plans = (Plan(name="dp3", gpus=3, nodes=2, throughput=3.0), Plan(name="dp2", gpus=2, nodes=2, throughput=2.0))
    asked = job(gpus=3, plan="dp3", plans=plans)
    round_ = Round(cluster=boxes_of(2, 1), jobs=(asked, other(1, guarantee=Guarantee(throughput=1.0))))
    result = solve_round(round_, "rubick", "exact")
    assert sorted(one.plan for one in result.decision.assignments) == ["dp2", "one"]


def test_equal_nodes_with_parts_of_two_sizes_are_not_alike() -> None:
    running = job(state="running", placement={"n0": 3, "n1": 2}, restart_seconds=60.0)
    round_ = Round(cluster=boxes_of(4, 4), jobs=(other(2), running))
    assert enumerated_optimum(round_, "rubick", steps=10_000) == 2_000_000
    assert solve_round(round_, "rubick", "exact").value == 2_000_000


def test_room_for_smaller_parts_alone_is_no_room() -> None:
    round_ = Round(cluster=boxes_of(2, 2, 2), jobs=(job(),))
    decision = solve_round(round_, "rubick", "heuristic").decision
    assert [wait.reason.value for wait in decision.waiting] == ["capacity"]
    assert wrong_reasons(round_, decision, "rubick") == []
    assert decision_value(round_of(job()), "rubick", placed({"n0": 3, "n3": 3})) == 0


def test_what_a_node_has_in_use_is_that_of_its_part() -> None:
    round_ = round_of(job(), "n0", "n2")
    uses = node_uses(round_, solve_round(round_, "rubick", "exact").decision)
    assert [(use.blocks[0].gpus, use.blocks[0].cpus, use.memory_gib) for use in uses] == [(3, 3.6, 1.5), (2, 2.4, 1.0)]


def test_what_is_no_uneven_plan_is_refused() -> None:
    with pytest.raises(InputError, match="nodes: found 4 for 3 GPUs"):
        Plan(name="dp3", gpus=3, nodes=4, throughput=1.0)
    with pytest.raises(InputError, match=r"plans\[0\]\.nodes: found 2 for 5 GPUs of a job that is even"):
        job(even=True)
    round_ = round_of(job())
    assert round_.format == "muri-opt/round/2"
    assert round_.used_fields == {"plan.nodes": "jobs[0] ('a')"}
    text = json.loads(canonical_json(round_))
    assert parse_round(json.dumps(text).encode()) == round_
    with pytest.raises(InputError, match=r"with plan\.nodes"):
        parse_round(json.dumps(text | {"format": "muri-opt/round/1"}).encode())
    even = replace(round_, jobs=(job(plans=(replace(FIVE, gpus=4),)),))
    assert even.format == "muri-opt/round/1"
