"""What deciding together gains: steps add up, and a round where only a joint decision sees what sharing frees."""

from __future__ import annotations

import json

import pytest
from joint_rounds import joint_round, mixed_joint_round

from muri_opt import Cluster, InputError, Job, Node, RefusalError, Round, policy_from, read_round
from muri_opt.cli.main import main
from muri_opt.studies.explain import KINDS, compare_decisions, joint_gain
from muri_opt.verify import broken_rules, chapter_of

STAGES = ("storage", "gpu", "network")


def test_steps_lead_from_the_best_single_system_to_the_joint_optimum():
    for seed in range(5):
        round_, policy = joint_round(seed), policy_from("joint-s")
        gain = joint_gain(round_, policy)
        assert gain.single == max(gain.singles.values())
        assert gain.single + sum(step.gain for step in gain.steps) == gain.optimum
        assert all(step.gain >= 0 for step in gain.steps)
        assert gain.optimum == chapter_of(round_, policy.rules).optimum(1_000_000)
        for decision, value in zip(gain.decisions, (gain.single, gain.optimum), strict=True):
            assert not broken_rules(round_, policy.rules, decision)
            assert chapter_of(round_, policy.rules).value(decision) >= value


def test_sharing_frees_gpus_for_larger_shares():
    stages, curve = {"stage_seconds": (0.5, 0.0, 0.5)}, {"scaling": {1: 1.0, 2: 1.9}}
    jobs = (
        Job(id="a", gpus=1, remaining_iterations=10, **stages),
        Job(id="b", gpus=1, remaining_iterations=20, stage_seconds=(0.5, 0.5, 0.0)),
        Job(id="c", gpus=1, remaining_iterations=30, iteration_seconds=1.0, **curve),
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=3),)), jobs=jobs, resources=STAGES)
    gain = joint_gain(round_)
    gains = {step.kind: step.gain for step in gain.steps}
    assert gain.singles["elastic shares"] == gain.singles["groups"] == gain.single
    assert gains["sharing" if "sharing" in gains else "shares"] > 0
    found = compare_decisions(round_, policy_from("joint-s").rules, *gain.decisions)
    assert found.values == (gain.single, gain.optimum)


def test_other_policies_and_priorities_are_refused():
    round_ = read_round("instances/toy/four-joint.json")
    with pytest.raises(InputError, match="joint-s or joint-l"):
        joint_gain(round_, "muri-s")
    ranked = next(one for one in map(mixed_joint_round, range(9)) if "job.priority" in one.used_fields)
    with pytest.raises(RefusalError, match="priority"):
        joint_gain(ranked)


def test_the_command_prints_what_was_gained(capsys):
    assert main(["loss", "instances/toy/four-joint.json", "--policy", "joint-s", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["single"], told["optimum"], told["best"]) == (6_000_000, 6_000_000, "groups")
    assert {step["kind"] for step in told["steps"]} == KINDS.keys() - {"sharing"}
