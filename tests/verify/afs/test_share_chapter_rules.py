"""Wrong answers of elastic policies are found out, each by the rule it breaks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from alterations import changed_first, claiming, decided, replace, rules_broken_by, with_assignments, with_duals
from by_policy import under
from elastic_draws import elastic, elastic_rounds, round_with
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import (
    Assignment,
    Decision,
    Node,
    Reason,
    Result,
    Round,
    Tenant,
    Waiting,
    WaitingReason,
    solve_round,
    verify,
)
from muri_opt.rounds import Proof

LINEAR = (1, 2, 3, 4)


def answer(round_: Round, policy: str = "afs-l", method: str = "heuristic") -> Result:
    result = solve_round(round_, policy, method)
    assert rules_broken_by(round_, result) == set()
    return result


def one(job: str, gpus: dict[str, int], period: float, **fields: object) -> Assignment:
    return Assignment(jobs=(job,), gpus=gpus, period_seconds=period, **fields)


ROUND = round_with(
    [Node(id="n0", gpus=4, cpus=4, memory_gib=8), Node(id="n1", gpus=4)],
    [
        elastic(0, LINEAR, cpus=1, tenant="a"),
        elastic(1, (1, 1.5), iteration_seconds=0.75, gpus=2, tenant="a"),
        elastic(2, (1, 1.2), memory_gib=2),
        elastic(3, LINEAR, tenant="b"),
    ],
    [Tenant(id="a", quota_gpus=5), Tenant(id="b", quota_gpus=0)],
)


def test_the_answer_to_be_broken() -> None:
    assert decided(answer(ROUND)) == Decision(
        assignments=(
            one("j0", {"n0": 3}, 1 / 3, cpus={"n0": 3.0}),
            one("j1", {"n1": 2}, 0.75),
            one("j2", {"n1": 2}, 1 / 1.2),
        ),
        waiting=decided(answer(ROUND)).waiting,
    )
    assert [(wait.job, wait.reason) for wait in decided(answer(ROUND)).waiting] == [("j3", WaitingReason.QUOTA)]


@pytest.mark.parametrize(
    ("rule", "place", "fields"),
    [
        ("share", 1, {"gpus": {"n1": 3}}),
        ("share", 1, {"gpus": {}}),
        ("period", 1, {"period_seconds": 1.125}),
        ("period", 1, {"period_seconds": None}),
        ("period", 1, {"gpus": {"n1": 1}}),  # the period of two GPUs
        ("gpu-capacity", 1, {"gpus": {"n0": 2}}),
        ("memory-capacity", 2, {"gpus": {"n0": 1}, "period_seconds": 1.0}),
        ("cpu-capacity", 0, {"gpus": {"n0": 3, "n1": 1}, "period_seconds": 0.25, "cpus": {"n0": 3.0, "n1": 1.0}}),
        ("cpus-with-gpus", 0, {"cpus": {}}),
        ("cpus-with-gpus", 0, {"cpus": {"n0": 3.001}}),
        ("known-job", 0, {"jobs": ("nobody",)}),
        ("known-node", 1, {"gpus": {"nowhere": 2}}),
        ("whole-gpus", 1, {"gpus": {"n1": 0}}),
        ("group-size", 0, {"jobs": ("j0", "j1"), "order": (0, 1)}),
        ("group-size", 0, {"jobs": (), "order": ()}),
        ("order", 0, {"order": (1,)}),
        ("plan", 0, {"plan": "none"}),
    ],
)
def test_an_assignment_that_breaks_a_rule(rule: str, place: int, fields: dict[str, object]) -> None:
    round_ = ROUND
    if rule in ("cpu-capacity", "memory-capacity"):  # the same jobs where less is to be had
        nodes = [Node(id="n0", gpus=4, cpus=4, memory_gib=1), Node(id="n1", gpus=4, cpus=0.5)]
        round_ = replace(ROUND, cluster=replace(ROUND.cluster, nodes=tuple(nodes)))
    right = replace(answer(ROUND), fingerprint=round_.fingerprint)
    assignments = list(decided(right).assignments)
    assignments[place] = replace(assignments[place], **fields)
    assert rule in rules_broken_by(round_, with_assignments(right, *assignments))


def test_a_quota_counts_shares() -> None:
    """Six GPUs where five are allowed, though the jobs together ask for three."""
    right = answer(ROUND)
    _, second, third = decided(right).assignments
    more = one("j0", {"n0": 4}, 0.25, cpus={"n0": 4.0})
    assert rules_broken_by(ROUND, with_assignments(right, more, second, third)) >= {"quota"}
    first = decided(right).assignments[0]
    started = one("j3", {"n0": 1}, 1.0)
    assert "quota" in rules_broken_by(ROUND, with_assignments(right, first, second, third, started, waiting=()))


def test_shares_that_ask_for_more_than_a_quota_may_run_within_it() -> None:
    round_ = round_with([4], [elastic(0, LINEAR, gpus=4, tenant="a")], [Tenant(id="a", quota_gpus=2)])
    assert sum(decided(answer(round_)).assignments[0].gpus.values()) == 2


@pytest.mark.parametrize("reason", list(WaitingReason))
def test_one_gpu_lets_a_job_start(reason: WaitingReason) -> None:
    """The job asks for eight GPUs of a cluster of two; for its first there is always room, so priority keeps it."""
    round_ = round_with([2], [elastic(0, LINEAR), elastic(1, LINEAR, gpus=8)])
    right = answer(round_)
    wait = Waiting(job="j1", reason=reason, detail="", remedy="")
    wrong = replace(right, decision=Decision(assignments=(one("j0", {"n0": 1}, 1.0),), waiting=(wait,)))
    assert ("waiting-reason" in rules_broken_by(round_, wrong)) == (reason is not WaitingReason.PRIORITY)
    full = replace(right, decision=Decision(assignments=(one("j0", {"n0": 2}, 0.5),), waiting=(wait,)))
    assert ("waiting-reason" in rules_broken_by(round_, full)) == (reason is not WaitingReason.CAPACITY)


@pytest.mark.parametrize(
    ("gpus", "broken"),
    [
        ({"n0": 2}, False),
        ({"n0": 4}, False),
        ({"n0": 4, "n1": 4}, False),
        ({"n0": 3}, True),  # does not divide a node
        ({"n0": 4, "n1": 1}, True),  # nor fill nodes
        ({"n0": 1, "n1": 1}, True),  # divides a node, but sits on two
        ({"n0": 2, "n1": 2}, True),
        ({"n0": 4, "n1": 3, "n2": 1}, True),
    ],
)
def test_packing(gpus: dict[str, int], broken: bool) -> None:
    round_ = round_with([4, 4, 4], [elastic(0, tuple(range(1, 13)))])
    right = answer(round_, "afs-l:packing=node")
    share = sum(gpus.values())
    wrong = with_assignments(right, one("j0", gpus, 1 / share))
    assert ("packing" in rules_broken_by(round_, wrong)) == broken
    free = with_assignments(under(right, "afs-l"), one("j0", gpus, 1 / share))
    assert "packing" not in rules_broken_by(round_, free)


def test_gpus_of_a_cluster_that_has_none() -> None:
    round_ = round_with([0], [elastic(0, LINEAR)])
    for policy in ("afs-l", "afs-l:packing=node"):
        right = answer(round_, policy)
        assert "gpu-capacity" in rules_broken_by(round_, with_assignments(right, one("j0", {"n0": 1}, 1.0), waiting=()))


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("value", lambda result: replace(result, value=result.value + 1)),
        ("value", lambda result: replace(result, value=None)),
        ("bound", lambda result: claiming(result, bound=result.value - 1)),
        ("gap", lambda result: replace(result, gap=0.5)),
        ("gap", lambda result: replace(result, bound=None)),
        ("termination", lambda result: claiming(result, bound=result.value + 1, reason=Reason.OPTIMAL)),
        ("evidence", lambda result: with_duals(result, gpus=(1, 2))),
        ("evidence", lambda result: with_duals(result, gpus=(-1,))),
        ("evidence", lambda result: with_duals(result, memory=(1,))),
        ("fingerprint", lambda result: replace(result, fingerprint="0" * 64)),
        ("waiting-listed", lambda result: with_assignments(result, *decided(result).assignments, waiting=())),
        ("waiting-listed", lambda result: with_assignments(result, *decided(result).assignments[1:])),
        ("job-once", lambda result: with_assignments(result, *decided(result).assignments * 2)),
    ],
)
def test_a_claim_that_is_not_true(rule: str, broken: Callable[[Result], Result]) -> None:
    for method in ("heuristic", "auto"):
        assert rule in rules_broken_by(ROUND, broken(answer(ROUND, "afs-l", method)))


def test_a_bound_that_nobody_proved_is_only_a_claim() -> None:
    """GPUs alone would allow more than the CPUs do; the lower bound is true, but without prices it is not proved."""
    round_ = round_with([Node(id="n0", gpus=4, cpus=2)], [elastic(0, LINEAR, cpus=1)])
    right = answer(round_)
    bare = replace(right, certificate=replace(right.certificate, evidence=()))
    certificate = verify(round_, claiming(bare, bound=right.value, reason=Reason.OPTIMAL))
    assert (certificate.proof, [one.rule for one in certificate.violations]) == (Proof.CLAIM_ONLY, ["proof"])
    assert certificate.checked_bound > right.value
    assert answer(round_, "afs-l", "auto").certificate.proof is Proof.LINEAR_DUALS


@given(st.data(), elastic_rounds(equal=True, tight=True), st.sampled_from(["any", "node"]))
@more_examples(150)
def test_any_share_changed_alone_is_found_out(data: st.DataObject, round_: Round, packing: str) -> None:
    right = answer(round_, f"max-min-elastic:packing={packing}")
    if not decided(right).assignments:
        return
    first = decided(right).assignments[0]
    node = data.draw(st.sampled_from(sorted(first.gpus)))
    change = data.draw(st.sampled_from([-1, 1, 2, 20]))
    broken = rules_broken_by(round_, changed_first(right, gpus={**first.gpus, node: first.gpus[node] + change}))
    table = round_.jobs[round_.job_index[first.jobs[0]]].scaling
    share = sum(first.gpus.values()) + change
    if first.gpus[node] + change < 1:
        assert "whole-gpus" in broken
    elif share > max(table):
        assert "share" in broken
    else:  # the period, the value, or what the node has; equal speeds with more GPUs are worth the same
        same = table.get(share) == table.get(share - change) is not None
        assert broken or same
