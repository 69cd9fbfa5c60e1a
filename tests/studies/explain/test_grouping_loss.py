"""What each rule of the published grouping costs: held against looking at every grouping that is left."""

from __future__ import annotations

import json
import random
from itertools import combinations

import pytest
from by_policy import decision_value
from seeds import some_then_all
from shared_rounds import sharer, sharing_round

from muri_opt import Cluster, InputError, Job, Limits, Node, RefusalError, Round, policy_from, read_round, solve_round
from muri_opt.cli.main import main
from muri_opt.report.text.group_loss import loss_text
from muri_opt.rounds import Assignment, Decision
from muri_opt.studies.explain import CAUSES, grouping_loss
from muri_opt.systems.muri import MuriPolicy

FOREVER = Limits(seconds=None)


def random_round(seed: int, jobs: int = 7) -> Round:
    rng = random.Random(seed)
    return Round(
        cluster=Cluster(nodes=(Node(id="n0", gpus=rng.randint(2, 4)),)),
        jobs=tuple(
            Job(
                id=f"j{place}",
                gpus=rng.choice((1, 1, 2)),
                remaining_iterations=rng.randint(1, 50),
                iteration_seconds=rng.choice((1.0, 2.5, 4.0)),
                attained_gpu_seconds=float(rng.randint(0, 50)),
                stage_seconds=tuple(rng.choice((0, 0.5, 1.0, 2.0, 3.0)) for _ in range(4)),
            )
            for place in range(jobs)
        ),
    )


def best_within(round_: Round, spec: str, allowed) -> int:
    """Return the best value of disjoint allowed groups within the GPUs, by looking at all of them."""
    spec = spec + ("," if ":" in spec else ":") + "sizes=mixed"
    worth = {}
    for size in range(1, 5):
        for group in combinations(range(len(round_.jobs)), size):
            if allowed(group):
                chosen = Assignment(jobs=tuple(round_.jobs[job].id for job in group), gpus={})
                worth[group] = decision_value(round_, spec, Decision(assignments=(chosen,)))

    def best(free: frozenset[int], gpus: int) -> int:
        found = 0
        if free:
            first = min(free)
            found = best(free - {first}, gpus)
            for group, value in worth.items():
                taken = max(round_.jobs[job].gpus for job in group)
                if group[0] == first and free.issuperset(group) and taken <= gpus:
                    found = max(found, value + best(free - set(group), gpus - taken))
        return found

    return best(frozenset(range(len(round_.jobs))), round_.cluster.total_gpus)


def steps_by_hand(round_: Round, policy: MuriPolicy) -> list[int]:
    groups = policy.grouped(round_).groups
    candidates = {job for group in groups for job in group}
    pairs = [set(group[at : at + 2]) for group in groups for at in range(0, len(group), 2)]
    unions = [one | other for one in pairs for other in pairs]

    def equal(group):
        return len({round_.jobs[job].gpus for job in group}) == 1

    rules = [
        lambda group: equal(group) and any(set(group) <= set(other) for other in groups),
        lambda group: equal(group) and any(set(group) <= union for union in unions),
        lambda group: equal(group) and candidates.issuperset(group),
        equal,
        bool,  # every group
    ]
    return [best_within(round_, policy.spec, allowed) for allowed in rules]


@pytest.mark.parametrize("spec", ["muri-s", "muri-l:objective=gpu-time", "muri-s:objective=progress,group=3"])
@some_then_all(3, 12)
def test_every_step_is_the_best_of_the_groupings_that_are_left(seeds: range, spec: str) -> None:
    policy = policy_from(spec)
    for seed in seeds:
        round_ = random_round(seed)
        loss = grouping_loss(round_, policy, FOREVER)
        assert [step.cause for step in loss.steps] == list(CAUSES)
        assert all(step.optimal and step.loss >= 0 for step in loss.steps)
        assert loss.heuristic == solve_round(round_, spec, "heuristic").value
        assert loss.loss == sum(step.loss for step in loss.steps)
        assert [step.value for step in loss.steps[1:]] == steps_by_hand(round_, policy)


def test_the_last_steps_are_the_optima_of_equal_and_of_mixed_sizes() -> None:
    for seed in range(20, 26):
        round_ = random_round(seed, jobs=9)
        loss = grouping_loss(round_, "muri-s", FOREVER)
        values = {step.cause: step.value for step in loss.steps}
        assert values["candidates"] == solve_round(round_, "muri-s", "exact", FOREVER).value
        assert loss.optimum == solve_round(round_, "muri-s:sizes=mixed", "exact", FOREVER).value


def test_a_careless_order_is_a_loss_of_its_own() -> None:
    found = [grouping_loss(random_round(seed), "muri-s:ordering=worst", FOREVER).steps[0].loss for seed in range(5)]
    assert min(found) >= 0
    assert max(found) > 0


def test_a_better_partner_beyond_the_candidates_is_a_loss() -> None:
    # One GPU and groups of two: the first two in the queue clash, the third would fit either.
    stages = [(1, 0, 0, 0), (1, 0, 0, 0), (0, 1, 1, 1)]
    jobs = [
        Job(id=f"j{at}", gpus=1, remaining_iterations=1 + at, iteration_seconds=1.0, stage_seconds=times)
        for at, times in enumerate(stages)
    ]
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=tuple(jobs))
    loss = grouping_loss(round_, "muri-s:group=2", FOREVER)
    assert {step.cause: step.loss for step in loss.steps if step.loss} == {"candidates": 83_333}
    assert (loss.heuristic, loss.optimum) == (250_000, 333_333)


def test_without_time_every_step_says_that_it_is_not_the_best() -> None:
    round_ = random_round(0)
    loss = grouping_loss(round_, "muri-s", Limits(seconds=0.0))
    assert not any(step.optimal for step in loss.steps[1:])
    assert loss.optimum >= loss.heuristic
    assert "at least" in loss_text(round_, loss)


def test_only_grouping_policies_have_such_a_loss() -> None:
    with pytest.raises(InputError, match="muri-s or muri-l"):
        grouping_loss(random_round(0), "fifo")


def test_rounds_with_priorities_are_refused() -> None:
    jobs = (sharer(0, (1, 1)), sharer(1, (1, 1), priority=1))
    with pytest.raises(RefusalError, match=r"job\.priority: found it in jobs\[1\].*the loss by causes"):
        grouping_loss(sharing_round([1], jobs))


def test_the_command_prints_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    path = "instances/toy/eight-stages.json"
    assert main(["loss", path]) == 0
    text = capsys.readouterr().out
    assert "pairs of pairs instead of groups" in text
    assert "16.73 %" in text
    assert main(["loss", path, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["heuristic"], told["optimum"], told["loss"]) == (1_297_618, 1_558_333, 260_715)
    assert [step["cause"] for step in told["steps"]] == list(CAUSES)
    assert told["loss"] == grouping_loss(read_round(path), "muri-s").loss
