"""The exact program of gangs says what the rules say: not too tight, not too loose, and back again."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import feasible_splits, optimum, values
from by_policy import broken_rules, decision_value, formulation_of
from handmade import gang, round_of
from hypothesis import example, given, strategies as st
from more_examples import more_examples

from muri_opt import Decision, Limits, Node, Round, Tenant, policy_from
from muri_opt.modelling import Ints, Model, ModelBuilder, Values, combined_value, evaluate
from muri_opt.solve.solvers import backend_named, solve_stages
from muri_opt.systems import Formulation
from muri_opt.systems.capacity import gang_decision
from muri_opt.systems.gangs import GangFormulation
from muri_opt.systems.gangs.program_places import OpenPart, Places
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import rounds

FOREVER = Limits(seconds=None)
SPECS = st.builds(
    "{}:objective={},nodes={},preempt={}".format,
    st.sampled_from(sorted(ORDERS)),
    st.sampled_from(["weighted", "lexicographic"]),
    st.sampled_from(["any", "fewest"]),
    st.sampled_from(["yes", "no"]),
)


class Apart(GangFormulation):
    """The same program with every node a place of its own."""

    def _places(self, part: OpenPart) -> Places:
        return Places.of(part.amounts, pool=False)


def best_value(program: Formulation, round_: Round, backend: str = "highs") -> int:
    model = program.build(round_)
    outcome = solve_stages(backend_named(backend), model, program.stages(round_, model), FOREVER)
    assert outcome.termination.reason == "OPTIMAL"
    assert outcome.value == outcome.bound
    return outcome.value


@given(rounds(), SPECS)
@example(round_of([Node(id="n0", gpus=1, cpus=0)], [gang(0, 1), gang(1, 1, cpus=1)]), "fifo")
def test_a_list_schedule_is_a_feasible_point_and_comes_back(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    program = formulation_of(policy)
    decision = policy.decide(round_, seed=0)
    model = program.build(round_)
    point = program.encode(round_, decision)
    found = evaluate(model, point)
    assert found.broken == ()
    assert found.value == decision_value(round_, f"{policy.name}:objective=weighted,preempt={policy.preempt}", decision)
    reached = [int(np.dot(stage.objective, point)) for stage in program.stages(round_, model)]
    assert combined_value(program.stages(round_, model), reached) == decision_value(round_, spec, decision)
    again = program.decode(round_, point)
    assert again.running == decision.running
    assert broken_rules(round_, again, spec) == []
    assert decision_value(round_, spec, again) == decision_value(round_, spec, decision)


@given(rounds(max_jobs=3, max_nodes=2), st.sampled_from(sorted(ORDERS)), st.booleans())
@more_examples(60)
def test_no_feasible_decision_is_cut_off(round_: Round, order: str, fewest: bool) -> None:
    program = GangFormulation(order=order, objective="weighted", nodes="fewest" if fewest else "any")
    model = program.build(round_)
    worth = values(round_, order, lexicographic=False)
    for splits in feasible_splits(round_, fewest=fewest):
        shares = {j: np.array(split) for j, split in enumerate(splits) if split is not None}
        decision = gang_decision(round_, shares, consolidate=fewest)
        found = evaluate(model, program.encode(round_, decision))
        assert found.broken == ()
        assert found.value == sum(worth[round_.jobs[j].id] for j in shares)


@given(rounds(max_jobs=6), SPECS)
@more_examples(60)
def test_an_optimum_is_a_feasible_decision_of_the_same_value(round_: Round, spec: str) -> None:
    program = formulation_of(policy_from(spec))
    model = program.build(round_)
    outcome = solve_stages(backend_named("highs"), model, program.stages(round_, model), FOREVER)
    decision = program.decode(round_, outcome.values)
    assert broken_rules(round_, decision, spec) == []
    assert decision_value(round_, spec, decision) == outcome.value


@given(rounds(max_jobs=4, max_nodes=2), st.sampled_from(sorted(ORDERS)), st.booleans(), st.booleans(), st.booleans())
@more_examples(100)
def test_the_program_equals_trying_everything(
    round_: Round, order: str, lexicographic: bool, fewest: bool, preempt: bool
) -> None:
    objective, nodes = "lexicographic" if lexicographic else "weighted", "fewest" if fewest else "any"
    program = GangFormulation(order=order, objective=objective, nodes=nodes, preempt=preempt)
    best = optimum(round_, order, lexicographic=lexicographic, fewest=fewest, preempt=preempt)
    assert best_value(program, round_) == best


@given(rounds(max_nodes=4), st.sampled_from(sorted(ORDERS)))
@more_examples(60)
def test_merging_nodes_into_a_pool_keeps_the_optimum(round_: Round, order: str) -> None:
    pooled = GangFormulation(order=order, objective="weighted", nodes="any")
    apart = Apart(order=order, objective="weighted", nodes="any")
    assert apart.build(round_).column_count >= pooled.build(round_).column_count
    assert best_value(pooled, round_) == best_value(apart, round_)


def test_nodes_that_only_count_gpus_are_one_place() -> None:
    nodes = [
        Node(id="n0", gpus=4, cpus=7.999),
        Node(id="n1", gpus=4, cpus=8, memory_gib=100),
        Node(id="n2", gpus=2),
        Node(id="n3", gpus=3, memory_gib=2),
    ]
    round_ = round_of(nodes, [gang(0, 2, cpus=4, memory_gib=2), gang(1, 5)])
    pooled = Places.of(round_.amounts, pool=True)
    assert pooled.of_node.tolist() == [1, 0, 0, 2]
    assert pooled.G.tolist() == [6, 4, 3]
    assert pooled.pairs.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert pooled.most.tolist() == [2, 2, 2, 5, 4, 3]
    apart = Places.of(round_.amounts, pool=False)
    assert apart.of_node.tolist() == [0, 1, 2, 3]
    assert apart.fits.tolist() == [True, True]


def test_a_share_that_its_place_does_not_have_is_an_error() -> None:
    places = Places.of(round_of([2, 2], [3]).amounts, pool=True)
    with pytest.raises(ValueError, match="place 0 has fewer than 3 free GPUs"):
        places.on_nodes(np.array([3]), np.array([1, 1]), None)


def test_running_jobs_keep_their_gpus_in_a_pool() -> None:
    jobs = [
        gang(0, 3),
        gang(1, 2, state="running", placement={"n0": 1, "n2": 1}),
        gang(2, 2, state="running", placement={"n1": 2}),
    ]
    round_ = round_of([3, 3, 3], jobs)
    program = GangFormulation(order="fifo", objective="weighted", nodes="any")
    model = program.build(round_)
    assert model.column_count == 6
    outcome = backend_named("highs").solve(model, FOREVER)
    placed = {assignment.jobs[0]: assignment.gpus for assignment in program.decode(round_, outcome.values).assignments}
    assert placed["j1"] == {"n0": 1, "n2": 1}
    assert placed["j2"] == {"n1": 2}
    assert sum(placed["j0"].values()) == 3


def test_gangs_that_best_fit_cannot_pack_go_where_the_values_put_them() -> None:
    """Largest first, best fit leaves one GPU free on each node and a gang of 2 outside; 4 + 4 + 2 and 5 + 3 + 2 fit."""
    round_ = round_of([10, 10], [5, 4, 4, 3, 2, 2])
    program = GangFormulation(order="fifo", objective="weighted", nodes="fewest")
    outcome = backend_named("highs").solve(program.build(round_), FOREVER)
    decision = program.decode(round_, outcome.values)
    assert len(decision.running) == 6
    assert all(len(assignment.gpus) == 1 for assignment in decision.assignments)
    assert broken_rules(round_, decision, "fifo:nodes=fewest") == []


def test_the_program_of_two_gangs_row_by_row() -> None:
    nodes = [Node(id="n0", gpus=4, cpus=2), Node(id="n1", gpus=2, memory_gib=1)]
    jobs = [gang(0, 3, tenant="t", cpus=3), gang(1, 2, tenant="t", memory_gib=4), gang(2, 9)]
    round_ = round_of(nodes, jobs, [Tenant(id="t", quota_gpus=4)])
    model = GangFormulation(order="fifo", objective="weighted", nodes="fewest").build(round_)
    assert [family.label for family in model.columns] == ["a", "x", "b"]
    assert model.labels == ("gang", "gpus", "cpus", "memory", "quota", "link", "whole", "few")
    # j0 fits 2 GPUs on n0 (a CPU each) and 2 on n1; j1 only on n0 (2 GiB each); j2 nowhere.
    assert model.upper.tolist() == [1, 1, 0, 2, 2, 2, 1, 1, 1]
    assert model.objective.tolist() == [9, 4, 9, 0, 0, 0, 0, 0, 0]
    assert {family.label: family.rhs.tolist() for family in model.rows} == {
        "gang": [0, 0, 0],
        "gpus": [4, 2],
        "cpus": [2000],
        "memory": [1024],
        "quota": [4],
        "link": [0, 0],
        "whole": [0],
        "few": [2, 1],
    }


def test_lexicographic_stages_are_blocks_of_binary_digits() -> None:
    round_ = round_of([4], [gang(j, 1, submitted=float(-j % 20)) for j in range(20)])
    program = GangFormulation(order="fifo", objective="lexicographic", nodes="any")
    model = program.build(round_)
    first, second = program.stages(round_, model)
    assert (first.weight, first.best, second.weight, second.best) == (16, 2**16 - 1, 1, 15)
    assert first.objective[[0, 19, 5]].tolist() == [2**15, 2**14, 1]
    assert second.objective[[4, 3, 2, 1]].tolist() == [8, 4, 2, 1]


def test_without_jobs_there_is_one_empty_stage() -> None:
    program = GangFormulation(order="fifo", objective="lexicographic", nodes="fewest")
    model = program.build(round_of([4], []))
    (stage,) = program.stages(round_of([4], []), model)
    assert stage.objective.tolist() == []
    assert best_value(program, round_of([4], [])) == 0


def test_a_program_without_prices_says_so() -> None:
    class Silent(Formulation):
        chapter = "silent"

        def build(self, round_: Round) -> Model:
            builder = ModelBuilder("silent")
            builder.add_columns("a", np.arange(2))
            return builder.finish(maximise=True, columns=[0, 1], coefficients=[3, 4])

        def decode(self, round_: Round, values: Values) -> Decision:
            return Decision()

        def encode(self, round_: Round, decision: Decision) -> Ints:
            return np.zeros(2, dtype=np.int64)

    round_, program = round_of([1], [1]), Silent()
    model = program.build(round_)
    assert program.quick_duals(round_) is None
    assert program.duals(round_, model, np.zeros(0)) is None
    assert best_value(program, round_) == 7
