"""Rounds in which some nodes are limited in CPUs or memory: the program, the search and going through all decisions."""

from __future__ import annotations

import pytest
from by_policy import formulation_of
from joint_agreement import STEPS, UNHURRIED, assert_agreement, drawn
from joint_rounds import limited_joint_round
from msgspec.structs import replace
from seeds import chunk_by_chunk

from muri_opt import Cluster, Job, Limits, Node, Reason, Round, policy_from, solve_round
from muri_opt.solve.exact import optimise
from muri_opt.systems.joint.program import node_shares
from muri_opt.verify import chapter_of


@chunk_by_chunk(60, 160, 20)
def test_program_and_enumeration_agree_and_nothing_beats_them(seeds):
    for one in drawn(limited_joint_round, seeds):
        assert_agreement(*one)


@pytest.mark.parametrize("first", [1000, 1010])
def test_cp_sat_finds_the_same_optimum_from_any_start(first):
    for seed, round_, policy in drawn(limited_joint_round, range(first, first + 10)):
        answer = optimise(round_, formulation_of(policy), "cp-sat", UNHURRIED, policy.decide(round_, 0))
        assert answer.bound == chapter_of(round_, policy.rules).optimum(STEPS), seed


def test_the_optimum_does_not_depend_on_the_order_of_jobs_and_nodes():
    for seed, round_, _ in drawn(limited_joint_round, range(500, 512)):
        nodes = replace(round_.cluster, nodes=round_.cluster.nodes[::-1])
        turned = (round_, replace(round_, jobs=round_.jobs[::-1]), replace(round_, cluster=nodes))
        found = {solve_round(one, "joint-s", "exact", Limits(work=20)).value for one in turned}
        assert len(found) == 1, seed


@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
@pytest.mark.parametrize("limit", ["cpus", "memory_gib"])
def test_where_no_job_is_left_to_be_decided_nothing_is_priced(policy, limit):
    nodes = (Node(id="n0", gpus=8), Node(id="n1", gpus=4, **{limit: 24.0}))
    fields = {"remaining_iterations": 10, "iteration_seconds": 1.0, "attained_gpu_seconds": 0.0, limit: 1.0}
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(Job(id="a", gpus=1, **fields),))
    result = solve_round(round_, policy)
    assert (result.termination.reason, result.decision.running) == (Reason.OPTIMAL, {"a"})


def test_with_too_many_groups_and_nodes_cpus_are_counted_for_the_cluster(monkeypatch):
    round_ = limited_joint_round(16)
    program = formulation_of(policy_from("joint-l"))
    exact = program.build(round_)
    monkeypatch.setattr(node_shares, "MOST_SHARES", 0)
    relaxed = program.build(replace(round_, now=round_.now + 1.0))
    assert [family.label for family in exact.columns] == ["x", "y"]
    assert [family.label for family in relaxed.columns] == ["x"]
