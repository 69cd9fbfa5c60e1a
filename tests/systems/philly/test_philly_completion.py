"""Placement by what work is worth for completion times, after quotas and preemptions."""

from __future__ import annotations

from random import Random

import pytest
from by_policy import broken_rules, decision_value, formulation_of
from msgspec.structs import replace
from placement_cases import random_lent_round, random_placement_round

from muri_opt import Cluster, InputError, Job, Limits, Node, Round, Tenant, policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.solve.exact import optimise
from muri_opt.systems.philly.job_status import gpu_worth
from muri_opt.verify import chapter_of

FOREVER = Limits(seconds=None)


def ranked(round_: Round, seed: int) -> Round:
    """Return the round with jobs that say how long they are."""
    rng = Random(seed)
    jobs = (
        replace(job, remaining_iterations=rng.randint(1, 9), iteration_seconds=rng.choice([0.5, 1.0]))
        for job in round_.jobs
    )
    return replace(round_, jobs=tuple(jobs))


def by_completion(spec: str) -> str:
    plain = (
        spec.replace(",objective=weighted", "").replace("objective=weighted,", "").replace(":objective=weighted", "")
    )
    return f"{plain}{',' if ':' in plain else ':'}objective=completion"


def test_the_program_finds_what_the_verifier_enumerates() -> None:
    proved = 0
    for seed in range(24):
        drawn, spec = (random_lent_round if seed % 4 == 3 else random_placement_round)(seed)
        round_, spec = ranked(drawn, seed), by_completion(spec)
        policy = policy_from(spec)
        decision, program = policy.decide(round_, 0), formulation_of(policy)
        assert broken_rules(round_, decision, spec) == []
        found = evaluate(program.build(round_), program.encode(round_, decision))
        assert (found.broken, found.value) == ((), decision_value(round_, spec, decision))
        best = chapter_of(round_, policy.rules).optimum(30_000)
        if best is not None:
            answer = optimise(round_, program, "highs", FOREVER, None)
            assert decision_value(round_, spec, answer.decision) == best >= found.value
            proved += 1
    assert proved >= 8


def gang(name: str, gpus: int, iterations: int, **fields: object) -> Job:
    return Job(id=name, gpus=gpus, submitted=0.0, iteration_seconds=1.0, remaining_iterations=iterations, **fields)


def test_the_queue_is_by_what_a_gpu_is_worth_and_quotas_stay_above_it() -> None:
    jobs = (gang("long", 2, 100), gang("short", 2, 1), gang("other", 2, 50))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=2),)), jobs=jobs)
    # A GPU of a job of two is worth 1/2 and 1/2 for every job behind it, as there are two GPUs.
    assert gpu_worth(round_).tolist() == [500, 1500, 1000]
    result = solve_round(round_, "philly:objective=completion", "auto", FOREVER)
    assert (result.answer.running, result.rules["objective"]) == ({"short"}, "completion")
    assert result.value == result.bound
    assert verify(round_, result).feasible
    owner = replace(jobs[0], tenant="owner")
    borrower = replace(jobs[1], tenant="borrower")
    tenants = (Tenant(id="owner", quota_gpus=2), Tenant(id="borrower", quota_gpus=0))
    lent = replace(round_, cluster=replace(round_.cluster, tenants=tenants), jobs=(borrower, owner))
    for method in ("heuristic", "auto"):
        assert solve_round(lent, "philly:objective=completion", method, FOREVER).answer.running == {"long"}


def test_a_job_of_unknown_length_is_named() -> None:
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=2),)), jobs=(Job(id="a", gpus=1, submitted=0.0),))
    with pytest.raises(InputError, match=r"jobs\[0\] \('a'\)\.remaining_iterations"):
        policy_from("philly:objective=completion").decide(round_, 0)
