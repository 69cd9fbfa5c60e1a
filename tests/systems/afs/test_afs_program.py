"""The exact program of elastic shares: every method finds the optimum that trying all shares finds."""

from __future__ import annotations

import numpy as np
import pytest
from by_policy import broken_rules, decision_value, formulation_of, settings_of
from elastic_rounds import best_of_all, elastic_round, random_elastic_round, stretchable, worths

from muri_opt import Limits, Node, Proof, Reason, Tenant, policy_from, solve_round
from muri_opt.modelling import evaluate
from muri_opt.rounds import Limit
from muri_opt.solve.exact import optimise, relax, solve_directly
from muri_opt.solve.solvers import BACKENDS
from muri_opt.systems.afs.program_columns import ShareTable
from muri_opt.verify.afs.dual_bound import counted_bound, priced_bound

FOREVER = Limits(seconds=None)
SPECS = {
    "afs-l:objective=speed": "speed",
    "optimus": "time",
    "afs-p:objective=speed-up": "speed-up",
    "afs-l": "jobs-then-speed",
    "afs-p": "jobs-then-speed-up",
}
POLICIES = ("afs-l", "afs-l:scan=arrival", "afs-p", "optimus", "max-min-elastic", "srtf-elastic")


def close(values, plain) -> bool:
    """Return whether values are the plain ones up to the ninth digit of the speeds they are made from."""
    pairs = [(table[k], other[k]) for table, other in zip(values, plain, strict=True) for k in other]
    same = [set(table) == set(other) for table, other in zip(values, plain, strict=True)]
    return all(same) and all(abs(one - other) <= 1 + abs(other) // 10**7 for one, other in pairs)


def checked_optimum(round_, spec) -> int:
    """Return the optimum by every backend, the dynamic program and the verifier's own, all equal and feasible."""
    values = settings_of(spec).values(round_)
    assert close(values, worths(round_, SPECS[spec], list(range(1, round_.cluster.total_gpus + 1))))
    best = best_of_all(round_, values)
    program = formulation_of(policy_from(spec))
    answers = [solve_directly(round_, program)]
    small = len(program.build(round_).objective) <= BACKENDS["exhaustive"].capabilities.most_columns
    answers += [optimise(round_, program, name, FOREVER, None) for name in BACKENDS if name != "exhaustive" or small]
    for answer in answers:
        assert (answer.termination.reason, answer.bound) == (Reason.OPTIMAL, best)
        assert broken_rules(round_, answer.decision, spec) == []
        assert decision_value(round_, spec, answer.decision) == best
    assert counted_bound(round_, values) == best
    assert best <= priced_bound(round_, values, relax(round_, program, None))
    assert best <= priced_bound(round_, values, program.quick_duals(round_))
    return best


@pytest.mark.parametrize("spec", SPECS)
def test_all_methods_agree_with_trying_all_shares(spec: str) -> None:
    for seed in range(12):
        round_ = random_elastic_round(seed)
        best = checked_optimum(round_, spec)
        program = formulation_of(policy_from(spec))
        for policy in POLICIES:
            decision = policy_from(policy).decide(round_, seed=0)
            found = evaluate(program.build(round_), program.encode(round_, decision))
            assert (found.broken, found.value) == ((), decision_value(round_, spec, decision))
            assert found.value <= best


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_all_methods_agree_on_500_rounds(spec: str) -> None:
    for seed in range(1000, 1500):
        assert checked_optimum(random_elastic_round(seed), spec) >= 0


def test_the_price_of_a_quota_proves_a_bound() -> None:
    jobs = [stretchable(place, {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}, tenant="a") for place in range(3)]
    round_ = elastic_round([8], jobs, (Tenant(id="a", quota_gpus=2),))
    program, values = formulation_of(policy_from("afs-l")), settings_of("afs-l").values(round_)
    duals = relax(round_, program, None)
    assert any(duals.multipliers["quota"])
    assert priced_bound(round_, values, duals) == counted_bound(round_, values) == best_of_all(round_, values)


@pytest.mark.parametrize("fields", [{"cpus": 4}, {"memory_gib": 4}])
def test_cpus_and_memory_are_limits_too(fields: dict[str, float]) -> None:
    jobs = [stretchable(place, {1: 1.0, 2: 2.0, 3: 3.0}, **fields) for place in range(3)]
    round_ = elastic_round([Node(id="n0", gpus=8, cpus=12, memory_gib=12)], jobs)
    result = solve_round(round_, "afs-l", "auto", FOREVER)
    assert sum(sum(assignment.gpus.values()) for assignment in result.decision.assignments) == 3
    assert (result.termination.reason, result.value) == (Reason.OPTIMAL, result.bound)
    assert result.certificate.proof is Proof.LINEAR_DUALS


def test_a_share_that_no_node_can_hold_is_said_to_be_a_relaxation() -> None:
    # Two nodes with CPUs for one GPU and a half: the cluster has CPUs for three GPUs, the nodes for one each.
    jobs = [stretchable(0, {1: 1.0, 2: 2.0, 3: 3.0}, cpus=4)]
    round_ = elastic_round([Node(id=f"n{s}", gpus=4, cpus=6) for s in range(2)], jobs)
    result = solve_round(round_, "afs-l", "auto", FOREVER)
    assert (result.termination.reason, result.termination.limit) == (Reason.FEASIBLE, Limit.RELAXATION)
    assert result.decision.assignments[0].gpus == {"n0": 1, "n1": 1}
    assert result.value < result.bound


def test_packing_by_node_leaves_only_shares_that_divide_or_fill_nodes() -> None:
    rates = {k: float(k) for k in range(1, 9)}
    round_ = elastic_round([4, 4], [stretchable(0, rates), stretchable(1, rates)])
    table = ShareTable.of(round_, "speed", "node")
    assert sorted(set(table.gpus.tolist())) == [1, 2, 4, 8]
    for spec in ("afs-l:packing=node", "optimus:packing=node", "afs-p:packing=node"):
        result = solve_round(round_, spec, "exact@cp-sat", FOREVER)
        assert result.certificate.feasible
        assert all(sum(found.gpus.values()) in (1, 2, 4, 8) for found in result.decision.assignments)


def test_very_long_jobs_leave_the_dynamic_program_and_the_quick_price_to_a_solver() -> None:
    jobs = [stretchable(place, {1: 1e-9, 2: 1e-9}, remaining_iterations=10**12) for place in range(200)]
    round_ = elastic_round([64], jobs)
    program = formulation_of(policy_from("optimus"))
    assert program.direct(round_) is None
    assert program.quick_duals(round_) is None
    heuristic = solve_round(round_, "optimus", "heuristic", FOREVER)
    assert len(heuristic.decision.assignments) == 64


def test_no_job_and_no_gpu_are_rounds_too() -> None:
    for round_ in (elastic_round([4], []), elastic_round([0], [stretchable(0, {1: 1.0})]), elastic_round([], [])):
        for spec in SPECS:
            result = solve_round(round_, spec, "exact", FOREVER)
            assert (result.value, result.bound, result.decision.assignments) == (0, 0, ())
            assert result.certificate.feasible


def test_a_table_of_shares_is_in_ascending_order() -> None:
    table = ShareTable.of(random_elastic_round(3), "time", "any")
    assert (np.diff(table.jobs) >= 0).all()
    assert (np.diff(table.gpus)[np.diff(table.jobs) == 0] > 0).all()
