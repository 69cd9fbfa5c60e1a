"""On random small rounds every exact method finds the same optimum, and no heuristic answer is better.

Of 500 rounds the suite looks at 100, and ``make test-all`` at the others too.
"""

from __future__ import annotations

from random import Random

import pytest
from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, wrong_reasons
from handmade import gang

from muri_opt import Cluster, Decision, Limits, Node, Policy, Round, Tenant, policy_from, solve_round, verify
from muri_opt.modelling import Model, Stage
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.solvers import BACKENDS, backend_named, solve_stages
from muri_opt.systems.orders import ORDERS

ROUNDS, CHUNKS, QUICK = 500, 20, 4
FOREVER = Limits(seconds=None)


def random_round(draw: Random) -> Round:
    """Return a round in which GPUs, CPUs, memory and quotas are short, each at times."""
    nodes = tuple(
        Node(
            id=f"n{s}",
            gpus=draw.randint(1, 4),
            cpus=draw.choice([None, draw.randint(0, 8)]),
            memory_gib=draw.choice([None, draw.randint(0, 16) / 2]),
        )
        for s in range(draw.randint(1, 3))
    )
    tenants = tuple(
        Tenant(id=f"t{v}", quota_gpus=draw.choice([None, *range(7)])) for v in range(draw.choice([0, 0, 2]))
    )
    jobs = tuple(
        gang(
            j,
            draw.choice([1, 1, 2, 2, 3, 4, 6]),
            tenant=draw.choice([None, *(tenant.id for tenant in tenants)]),
            submitted=float(draw.randint(0, 9)),
            cpus=draw.choice([None, draw.randint(0, 6)]),
            memory_gib=draw.choice([None, draw.randint(0, 6)]),
            remaining_iterations=draw.randint(0, 9),
            attained_gpu_seconds=float(draw.randint(0, 9)),
        )
        for j in range(draw.randint(2, 6))
    )
    return Round(cluster=Cluster(nodes=nodes, tenants=tenants), jobs=jobs)


def small_round(seed: int) -> tuple[Round, Policy]:
    """Return the round and the policy of a seed; every fifth round is of a generated family."""
    draw = Random(seed)
    spec = ",".join(
        [
            f"{draw.choice(sorted(ORDERS))}:objective={draw.choice(['weighted', 'lexicographic'])}",
            f"nodes={draw.choice(['any', 'fewest'])}",
        ]
    )
    if seed % 5:
        return random_round(draw), policy_from(spec)
    family = draw.choice(["gangs", "tenants"])
    return generate(family, jobs=draw.randint(2, 5), nodes=draw.randint(1, 2), seed=seed), policy_from(spec)


def optimum_by(backend: str, round_: Round, policy: Policy, model: Model, stages: tuple[Stage, ...]) -> int:
    """Return the optimum of a backend, after checking that its values are a feasible decision of that value."""
    outcome = solve_stages(backend_named(backend), model, stages, FOREVER)
    assert outcome.termination.reason == "OPTIMAL", (backend, outcome.termination)
    assert outcome.value == outcome.bound, backend
    decision = formulation_of(policy).decode(round_, outcome.values)
    check_feasible(round_, policy, decision)
    assert decision_value(round_, policy.spec, decision) == outcome.value, backend
    return outcome.value


def check_feasible(round_: Round, policy: Policy, decision: Decision) -> None:
    rules = policy.spec
    assert broken_rules(round_, decision, rules) == []
    assert list(wrong_reasons(round_, decision, rules)) == []


@pytest.mark.parametrize(
    "chunk", [*range(QUICK), *(pytest.param(chunk, marks=pytest.mark.slow) for chunk in range(QUICK, CHUNKS))]
)
def test_every_exact_method_finds_the_same_optimum(chunk: int) -> None:
    for seed in range(chunk, ROUNDS, CHUNKS):
        round_, policy = small_round(seed)
        program = formulation_of(policy)
        model = program.build(round_)
        stages = program.stages(round_, model)
        found = {name: optimum_by(name, round_, policy, model, stages) for name in BACKENDS}
        found["verifier"] = enumerated_optimum(round_, policy.spec, steps=10**6)
        assert len(set(found.values())) == 1, (seed, policy.spec, found)
        heuristic = solve_round(round_, policy, "heuristic")
        assert verify(round_, heuristic).feasible, (seed, policy.spec)
        assert heuristic.value <= found["verifier"], (seed, policy.spec)
        assert heuristic.bound >= found["verifier"], (seed, policy.spec)


def test_the_rounds_are_no_easy_ones() -> None:
    """Were every list schedule optimal, or every job running, the agreement would say little."""
    seeds = [seed for seed in range(ROUNDS) if seed % CHUNKS < QUICK]
    beaten = waiting = 0
    for seed in seeds:
        round_, policy = small_round(seed)
        heuristic = solve_round(round_, policy, "heuristic")
        waiting += bool(heuristic.decision.waiting)
        beaten += heuristic.value < enumerated_optimum(round_, policy.spec, steps=10**6)
    assert waiting > len(seeds) / 2
    assert beaten > len(seeds) / 20
