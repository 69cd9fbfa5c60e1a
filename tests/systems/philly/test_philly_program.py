"""The exact program of placements says what the rules say: its optimum is the one that trying everything finds."""

from __future__ import annotations

from collections import Counter

import pytest
from by_policy import broken_rules, decision_value, formulation_of, settings_of
from hypothesis import given, settings
from more_examples import more_examples
from placement_cases import EveryPlacement, random_placement_round

from muri_opt import Decision, Limits, Reason, Round, policy_from
from muri_opt.modelling import combined_value, evaluate
from muri_opt.solve.exact import build, optimise
from muri_opt.solve.solvers import backend_named, solve_stages
from muri_opt.testing.strategies_tenants import tenant_policies, tenant_rounds
from muri_opt.verify.philly.optimum import placement_optimum

FOREVER = Limits(seconds=None)


def plain_places(round_: Round, decision: Decision) -> dict[int, tuple[int, ...] | None]:
    """Return GPUs per node of every job, ``None`` for those that wait."""
    found = {
        round_.job_index[assignment.jobs[0]]: tuple(assignment.gpus.get(node.id, 0) for node in round_.cluster.nodes)
        for assignment in decision.assignments
    }
    return {job: found.get(job) for job in range(len(round_.jobs))}


def check_against_everything(seed: int, backends: tuple[str, ...]) -> None:
    """Hold the program on some backends, the verifier's enumeration and the heuristic against trying everything."""
    round_, spec = random_placement_round(seed)
    policy = policy_from(spec)
    program, every = formulation_of(policy), EveryPlacement(round_, spec)
    model, best = build(round_, program), every.best()
    for backend in backends:
        answer = optimise(round_, program, backend, FOREVER, None)
        assert answer.termination.reason is Reason.OPTIMAL
        assert (seed, backend, answer.bound) == (seed, backend, best)
        chosen = plain_places(round_, answer.decision)
        assert every.allows(chosen), seed
        assert every.value(chosen) == best
        again = evaluate(model, program.encode(round_, answer.decision))
        assert (again.broken, again.value) == ((), best)
    assert placement_optimum(round_, settings_of(spec), steps=2_000_000) in (best, None)
    heuristic = plain_places(round_, policy.decide(round_, seed=0))
    assert every.allows(heuristic), seed
    assert every.value(heuristic) <= best


@pytest.mark.parametrize("seeds", [range(120, 135), range(135, 150)], ids=str)
def test_two_backends_agree_with_trying_everything(seeds: range) -> None:
    for seed in seeds:
        check_against_everything(seed, ("highs", "cp-sat"))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 30) for start in range(150, 480, 30)], ids=str)
def test_two_backends_agree_with_trying_everything_on_330_rounds(seeds: range) -> None:
    for seed in seeds:
        check_against_everything(seed, ("highs", "cp-sat"))


def test_the_random_rounds_have_everything_a_round_of_tenants_can_have() -> None:
    seen: Counter[str] = Counter()
    for seed in range(120, 180):
        round_, spec = random_placement_round(seed)
        program = formulation_of(policy_from(spec))
        answer = optimise(round_, program, "highs", FOREVER, None)
        status = program.table(round_).status
        for job, place in plain_places(round_, answer.decision).items():
            held = status.held[job]
            now = None if place is None else {s: gpus for s, gpus in enumerate(place) if gpus}
            if status.running[job]:
                seen["preempted" if now is None else "stays" if now == held else "moved"] += 1
            else:
                seen["waits" if now is None else f"starts at {status.locality.spread(job, list(now))}"] += 1
        seen["merged"] += any(len(item.jobs) > 1 for item in program.table(round_).placements.items)
        seen["left out"] += not program.table(round_).nodes.seen.all()
        seen.update(family.label for family in build(round_, program).rows if len(family))
    assert {"preempted", "stays", "moved", "waits", "merged", "left out", "beside", "load", "protect"} <= set(seen)
    assert min(seen[f"starts at {spread}"] for spread in range(3)) > 0
    assert min(seen[label] for label in ("cpus", "memory", "rack", "few", "quota", "budget")) > 5


@given(tenant_rounds(), tenant_policies())
@more_examples(40)
def test_the_schedule_of_the_rules_is_a_feasible_point_and_comes_back(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    program, decision = formulation_of(policy), policy.decide(round_, seed=0)
    model, point = program.build(round_), program.encode(round_, decision)
    value = decision_value(round_, spec, decision)
    found = evaluate(model, point)
    assert (found.broken, found.value) == ((), value)
    stages = program.stages(round_, model)
    reached = [int(stage.objective @ point) for stage in stages]
    assert combined_value(stages, reached) == value
    if len(stages) > 1:
        assert all(stage.best >= part for stage, part in zip(stages, reached, strict=True))
    again = program.decode(round_, point)
    assert broken_rules(round_, again, spec) == []
    assert decision_value(round_, spec, again) == value
    sizes = [sorted(round_.jobs[round_.job_index[job]].gpus for job in d.running) for d in (again, decision)]
    assert sizes[0] == sizes[1]


@given(tenant_rounds(max_jobs=6, max_nodes=4), tenant_policies())
@settings(max_examples=20)
def test_an_optimum_is_a_feasible_decision_of_the_same_value(round_: Round, spec: str) -> None:
    program = formulation_of(policy_from(spec))
    model = program.build(round_)
    outcome = solve_stages(backend_named("highs"), model, program.stages(round_, model), FOREVER)
    assert outcome.value == outcome.bound
    decision = program.decode(round_, outcome.values)
    assert broken_rules(round_, decision, spec) == []
    assert decision_value(round_, spec, decision) == outcome.value
    assert decision_value(round_, spec, policy_from(spec).decide(round_, seed=0)) <= outcome.value
