"""The chapter of deadlines: mutants of right answers are told by rule, values are worked out by hand, bounds hold."""

from __future__ import annotations

import pytest
from by_policy import broken_rules, decision_value, wrong_reasons
from deadline_brute_force import INTERVAL, deadline_decisions
from deadline_rounds import GROUPS, deadline_round
from msgspec.structs import replace

from muri_opt import Assignment, Cluster, Decision, InputError, Job, Node, Round, read_round, solve_round, verify
from muri_opt.rounds import Waiting, WaitingReason, Within
from muri_opt.verify import chapter_of

SPEC = f"deadline:interval={INTERVAL}"
TABLE = {1: 1.0, 2: 2.0, 3: 2.5}
RUNS = {"state": "running", "placement": {"n0": 2}}


def one(here: Cluster | None = None, **said: object) -> Round:
    nodes = tuple(Node(id=f"n{s}", gpus=4, gpu_type="a", rack=f"r{s}") for s in range(2))
    given = {"id": "j0", "gpus": 1, "scaling": TABLE, "remaining_iterations": 9, "deadline": 130.0}
    cluster = here or Cluster(nodes=nodes, levels=("rack",))
    return Round(format="muri-opt/round/2", now=100.0, cluster=cluster, jobs=(Job(**given | said),))


def second(**said: object) -> Cluster:
    """Return two nodes, of which the second has more said of it."""
    nodes = one().cluster.nodes
    return Cluster(nodes=(nodes[0], replace(nodes[1], **said)), levels=("rack",))


def given(gpus: dict[str, int] | None, period: float | None = None) -> Decision:
    if gpus is None:
        return Decision(waiting=(Waiting(job="j0", reason=WaitingReason.PRIORITY, detail="", remedy=""),))
    speed = TABLE.get(sum(gpus.values()), 1.0)
    return Decision(assignments=(Assignment(jobs=("j0",), gpus=gpus, period_seconds=period or 1 / speed),))


MUTANTS = {
    "share": (one(), {"n0": 4}),
    "share/gang": (one(scaling=None, iteration_seconds=1.0, gpus=2), {"n0": 1}),
    "gpu-capacity": (one(second(gpus=1)), {"n1": 2}),
    "gpu-type/mixed": (one(second(gpu_type="b")), {"n0": 1, "n1": 1}),
    "gpu-type/asked": (one(second(gpu_type="b"), gpu_types=("a",)), {"n1": 2}),
    "labels/lacking": (one(second(labels=("x",)), requires=("x",)), {"n0": 2}),
    "labels/excluded": (one(second(labels=("x",)), excludes=("x",)), {"n1": 2}),
    "within": (one(within=Within(level="rack")), {"n0": 1, "n1": 1}),
    "node-state/drain": (one(second(state="drain")), {"n1": 2}),
    "node-state/down": (one(second(state="down")), {"n1": 2}),
    "available-until": (one(second(available_until=120.0), time_limit_seconds=21.0), {"n1": 2}),
    "held": (one(held="asked"), {"n0": 2}),
    "not-before": (one(not_before=101.0), {"n0": 2}),
    "movable": (one(movable=False, **RUNS), {"n1": 2}),
    "movable/resized": (one(movable=False, **RUNS), {"n0": 1}),
    "preemptible": (one(preemptible=False, movable=True, **RUNS), None),
    "preemptible/resized": (one(preemptible=False, movable=True, **RUNS), {"n0": 3}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_decision_that_breaks_one_rule_is_told_which(name: str) -> None:
    round_, gpus = MUTANTS[name]
    period = 1.0 if round_.jobs[0].scaling is None else None
    found = broken_rules(round_, given(gpus, period), SPEC)
    assert {breach.rule for breach in found} == {name.partition("/")[0]}
    for method in ("heuristic", "exact"):
        assert solve_round(round_, SPEC, method).certificate.violations == ()


def test_a_wrong_period_and_wrong_reasons_are_told() -> None:
    assert [breach.rule for breach in broken_rules(one(), given({"n0": 2}, 2.0), SPEC)] == ["period"]
    waits = Waiting(job="j0", reason=WaitingReason.CAPACITY, detail="", remedy="")
    assert [breach.rule for breach in wrong_reasons(one(), Decision(waiting=(waits,)), SPEC)] == ["waiting-reason"]
    held = Waiting(job="j0", reason=WaitingReason.HELD, detail="", remedy="")
    assert wrong_reasons(one(held="x"), Decision(waiting=(held,)), SPEC) == []


def test_values_are_those_worked_out_by_hand() -> None:
    # One deadline, and speed of at most 2,500: a rank weighs 2,501, a deadline twice that, a lost one four times that.
    lost = 4 * 2501
    round_ = one(deadline=106.0)
    assert decision_value(round_, SPEC, given({"n0": 1})) == 1000  # 9 s
    assert decision_value(round_, SPEC, given({"n0": 2})) == 2000 + 2501 + 5002 + lost  # 4.5 s: in time, and no later
    relaxed = one(deadline=107.6)
    assert decision_value(relaxed, SPEC, given({"n0": 2})) == 2000 + 2501 + 5002  # 3.6 s and the interval still do
    runs = one(deadline=106.0, restart_seconds=2.0, **RUNS)
    assert decision_value(runs, SPEC, given({"n0": 2})) == 2000 + 2501 + 5002 + lost
    assert decision_value(runs, SPEC, given({"n1": 2})) == 1000  # late by the restart, and idle for half the interval
    assert decision_value(one(deadline=99.0), SPEC, given({"n0": 3})) == 2500


def test_a_result_with_another_value_or_an_optimum_that_is_none_is_told() -> None:
    round_ = read_round("instances/toy/four-deadlines.json")
    result = solve_round(round_, "deadline", "heuristic")
    assert verify(round_, result).violations == ()
    other = replace(result, value=result.value + 1)
    assert "value" in {breach.rule for breach in verify(round_, other).violations}
    claimed = replace(result, bound=result.value, gap=0.0)
    assert {breach.rule for breach in verify(round_, claimed).violations} == {"bound"}


@pytest.mark.parametrize("group", GROUPS)
def test_the_rules_allow_what_the_definitions_allow_and_nothing_else(group: str) -> None:
    """Every way to give one job GPUs beside the others waiting is allowed or not, as brute force says."""
    for seed in range(25):
        round_ = deadline_round(seed, group, most_jobs=1)
        names = [node.id for node in round_.cluster.nodes]
        worths = {tuple(sorted(runs.items())): value for value, runs in deadline_decisions(round_)}
        chapter = chapter_of(round_, {"chapter": "deadline", "interval": str(INTERVAL)})
        (job,) = round_.jobs
        splits = [(0,) * len(names)]
        for place, node in enumerate(round_.cluster.nodes):
            splits = [(*s[:place], k, *s[place + 1 :]) for s in splits for k in range(node.gpus + 1)]
        for split in splits:
            runs = {job.id: split} if sum(split) else {}
            gpus = {name: k for name, k in zip(names, split, strict=True) if k}
            empty = Waiting(job=job.id, reason=WaitingReason.PRIORITY, detail="", remedy="")
            made = (
                Decision(assignments=(Assignment(jobs=(job.id,), gpus=gpus),)) if runs else Decision(waiting=(empty,))
            )
            decision = chapter.completed(made)
            key = tuple(sorted(runs.items()))
            assert (chapter.breaches(decision) == []) == (key in worths), (seed, split)
            if key in worths:
                assert chapter.value(decision) == worths[key]


def test_what_values_need_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="remaining_iterations"):
        decision_value(one(remaining_iterations=None), SPEC, given({"n0": 1}))
    with pytest.raises(InputError, match="interval"):
        chapter_of(one(), {"chapter": "deadline", "interval": "0"})
