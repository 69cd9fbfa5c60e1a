"""A joint decision beside the best single system: both verified, the changes add up, and the command says so."""

from __future__ import annotations

import json

import pytest
from joint_rounds import joint_round

from muri_opt import Cluster, InputError, Job, Limits, Node, Round, read_round
from muri_opt.cli.main import main
from muri_opt.report.text.joint_gain import joint_gap_text
from muri_opt.studies.explain import explain_gap, explain_joint_gap

TOY = "instances/toy/four-joint.json"
WORK = Limits(seconds=None, work=60)


@pytest.mark.parametrize("seed", range(2))
def test_the_changes_lead_from_the_best_system_to_the_joint_decision(seed):
    round_ = joint_round(seed)
    gap = explain_joint_gap(round_, "joint-s", WORK)
    assert gap.names == ("best system", "joint optimum")
    assert gap.values[0] >= gap.gain.single
    assert gap.values[1] == gap.gain.optimum == explain_gap(round_, "joint-s", limits=WORK).values[1]
    assert sum(change.gain for change in gap.changes) == gap.gap


def test_what_changes_cost_is_told_of_each_of_both_decisions():
    run = {"state": "running", "placement": {"n0": 1}, "restart_seconds": 1.0}
    job = Job(id="a", gpus=1, remaining_iterations=10_000, iteration_seconds=1.0, scaling={1: 1.0, 2: 1.9}, **run)
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=(job,))
    gap = explain_joint_gap(round_, "joint-s", WORK)
    assert (gap.first.stats.changes_cost, gap.second.stats.changes_cost) == (None, 1_000_000)
    assert gap.gap > 0
    assert "joint optimum 1000000" in joint_gap_text(round_, gap)


def test_elastic_shares_without_groups_are_one_system():
    gap = explain_joint_gap(read_round(TOY), "joint-s:group=1", WORK)
    assert (gap.gap, gap.gain.best) == (0, "gangs")
    assert "the best system decision is optimal" in joint_gap_text(read_round(TOY), gap)


def test_the_command_says_what_each_kind_of_choice_gains(capsys):
    assert main(["gap", TOY, "--policy", "joint-s", "--against", "systems", "--work", "60", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["values"] == [6_000_000, 6_000_000]
    assert told["best_system"] == "groups"
    assert {step["kind"] for step in told["steps"]} == {"shares", "plans", "placement"}


def test_other_policies_and_given_results_are_refused(capsys):
    with pytest.raises(InputError, match="joint-s or joint-l"):
        explain_joint_gap(read_round(TOY), "muri-s")
    assert main(["gap", TOY, "--against", "systems", "--method", "exact"]) == 2
    assert "nothing beside --against systems" in capsys.readouterr().err
