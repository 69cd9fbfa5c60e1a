"""Rounds of several tenants with known answers, on every backend; and what the program is made of."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from by_policy import formulation_of, settings_of
from handmade import gang, round_of
from hypothesis import given, settings, strategies as st
from placement_cases import EveryPlacement, random_lent_round, random_placement_round
from seeds import some_then_all

from muri_opt import Decision, Job, Limits, Node, RefusalError, Round, Tenant, policy_from, solve_round
from muri_opt.modelling import Model, evaluate
from muri_opt.rounds import Assignment, WaitingReason, after
from muri_opt.solve.exact import optimise, relax
from muri_opt.solve.solvers import BACKENDS
from muri_opt.testing.strategies_tenants import tenant_policies, tenant_rounds
from muri_opt.verify.philly.dual_bound import placed_bound
from muri_opt.verify.philly.job_status import Reading

FOREVER = Limits(seconds=None)


def running(position: int, gpus: int, node: int, **fields: object) -> Job:
    return gang(position, gpus, state="running", placement={f"n{node}": gpus}, **fields)


def waiting(position: int, gpus: int, seconds: float = 0.0, **fields: object) -> Job:
    return gang(position, gpus, waiting_seconds=seconds, **fields)


def on_every_backend(round_: Round, spec: str) -> list[dict[str, dict[str, int]]]:
    """Return where the jobs are by the optimum of each backend; all of one value, feasible, and no less the bound."""
    found, values = [], set()
    columns = formulation_of(policy_from(spec)).build(round_).column_count
    for name, backend in BACKENDS.items():
        if columns > (backend.capabilities.most_columns or columns):
            with pytest.raises(RefusalError, match="columns"):
                solve_round(round_, spec, f"exact@{name}")
            continue
        result = solve_round(round_, spec, f"exact@{name}")
        assert result.certificate.feasible
        assert result.value == result.bound
        values.add(result.value)
        found.append({assignment.jobs[0]: dict(assignment.gpus) for assignment in result.decision.assignments})
    assert len(values) == 1
    return found


def row_sizes(model: Model) -> dict[str, int]:
    return {family.label: len(family) for family in model.rows if len(family)}


def test_a_job_goes_to_the_node_it_fills() -> None:
    round_ = round_of([8, 8], [running(0, 4, 0), running(1, 6, 1), waiting(2, 2)])
    assert [places["j2"] for places in on_every_backend(round_, "philly")] == [{"n1": 2}] * len(BACKENDS)


def test_three_servers_are_defragmented_by_two_migrations_of_three_gpus() -> None:
    loads = ((4, 0), (2, 0), (1, 0), (4, 1), (2, 1), (4, 2), (2, 2), (1, 2))
    jobs = [running(j, gpus, node, restart_seconds=60.0) for j, (gpus, node) in enumerate(loads)]
    round_ = round_of([8, 8, 8], [*jobs, waiting(8, 4)])
    for places in on_every_backend(round_, "philly:migrate=inf"):
        moved = [gpus for j, (gpus, node) in enumerate(loads) if places[f"j{j}"] != {f"n{node}": gpus}]
        assert sorted(moved) == [1, 2]
        assert len(places["j8"]) == 1
    assert all("j8" not in places for places in on_every_backend(round_, "philly"))
    assert all("j8" not in places for places in on_every_backend(round_, "philly:migrate=2"))


def test_nobody_is_evicted_for_a_gang_that_pinned_jobs_keep_out() -> None:
    tenants = [Tenant(id="high"), Tenant(id="low", quota_gpus=0)]
    jobs = [running(8 * s + k, 1, s, tenant="high") for s in range(4) for k in range(6)]
    jobs += [running(8 * s + k, 1, s, tenant="low", restart_seconds=0.0) for s in range(4) for k in (6, 7)]
    round_ = round_of([8] * 4, [*jobs, waiting(40, 8, tenant="high")], tenants)
    for places in on_every_backend(round_, "philly"):
        assert len(places) == 32
        assert "j40" not in places
    result = solve_round(round_, "philly", "exact@highs")
    assert [(entry.job, entry.reason) for entry in result.decision.waiting] == [("j40", WaitingReason.CAPACITY)]
    later = round_of([8] * 4, [*jobs, waiting(40, 8, tenant="high"), waiting(41, 1, tenant="high")], tenants)
    for places in on_every_backend(later, "philly"):
        assert len(places) == 32  # one GPU that was lent is taken back
        assert "j41" in places
        assert "j40" not in places


def test_quotas_come_before_preemptions_and_these_before_worth() -> None:
    tenants = [Tenant(id="a", quota_gpus=2), Tenant(id="b", quota_gpus=2)]
    lent = [running(0, 2, 0, tenant="b", restart_seconds=0.0), running(1, 2, 0, tenant="b", restart_seconds=0.0)]
    asked = round_of([4], [*lent, waiting(2, 1, 90_000.0, tenant="a")], tenants)
    for places in on_every_backend(asked, "philly"):  # one of the two, though worth and GPUs in use are lost
        assert sorted(places) in (["j0", "j2"], ["j1", "j2"])
    assert all(sorted(places) == ["j0", "j1"] for places in on_every_backend(asked, "philly:preempt_at=never"))
    assert all(sorted(places) == ["j0", "j1"] for places in on_every_backend(asked, "philly:objective=weighted"))
    borrowed = round_of([4], [*lent, waiting(2, 4, 90_000.0, tenant="b")], tenants)
    assert all(sorted(places) == ["j0", "j1"] for places in on_every_backend(borrowed, "philly"))


def test_who_was_preempted_starts_again_where_there_is_room() -> None:
    tenants = [Tenant(id="a", quota_gpus=4), Tenant(id="b", quota_gpus=1)]
    lent = [running(0, 2, 0, tenant="b", restart_seconds=0.0), running(1, 1, 1, tenant="b"), running(2, 1, 1)]
    round_ = round_of([4, 4], [*lent, waiting(3, 4, tenant="a")], tenants)
    for places in on_every_backend(round_, "philly:preempt_at=0.5"):
        assert places == {"j0": {"n1": 2}, "j1": {"n1": 1}, "j2": {"n1": 1}, "j3": {"n0": 4}}
    program = formulation_of(policy_from("philly:preempt_at=0.5"))
    model = program.build(round_)
    point = program.encode(round_, solve_round(round_, "philly:preempt_at=0.5", "heuristic").decision)
    assert evaluate(model, point).broken == ()
    named = dict(zip(model.column_names, point.tolist(), strict=True))
    assert (named["x_0"], named["e_0"], named["y_0_0"], named["p_1"]) == (0, 0, 1, 1)
    # A tenant that has no more than its quota keeps it: such a job may start again, and cannot be preempted for good.
    within = [Tenant(id="a", quota_gpus=4), Tenant(id="b", quota_gpus=3)]
    for places in on_every_backend(round_of([4, 4], [*round_.jobs], within), "philly:preempt_at=0.5"):
        assert places["j0"] == {"n1": 2}
    full = [*lent[:2], running(2, 3, 1), waiting(3, 4, tenant="a")]
    assert all("j3" not in places for places in on_every_backend(round_of([4, 4], full, within), "philly:preempt_at=0"))


def test_a_gang_spreads_as_far_as_it_has_waited() -> None:
    nodes = [Node(id=f"n{s}", gpus=4, rack=f"r{s // 2}") for s in range(4)]
    for seconds, taken, nodes_used in ((0.0, (3, 3, 3, 3), 0), (700.0, (2, 3, 3, 3), 0), (700.0, (2, 2, 3, 3), 2)):
        jobs = [running(s, gpus, s) for s, gpus in enumerate(taken)]
        for places in on_every_backend(round_of(nodes, [*jobs, waiting(4, 4, seconds)]), "philly"):
            assert len(places.get("j4", {})) == nodes_used
    jobs = [running(s, 3, s) for s in range(4)]
    for places in on_every_backend(round_of(nodes, [*jobs, waiting(4, 4, 1800.0)]), "philly"):
        assert places["j4"] == {f"n{s}": 1 for s in range(4)}


def test_a_gang_that_no_rack_holds_is_together_on_few_nodes_and_else_anywhere() -> None:
    nodes = [Node(id=f"n{s}", gpus=4, rack=f"r{s}") for s in range(3)]
    jobs = [running(s, 2, s) for s in range(3)]
    for seconds, nodes_used in ((700.0, 0), (1800.0, 3)):
        for places in on_every_backend(round_of(nodes, [*jobs, waiting(3, 6, seconds)]), "philly"):
            assert len(places.get("j3", {})) == nodes_used


def test_waiting_jobs_alike_are_counted_and_alike_nodes_are_left_out() -> None:
    same = [waiting(j, 3, 10.0, submitted=0.0) for j in range(3)]
    round_ = round_of([8] * 6, [*same, waiting(3, 3, 20_000.0)])
    program = formulation_of(policy_from("philly:rack_after=30000,any_after=30000"))
    table, model = program.table(round_), program.build(round_)
    assert [item.jobs for item in table.placements.items] == [(0, 1, 2), (3,)]
    assert table.nodes.seen.tolist() == [True] * 4 + [False] * 2
    assert model.column_count == 1 + 2 + 8
    assert model.upper.tolist() == [1, 3, 1, *[2] * 4, *[1] * 4]
    assert row_sizes(model) == {"whole": 2, "gpus": 4}
    answer = optimise(round_, program, "highs", FOREVER, None)
    assert sorted(answer.decision.running) == ["j0", "j1", "j2", "j3"]
    elsewhere = {"j0": "n5", "j2": "n5", "j3": "n4"}
    assignments = tuple(Assignment(jobs=(job,), gpus={node: 3}) for job, node in elsewhere.items())
    point = program.encode(round_, Decision(assignments=assignments))
    assert evaluate(model, point).broken == ()
    assert point.tolist() == [1, 2, 1, 2, 0, 0, 0, 0, 1, 0, 0]


def test_a_decision_the_columns_cannot_say_breaks_a_row() -> None:
    round_ = round_of([4, 4], [running(0, 3, 0), waiting(1, 2)])
    program = formulation_of(policy_from("philly"))
    decision = policy_from("philly").decide(round_, seed=0)
    first, second = decision.assignments
    crowded = (first, msgspec.structs.replace(second, gpus={"n0": 2}))
    point = program.encode(round_, msgspec.structs.replace(decision, assignments=crowded))
    assert [broken.label for broken in evaluate(program.build(round_), point).broken] == ["whole"]


def test_gangs_with_nodes_of_their_own_take_them_whole() -> None:
    jobs = [running(0, 4, 0, restart_seconds=0.0), running(1, 1, 1, restart_seconds=0.0), waiting(2, 1), waiting(3, 4)]
    round_ = round_of([8, 8, 8], jobs)
    model = formulation_of(policy_from("philly:dedicated=4,migrate=inf")).build(round_)
    assert row_sizes(model)["beside"] == 1
    for places in on_every_backend(round_, "philly:dedicated=4"):
        assert places["j2"] == {"n1": 1}
        assert places["j3"] == {"n2": 4}


def test_the_stages_add_up_to_the_objective() -> None:
    tenants = [Tenant(id="a", quota_gpus=2)]
    jobs = [running(0, 2, 0, tenant="a", restart_seconds=0.0), running(1, 2, 0, tenant="a"), waiting(2, 1)]
    round_ = round_of([4], jobs, tenants)
    program = formulation_of(policy_from("philly"))
    model = program.build(round_)
    stages = program.stages(round_, model)
    status = program.table(round_).status
    assert [stage.weight for stage in stages] == [status.values.premium, status.values.penalty, 1]
    assert np.array_equal(sum(stage.weight * stage.objective for stage in stages), model.objective)
    weighted = formulation_of(policy_from("philly:objective=weighted"))
    (only,) = weighted.stages(round_, weighted.build(round_))
    assert np.array_equal(only.objective, weighted.build(round_).objective)
    pinned = formulation_of(policy_from("philly:preempt_at=never"))
    assert [stage.best for stage in pinned.stages(round_, pinned.build(round_))] == [4, 1250 * 5]


def test_an_empty_round_has_an_empty_decision() -> None:
    result = solve_round(round_of([4, 4], []), "philly", "exact@highs")
    assert (result.value, result.bound, result.decision.assignments) == (0, 0, ())


def test_prices_from_the_relaxation_bound_every_round_and_prove_many() -> None:
    proved = 0
    for seed in range(30):
        round_, spec = random_placement_round(seed)
        program = formulation_of(policy_from(spec))
        bound = placed_bound(round_, Reading.of(round_, settings_of(spec)), relax(round_, program, None))
        optimum = optimise(round_, program, "highs", FOREVER, None).bound
        assert bound >= optimum
        proved += bound == optimum
    assert proved >= 9  # 28 of the first 60 were, when this was written


@some_then_all(15, 60)
def test_borrowers_that_start_again_are_part_of_the_optimum_and_stay_there(seeds: range) -> None:
    restarted = 0
    for seed in seeds:
        round_, spec = random_lent_round(seed)
        before = {job.id: job.placement for job in round_.jobs if job.state == "running"}
        for method in ("heuristic", "exact@highs"):
            result = solve_round(round_, spec, method)
            assert result.certificate.feasible
            places = {a.jobs[0]: dict(a.gpus) for a in result.decision.assignments}
            restarted += any(places.get(job, held) != held for job, held in before.items())
            if method == "heuristic" or "preempt_at=0." not in spec:
                again = solve_round(after(round_, result.decision), spec, method).decision
                assert {a.jobs[0]: dict(a.gpus) for a in again.assignments} == places
        assert result.value == result.bound == EveryPlacement(round_, spec).best()
    assert 5 * restarted >= len(seeds)


@given(
    tenant_rounds(), tenant_policies(without=("migrate", "objective", "preempt_at")), st.sampled_from(("0", "never"))
)
@settings(max_examples=25)
def test_solving_again_changes_nothing(round_: Round, spec: str, preempt_at: str) -> None:
    spec = f"{spec}{',' if ':' in spec else ':'}preempt_at={preempt_at}"
    first = solve_round(round_, spec, "exact@highs").decision
    then = after(round_, first)
    second = solve_round(then, spec, "exact@highs").decision
    assert {a.jobs[0]: dict(a.gpus) for a in second.assignments} == {a.jobs[0]: dict(a.gpus) for a in first.assignments}
    before = {job.id: job.placement for job in round_.jobs if job.state == "running"}
    preempted = [job.id for job in then.jobs if job.id in before and job.placement != before[job.id]]
    assert set(first.running) - set(before) or not preempted
