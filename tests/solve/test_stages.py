"""Stage after stage on one backend: the same as one lexicographic optimum, and honest when time runs out."""

from __future__ import annotations

import numpy as np
import pytest
from by_policy import decision_value, formulation_of
from handmade import round_of

from muri_opt import Limits, policy_from
from muri_opt.rounds import Budget
from muri_opt.solve.exact import build, optimise, relax
from muri_opt.solve.solvers import BACKENDS, backend_named, solve_stages

FOREVER = Limits(seconds=None)
SOLVERS = sorted(set(BACKENDS) - {"exhaustive"})
WEIGHTED, LEXICOGRAPHIC = "fifo:objective=weighted,nodes=fewest", "fifo:nodes=fewest"
ROUND = round_of([3, 3, 4], [2, 2, 4, 2, 1] * 4)
"""Twenty jobs: two stages."""


@pytest.mark.parametrize("backend", SOLVERS)
def test_all_stages_solved_are_an_optimum(backend: str) -> None:
    program = formulation_of(policy_from(LEXICOGRAPHIC))
    model = program.build(ROUND)
    outcome = solve_stages(backend_named(backend), model, program.stages(ROUND, model), FOREVER)
    assert outcome.termination.reason == "OPTIMAL"
    # In order: j0 and j1 on the nodes of 3, j2 on the node of 4, then j4 and j9 beside j0 and j1.
    expected = sum(2 ** (19 - j) for j in (0, 1, 2, 4, 9))
    assert outcome.value == outcome.bound == expected


@pytest.mark.parametrize("backend", SOLVERS)
@pytest.mark.parametrize("spec", [WEIGHTED, LEXICOGRAPHIC])
def test_without_time_a_start_is_kept_and_no_bound_invented(backend: str, spec: str) -> None:
    policy = policy_from(spec)
    program = formulation_of(policy)
    model = program.build(ROUND)
    decision = policy.decide(ROUND, seed=0)
    start = program.encode(ROUND, decision)
    outcome = solve_stages(backend_named(backend), model, program.stages(ROUND, model), Limits(seconds=0), start)
    assert (outcome.termination.reason, outcome.termination.limit) == ("FEASIBLE", "TIME")
    assert outcome.value == decision_value(ROUND, spec, decision)
    assert outcome.bound is None


@pytest.mark.parametrize("spec", [WEIGHTED, LEXICOGRAPHIC])
def test_an_infeasible_start_is_ignored(spec: str) -> None:
    program = formulation_of(policy_from(spec))
    model = program.build(ROUND)
    stages = program.stages(ROUND, model)
    impossible = np.ones(model.column_count, dtype=np.int64)
    outcome = solve_stages(backend_named("highs"), model, stages, Limits(seconds=0), impossible)
    assert (outcome.termination.reason, outcome.termination.limit) == ("NO_SOLUTION", "TIME")
    assert outcome.values is None
    assert outcome.value is None
    solved = solve_stages(backend_named("highs"), model, stages, FOREVER, impossible)
    assert solved.termination.reason == "OPTIMAL"


def test_a_stage_left_open_keeps_the_bound_of_the_rest() -> None:
    """The first stage is solved, then time is over: its optimum and the best of the second are the bound."""

    class OneStage(type(backend_named("highs"))):
        solved = 0

        def solve(self, model: object, limits: Limits, start: object = None) -> object:
            self.solved += 1
            return super().solve(model, limits if self.solved == 1 else limits.with_seconds(0), start)

    program = formulation_of(policy_from(LEXICOGRAPHIC))
    model = program.build(ROUND)
    outcome = solve_stages(OneStage(), model, program.stages(ROUND, model), FOREVER)
    assert (outcome.termination.reason, outcome.termination.limit) == ("FEASIBLE", "TIME")
    assert outcome.termination.detail.startswith("1 of 2 stages solved; ")
    first = sum(2 ** (19 - j) for j in (0, 1, 2, 4, 9))
    assert outcome.bound == first + 2**4 - 1
    assert first <= outcome.value <= outcome.bound


@pytest.mark.parametrize("spec", [WEIGHTED, LEXICOGRAPHIC])
def test_optimise_returns_the_decision_of_the_optimum(spec: str) -> None:
    policy = policy_from(spec)
    answer = optimise(ROUND, formulation_of(policy), "highs", FOREVER, policy.decide(ROUND, seed=0))
    assert answer.termination.reason == "OPTIMAL"
    assert answer.decision is not None
    assert decision_value(ROUND, spec, answer.decision) == answer.bound
    assert (answer.columns, answer.rows) == (
        build(ROUND, formulation_of(policy)).column_count,
        build(ROUND, formulation_of(policy)).row_count,
    )


def test_building_counts_against_the_time() -> None:
    policy = policy_from(WEIGHTED)
    answer = optimise(ROUND, formulation_of(policy), "highs", Limits(seconds=0), None)
    assert (answer.termination.reason, answer.termination.limit) == ("NO_SOLUTION", "TIME")
    assert answer.decision is None
    assert answer.bound is None
    assert relax(ROUND, formulation_of(policy), Budget(limits=Limits(seconds=0))) is None
    for budget in (None, Budget(limits=Limits(seconds=60)), Budget(limits=Limits(work=60))):
        duals = relax(ROUND, formulation_of(policy), budget)
        assert duals is not None
        assert set(duals.multipliers) == {"gpus", "cpus", "memory", "quota"}
    assert relax(ROUND, formulation_of(policy_from(LEXICOGRAPHIC)), None) is None


def test_the_last_model_is_built_once() -> None:
    first, second = formulation_of(policy_from(WEIGHTED)), formulation_of(policy_from(LEXICOGRAPHIC))
    model = build(ROUND, first)
    assert build(ROUND, formulation_of(policy_from(WEIGHTED))) is model
    assert build(ROUND, second) is not model
    assert build(round_of([3], [1]), second).column_count == 3
