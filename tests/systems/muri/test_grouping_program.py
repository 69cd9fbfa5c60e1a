"""The exact program of groups says what the rules say: the optimum is that of every grouping, and comes back placed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations_with_replacement
from math import floor

import numpy as np
import pytest
from by_policy import broken_rules, decision_value, formulation_of, settings_of
from seeds import some_then_all
from shared_rounds import authors_ppm, best_grouping, cyclic_ppm, random_round, sharer, sharing_round

from muri_opt import Limits, Node, Proof, Round, policy_from, solve_round
from muri_opt.errors import RefusalError
from muri_opt.modelling import evaluate
from muri_opt.rounds import Limit, Reason
from muri_opt.solve.exact import optimise, relax, search_chapter
from muri_opt.solve.solvers import backend_named, relaxation_duals
from muri_opt.systems.muri import program_search
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_types import MOST_COLUMNS, all_groups
from muri_opt.verify.muri.dual_bound import sharing_bound

FOREVER = Limits(seconds=None)
AUTHORS = "muri-l:preset=authors"


def optima(round_: Round, spec: str) -> set[int]:
    """Return the optimum as HiGHS and CP-SAT find it, each bound and each decoded decision's value with it."""
    program = formulation_of(policy_from(spec))
    found = set()
    for backend in ("highs", "cp-sat"):
        answer = optimise(round_, program, backend, FOREVER, None)
        assert answer.termination.reason is Reason.OPTIMAL
        assert broken_rules(round_, answer.decision, spec) == []
        found |= {answer.bound, decision_value(round_, spec, answer.decision)}
    return found


def heuristic_value(round_: Round, spec: str) -> int:
    """Return the value of the published algorithm, its decision checked as a point of the program and as one."""
    policy = policy_from(spec)
    program = formulation_of(policy)
    decision = policy.decide(round_, seed=0)
    value = decision_value(round_, spec, decision)
    assert broken_rules(round_, decision, spec) == []
    point = program.encode(round_, decision)
    found = evaluate(program.build(round_), point)
    assert (found.broken, found.value) == ((), value)
    again = program.decode(round_, point)
    assert broken_rules(round_, again, spec) == []
    more = program.encode(round_, again) - point  # jobs that would wait beside free GPUs run alone, and nothing else
    assert (more >= 0).all()
    assert decision_value(round_, spec, again) == value + int(more @ program.build(round_).objective)
    assert sum(len(group.jobs) for group in again.assignments) == len(decision.running) + int(more.sum())
    return value


@some_then_all(25, 250)
def test_the_optimum_is_that_of_every_grouping(seeds: range) -> None:
    for seed in seeds:
        round_ = random_round(seed)
        best = best_grouping(round_, cyclic_ppm, min(4, len(round_.resources)))
        assert (seed, optima(round_, "muri-s")) == (seed, {best})
        assert heuristic_value(round_, "muri-s") <= best


@some_then_all(8, 60)
def test_the_optimum_of_the_authors_rules_is_that_of_every_grouping(seeds: range) -> None:
    for seed in seeds:
        round_ = random_round(seed, resources=3)
        best = best_grouping(round_, authors_ppm, 4)
        assert (seed, optima(round_, AUTHORS)) == (seed, {best})
        assert heuristic_value(round_, AUTHORS) <= best


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_smaller_groups_have_the_optimum_of_smaller_groups(largest: int) -> None:
    for seed in range(600, 610):
        round_ = random_round(seed, resources=4)
        spec = f"muri-s:group={largest}"
        assert (seed, optima(round_, spec)) == (seed, {best_grouping(round_, cyclic_ppm, largest)})


def test_every_backend_gives_the_same_optimum_and_the_same_proof() -> None:
    proofs = set()
    for seed in range(8):
        round_ = random_round(seed, resources=4, quotas=False)
        best = best_grouping(round_, cyclic_ppm, 4)
        results = [solve_round(round_, "muri-s", f"exact@{backend}", FOREVER) for backend in ("highs", "cp-sat")]
        assert all(result.certificate.feasible for result in results)
        assert {result.certificate.proof for result in results} == {Proof.LINEAR_DUALS}
        checked = results[0].certificate.checked_bound
        claimed = None if checked == best else best
        said = [(result.value, result.bound, result.claimed_bound) for result in results]
        assert said == [(best, checked, claimed)] * 2
        assert all((result.termination.limit is Limit.CLAIM) == (checked > best) for result in results)
        for method in ("exact", "auto"):
            confirmed = solve_round(round_, "muri-s", method, FOREVER)
            assert (confirmed.value, confirmed.bound, confirmed.claimed_bound) == (best, best, None)
            proofs.add(confirmed.certificate.proof)
            assert confirmed.certificate.proof is (Proof.LINEAR_DUALS if checked == best else Proof.AGREEMENT)
    assert proofs == {Proof.LINEAR_DUALS, Proof.AGREEMENT}


def relaxed_value(round_: Round) -> float:
    """Return the value of the program's linear relaxation, by its duals and the columns at their bounds."""
    model = formulation_of(policy_from("muri-s")).build(round_)
    duals, matrix = relaxation_duals(model, None), model.matrix
    owner = np.repeat(np.arange(model.row_count), np.diff(matrix.starts))
    paid = np.bincount(matrix.columns, duals[owner] * matrix.coefficients, minlength=model.column_count)
    return float(matrix.upper @ duals + np.maximum(0, model.objective - paid) @ model.upper)


def test_the_prices_of_the_relaxation_prove_a_bound() -> None:
    rules, program = "muri-s", formulation_of(policy_from("muri-s"))
    tight = 0
    for seed in range(60):
        round_ = random_round(seed, quotas=seed % 3 == 0)
        best = best_grouping(round_, cyclic_ppm, min(4, len(round_.resources)))
        bound = sharing_bound(round_, settings_of(rules), relax(round_, program, None))
        assert best <= bound
        alike = Counter((job.gpus, job.stage_seconds, job.tenant) for job in round_.jobs)
        if max(alike.values()) <= 2 and all(tenant.quota_gpus is None for tenant in round_.cluster.tenants):
            # Prices are rounded to 2**-20 of a millionth: fewer than 10 of them in each sum, fewer than 10 sums.
            assert bound <= floor(relaxed_value(round_) + 1e-3)
            tight += 1
    assert tight >= 20


def test_the_authors_rules_have_prices_too() -> None:
    program, rules = formulation_of(policy_from(AUTHORS)), AUTHORS
    for seed in range(20):
        round_ = random_round(seed, resources=3)
        bound = sharing_bound(round_, settings_of(rules), relax(round_, program, None))
        result = solve_round(round_, AUTHORS, "exact", FOREVER)
        assert result.value == result.bound <= bound
        assert result.certificate.proof is (Proof.LINEAR_DUALS if bound == result.value else Proof.AGREEMENT)


def test_of_equal_jobs_the_first_in_the_order_run() -> None:
    jobs = [sharer(j, (1, 0, 0, 1), remaining_iterations=n) for j, n in enumerate([5, 2, 4, 1, 3])]
    jobs += [sharer(5 + j, (2, 2, 2, 2), 2, attained_gpu_seconds=float(-j % 4)) for j in range(4)]
    round_ = sharing_round([3], jobs)
    # Three of the larger jobs keep three of four resources busy, three of the smaller ones 6 of 16 seconds.
    shortest = solve_round(round_, "muri-s:group=3", "exact@highs", FOREVER)
    assert shortest.value == 750_000 + 375_000
    assert set(shortest.decision.running) == {"j3", "j1", "j4", "j5", "j6", "j7"}
    least = solve_round(round_, "muri-l:group=3", "exact@highs", FOREVER)
    assert set(least.decision.running) == {"j0", "j1", "j2", "j5", "j8", "j7"}


def test_types_are_equal_jobs_and_a_group_runs_as_often_as_they_allow() -> None:
    jobs = [sharer(j, (1, 2, 0, 0)) for j in range(5)] + [sharer(5, (1, 2, 0, 0), cpus=1), sharer(6, (1, 2, 0, 0), 2)]
    model = formulation_of(policy_from("muri-s:group=2")).build(sharing_round([4], jobs))
    assert model.labels == ("once", "gpus", "cpus", "memory", "quota")
    assert {family.label: family.rhs.tolist() for family in model.rows} == {
        "once": [5, 1, 1],
        "gpus": [4],
        "cpus": [],
        "memory": [],
        "quota": [],
    }
    # Alone: 5, 1; in pairs: 2 of the first type, 1 mixed; the job of two GPUs only alone.
    assert model.upper.tolist() == [5, 1, 2, 1, 1]
    assert model.objective.tolist() == [250_000, 250_000, 300_000, 300_000, 250_000]


@pytest.mark.parametrize("largest", [1, 2, 3, 4])
def test_groups_are_all_multisets_of_a_bucket_that_there_are_jobs_for(largest: int) -> None:
    for seed in range(30):
        rng = random.Random(seed)
        bucket = np.array([rng.randrange(3) for _ in range(rng.randint(0, 9))], dtype=np.int64)
        count = np.array([rng.randint(0, 4) for _ in bucket], dtype=np.int64)
        listed = [
            [*kinds, *[-1] * (largest - size)]
            for name in sorted(set(bucket.tolist()))
            for size in range(1, largest + 1)
            for kinds in combinations_with_replacement(np.flatnonzero(bucket == name).tolist(), size)
            if all(kinds.count(kind) <= count[kind] for kind in kinds)
        ]
        assert all_groups(bucket, count, largest).tolist() == listed


@pytest.mark.parametrize("largest", [1, 2, 3, 4])
def test_entries_count_the_types_of_every_group_and_a_group_is_found_by_its_first_types(largest: int) -> None:
    for seed in range(20):
        round_ = random_round(seed)
        columns = GroupColumns.of(round_, formulation_of(policy_from(f"muri-s:group={largest}")).rules)
        groups = [columns.members(group) for group in range(len(columns.groups))]
        counted = [(group, *pair) for group, members in enumerate(groups) for pair in Counter(members).items()]
        assert [tuple(map(int, entry)) for entry in zip(*columns.entries, strict=True)] == counted
        wanted = groups[seed::5]
        heads = {members[:2] for members in wanted}
        alike = [group for group, members in enumerate(groups) if members[:2] in heads]
        assert columns.beginning_as(wanted).tolist() == alike


def test_too_many_groups_are_refused_by_a_backend_that_is_asked_for() -> None:
    jobs = [sharer(j, (1, j % 7, 1 + j // 7, 2)) for j in range(60)]
    round_ = sharing_round([20], jobs)
    with pytest.raises(RefusalError, match=f"groups of 60 types.*at most {MOST_COLUMNS:,}; take smaller groups"):
        solve_round(round_, "muri-s", "exact@cp-sat")
    assert solve_round(round_, "muri-s:group=2", "exact@highs").termination.reason is Reason.OPTIMAL


def test_of_too_many_groups_some_are_priced() -> None:
    round_ = sharing_round([8], [sharer(j, (1, j % 7, 1 + j // 7, 2)) for j in range(60)])
    heuristic, result = (solve_round(round_, "muri-s", method, Limits(work=2)) for method in ("heuristic", "exact"))
    assert heuristic.value is not None
    assert result.certificate.feasible
    assert "groups were priced" in result.termination.detail
    assert result.value is not None
    assert result.bound is not None
    assert heuristic.value <= result.value <= result.bound <= 1.02 * result.value


def test_where_prices_cannot_be_checked_in_time_there_is_still_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = sharing_round([8], [sharer(j, (1, j % 7, 1 + j // 7, 2)) for j in range(60)])
    program, limits = formulation_of(policy_from("muri-s")), Limits(seconds=600, work=1)
    monkeypatch.setattr(program_search, "CHECK", 1.0)
    answer = search_chapter(round_, program, limits, None)
    assert answer is not None
    assert answer.decision is not None
    again = search_chapter(round_, program, limits, None)
    assert again is not None
    assert again.decision == answer.decision
    assert broken_rules(round_, answer.decision, "muri-s") == []
    bound = sharing_bound(round_, settings_of("muri-s"), answer.duals)
    heuristic = policy_from("muri-s").decide(round_, seed=0)
    assert decision_value(round_, "muri-s", heuristic) <= decision_value(round_, "muri-s", answer.decision) <= bound
    assert search_chapter(round_, program, limits, heuristic) is None


@pytest.mark.parametrize("method", ["exact@highs", "exact@cp-sat", "exact", "auto"])
def test_an_optimum_that_single_nodes_cannot_hold_is_only_a_bound(method: str) -> None:
    """Both nodes together have the four CPUs, but only the second one has the two that a job needs on its GPU."""
    nodes = [Node(id="n0", gpus=1, cpus=1), Node(id="n1", gpus=1, cpus=3)]
    round_ = sharing_round(nodes, [sharer(j, (1, 1 + j, 0, 0), cpus=2) for j in range(2)])
    result = solve_round(round_, "muri-s", method, FOREVER)
    assert (result.termination.reason, result.termination.limit) == (Reason.FEASIBLE, Limit.RELAXATION)
    assert result.value == 250_000
    assert len(result.decision.running) == 1
    assert result.bound >= result.value
    assert result.certificate.feasible


@pytest.mark.parametrize("limited", [{"cpus": 3}, {"memory_gib": 3}])
@pytest.mark.parametrize("second", [(1, 1, 1, 1), (0, 3, 0, 0)])
def test_jobs_that_share_gpus_need_the_cpus_and_memory_of_both(limited: dict, second: tuple) -> None:
    jobs = [sharer(j, times, **dict.fromkeys(limited, 2)) for j, times in enumerate([(1, 1, 1, 1), second])]
    round_ = sharing_round([Node(id="n0", gpus=2, **limited)], jobs)
    result = solve_round(round_, "muri-s", "exact", FOREVER)
    assert (result.value, result.bound, result.termination.reason) == (250_000, 250_000, Reason.OPTIMAL)


def test_the_same_round_gives_the_same_decision() -> None:
    for backend in ("highs", "cp-sat"):
        for seed in (3, 11, 27):
            program = formulation_of(policy_from("muri-s"))
            answers = []
            for other in (50, 51):
                answers.append(optimise(random_round(seed), program, backend, FOREVER, None).decision)
                optimise(random_round(other), program, backend, FOREVER, None)
            assert answers[0] == answers[1]


@pytest.mark.parametrize("spec", ["muri-s", AUTHORS])
def test_without_jobs_or_gpus_nothing_runs(spec: str) -> None:
    program = formulation_of(policy_from(spec))
    for round_ in (
        Round(cluster=sharing_round([2], []).cluster, jobs=(), resources=("storage", "gpu", "network")),
        sharing_round([0], [sharer(0, (1, 2, 3))]),
    ):
        model = program.build(round_)
        outcome = backend_named("highs").solve(model, FOREVER)
        assert (outcome.value, program.decode(round_, outcome.values).assignments) == (0, ())
        assert program.encode(round_, program.decode(round_, outcome.values)).tolist() == [0] * model.column_count
        result = solve_round(round_, spec, "auto", FOREVER)
        assert (result.value, result.certificate.feasible) == (0, True)
