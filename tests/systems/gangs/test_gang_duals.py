"""Multipliers without a solver and from the linear relaxation: each one a bound that checks."""

from __future__ import annotations

import pytest
from by_policy import enumerated_optimum, formulation_of, settings_of
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Node, Round, Tenant, policy_from
from muri_opt.solve.exact import relax
from muri_opt.solve.solvers import relaxation_duals
from muri_opt.systems.gangs import GangFormulation
from muri_opt.systems.gangs.program_duals import DENOMINATOR
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import rounds
from muri_opt.verify.gangs.counting import able_jobs
from muri_opt.verify.gangs.dual_bound import dual_bound
from muri_opt.verify.gangs.value import job_values


def bounds(round_: Round, spec: str) -> tuple[int, int]:
    """Return the checked bounds of the quick multipliers and of those of the relaxation."""
    program = formulation_of(policy_from(spec))
    worth = job_values(round_, settings_of(spec))
    model = program.build(round_)
    row_duals = relaxation_duals(model, None)
    assert row_duals is not None
    quick, relaxed = program.quick_duals(round_), program.duals(round_, model, row_duals)
    assert quick is not None
    assert relaxed is not None
    able = able_jobs(round_, None)
    return dual_bound(round_, worth, quick, able=able), dual_bound(round_, worth, relaxed, able=able)


@given(rounds(), st.sampled_from(sorted(ORDERS)), st.sampled_from(["any", "fewest"]))
def test_both_kinds_of_multipliers_bound_the_optimum(round_: Round, order: str, nodes: str) -> None:
    spec = f"{order}:nodes={nodes},objective=weighted,preempt=yes"
    optimum = enumerated_optimum(round_, spec)
    assert optimum is not None
    assert min(bounds(round_, spec)) >= optimum


@given(rounds(tight=False, max_nodes=4), st.sampled_from(sorted(ORDERS)))
@more_examples(60)
def test_where_only_gpus_count_quick_multipliers_are_optimal(round_: Round, order: str) -> None:
    quick, relaxed = bounds(round_, f"{order}:objective=weighted,preempt=yes")
    assert quick == relaxed


def test_the_relaxation_knows_cpus_where_quick_multipliers_do_not() -> None:
    """CPUs for two GPUs: one of two gangs of 2 runs, worth 4; GPUs alone would let both run, worth 4 + 2."""
    round_ = round_of([Node(id="n0", gpus=4, cpus=2)], [gang(0, 2, cpus=2), gang(1, 2, cpus=2)])
    assert bounds(round_, "fifo:objective=weighted") == (6, 4)


def test_quick_prices_are_those_of_the_first_job_cut() -> None:
    """Worth per GPU 4, 3, 2, 1: red is cut at its second job by its quota of 2, the cluster at the third job."""
    jobs = [gang(0, 2, tenant="red"), gang(1, 2, tenant="red"), gang(2, 3), gang(3, 1)]
    round_ = round_of([2, 2], jobs, [Tenant(id="red", quota_gpus=2), Tenant(id="blue")])
    duals = GangFormulation(order="fifo", objective="weighted", nodes="any").quick_duals(round_)
    assert duals is not None
    assert duals.denominator == DENOMINATOR
    assert duals.multipliers == {"gpus": (2 * DENOMINATOR,) * 2, "quota": (DENOMINATOR, 0)}
    worth = job_values(round_, settings_of("fifo:objective=weighted"))
    assert worth == {"j0": 8, "j1": 6, "j2": 6, "j3": 1}
    # 4 GPUs at 2, 2 of the quota at 1; j0 gains 8 - 2 * 3, nobody else gains.
    assert dual_bound(round_, worth, duals, able=able_jobs(round_, None)) == 8 + 2 + 2


def test_a_roomy_cluster_costs_nothing() -> None:
    duals = GangFormulation(order="fifo", objective="weighted", nodes="any").quick_duals(round_of([4, 4], [2, 3]))
    assert duals is not None
    assert duals.multipliers == {"gpus": (0, 0), "quota": ()}


@pytest.mark.parametrize("nodes", ["any", "fewest"])
def test_the_lexicographic_objective_has_no_multipliers(nodes: str) -> None:
    round_ = round_of([2], [2, 2])
    program = GangFormulation(order="fifo", objective="lexicographic", nodes=nodes)
    assert not program.has_duals
    assert program.quick_duals(round_) is None
    assert relax(round_, program, None) is None
