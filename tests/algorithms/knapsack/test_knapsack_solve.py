"""The best choice is found and proved: against brute force, against whole programs, at the edges."""

import numpy as np
import pytest
from option_draws import brute_force, check, options_of_tenants, small_options, table_options, whole_program
from seeds import seed_by_seed, some_then_all

from muri_opt.algorithms.knapsack import (
    Basis,
    Options,
    feasible_choice,
    lagrangian,
    quick_answer,
    rest_program,
    solve as solve_module,
    solve_options,
)
from muri_opt.algorithms.knapsack.core_enumeration import _signs
from muri_opt.algorithms.knapsack.local_search import enumerated
from muri_opt.rounds import Budget, Limit, Limits, Reason
from muri_opt.solve.solvers import backend_named
from muri_opt.solve.solvers.outcome import nothing

UNTIMED = Limits(seconds=None)


def refuse(model, limits, start):
    raise AssertionError("no solver should be needed")


@seed_by_seed(80, 250)
def test_small_programs_equal_brute_force_with_and_without_enumeration(seed, monkeypatch):
    options = small_options(seed)
    best = brute_force(options)
    quick = quick_answer(options, UNTIMED)
    check(options, quick)
    assert quick.value <= best <= quick.bound
    answer = solve_options(options, refuse, UNTIMED)
    check(options, answer)
    assert (answer.value, answer.bound, answer.termination.reason) == (best, best, Reason.OPTIMAL)
    assert answer.basis in (Basis.MULTIPLIERS, Basis.ENUMERATION)
    monkeypatch.setattr(solve_module, "_WIDTHS", ())
    answer = solve_options(options, backend_named("exhaustive" if seed % 2 else "highs").solve, UNTIMED)
    check(options, answer)
    assert (answer.value, answer.bound, answer.termination.reason) == (best, best, Reason.OPTIMAL)


@pytest.mark.parametrize("tenants", [3, 4, 5, 6, 8])
@some_then_all(5, 24)
def test_quotas_of_several_tenants_against_brute_force(seeds, tenants):
    for seed in seeds:
        options = options_of_tenants(seed, 5, tenants)
        best = brute_force(options)
        answer = solve_options(options, backend_named("exhaustive").solve, UNTIMED)
        check(options, answer)
        assert (answer.value, answer.bound, answer.termination.reason) == (best, best, Reason.OPTIMAL)


@pytest.mark.parametrize("tenants", [8, 12, 64])
def test_of_many_tenants_not_all_directions_are_looked_in(tenants):
    """There are 3 to the number of capacities of them: of twelve tenants a million and a half, of 64 more than fit."""
    options = options_of_tenants(tenants, 100, tenants)
    quick = quick_answer(options, UNTIMED)
    check(options, quick)
    assert quick.bound - quick.value <= 0.03 * quick.bound
    assert len(_signs(tenants)) <= 2 * tenants + 1
    assert not _signs(tenants)[0].any()


@seed_by_seed(50, 150)
def test_fixing_never_loses_a_better_choice(seed):
    every = small_options(1000 + seed)
    options = every.only(every.worthwhile())
    priced = lagrangian(options)
    best = brute_force(options)
    for choice in (np.full(options.jobs, -1), feasible_choice(options, priced)):
        value = options.worth(choice)
        if priced.gap(value) < 0:
            assert value == best
            continue
        rest = rest_program(options, priced, choice)
        assert np.array_equal(np.sort(rest.choice(rest.start)), np.sort(choice))
        outcome = backend_named("highs").solve(rest.model, UNTIMED, rest.start)
        found = rest.choice(outcome.values)
        assert options.fits(found)
        assert options.worth(found) == outcome.value + rest.worth == best


@pytest.mark.parametrize(
    ("kind", "jobs", "seed"),
    [
        ("noisy", 12, 1),
        ("noisy", 40, 2),
        ("types", 40, 2),
        pytest.param("correlated", 12, 1, marks=pytest.mark.slow),
        pytest.param("types", 12, 1, marks=pytest.mark.slow),
    ],
)
def test_middle_programs_equal_the_whole_program(kind, jobs, seed):
    options = table_options(jobs, kind, seed)
    answer = solve_options(options, backend_named("highs").solve, UNTIMED)
    check(options, answer)
    assert answer.value == answer.bound
    whole = backend_named("cp-sat" if kind == "types" else "highs").solve(whole_program(options), UNTIMED)
    assert whole.termination.reason is Reason.OPTIMAL
    assert answer.value == whole.value


@pytest.mark.parametrize(
    ("kind", "jobs", "seed"), [("noisy", 30, 4), ("noisy", 60, 3), ("types", 30, 2), ("types", 60, 4)]
)
def test_the_solver_over_what_is_left_agrees_with_enumeration(kind, jobs, seed, monkeypatch):
    options = table_options(jobs, kind, seed)
    first = solve_options(options, backend_named("highs").solve, UNTIMED)
    monkeypatch.setattr(solve_module, "_WIDTHS", ())
    second = solve_options(options, backend_named("highs").solve, UNTIMED)
    check(options, second)
    assert second.basis is Basis.SOLVER
    assert 0 < second.left < len(options) // 5
    assert first.value == second.value == second.bound


@pytest.mark.parametrize("kind", [pytest.param("noisy", marks=pytest.mark.slow), "correlated", "types"])
def test_a_thousand_jobs_are_answered_within_two_parts_in_ten_thousand(kind):
    options = table_options(1000, kind, 7)
    answer = quick_answer(options, UNTIMED)
    check(options, answer)
    assert answer.basis is Basis.MULTIPLIERS
    assert (answer.bound - answer.value) * 5000 < answer.value
    again = quick_answer(options, UNTIMED)
    assert np.array_equal(answer.choice, again.choice)
    assert answer.priced.prices == again.priced.prices


def test_the_limits_end_the_search():
    options = table_options(40, "correlated", 1)
    late = solve_options(options, refuse, Limits(seconds=0.0))
    check(options, late)
    assert (late.termination.reason, late.termination.limit) == (Reason.FEASIBLE, Limit.TIME)
    loose = solve_options(options, refuse, Limits(seconds=None, gap=0.05))
    check(options, loose)
    assert (loose.termination.reason, loose.termination.limit) == (Reason.FEASIBLE, Limit.GAP)


def test_a_solver_that_finds_nothing_leaves_answer_and_bound(monkeypatch):
    monkeypatch.setattr(solve_module, "_WIDTHS", ())
    options = table_options(15, "noisy", 1)

    def give_up(model, limits, start):
        return nothing(Reason.NO_SOLUTION, "gave up", Limit.TIME)

    def know_little(model, limits, start):
        return nothing(Reason.NO_SOLUTION, "gave up", Limit.TIME, bound=10**15)

    for solver in (give_up, know_little):
        answer = solve_options(options, solver, UNTIMED)
        check(options, answer)
        assert (answer.bound, answer.basis) == (answer.priced.bound, Basis.MULTIPLIERS)
        assert answer.termination.limit is Limit.TIME
        assert "gave up" in answer.termination.detail


def test_no_jobs_no_options_no_resources_no_capacity():
    empty = Options.of([], [], [], [5], jobs=0)
    assert (solve_options(empty, refuse, UNTIMED).value, len(quick_answer(empty, UNTIMED).choice)) == (0, 0)
    without = Options.of([], [], [], [5, 6], jobs=3)
    assert solve_options(without, refuse, UNTIMED).choice.tolist() == [-1, -1, -1]
    unlimited = Options.of([0, 0, 1], [3, 7, -2], np.zeros((3, 0), dtype=int), [], jobs=2)
    assert solve_options(unlimited, refuse, UNTIMED).choice.tolist() == [1, -1]
    nothing_left = Options.of([0, 0, 1], [3, 7, 2], [[0], [1], [0]], [0], jobs=2)
    assert solve_options(nothing_left, refuse, UNTIMED).choice.tolist() == [0, 2]
    free = Options.of([0, 1], [3, 7], [[0, 0], [0, 0]], [0, 4], jobs=2)
    assert solve_options(free, refuse, UNTIMED).value == 10
    single = Options.of([0], [4], [[5]], [5], jobs=1)
    assert solve_options(single, refuse, UNTIMED).choice.tolist() == [0]
    too_large = Options.of([0], [4], [[6]], [5], jobs=1)
    assert solve_options(too_large, refuse, UNTIMED).choice.tolist() == [-1]


def test_huge_numbers_are_answered_and_what_no_solver_takes_is_said():
    job, value = [0, 0, 1, 1, 2], [2**60, 2**59 + 3, 2**60 + 7, 2**58, 2**61]
    use = [[2**60, 3], [2**59, 1], [2**60 + 1, 2], [2**57, 9], [2**61, 4]]
    options = Options.of(job, value, use, [2**61, 20], jobs=3)
    answer = solve_options(options, backend_named("highs").solve, UNTIMED)
    check(options, answer)
    assert not answer.priced.exact
    best = brute_force(options)
    assert answer.value <= best <= answer.bound
    assert answer.value == best or (answer.termination.limit is Limit.SIZE and answer.left > 0)
    exact = solve_options(options, backend_named("exhaustive").solve, UNTIMED)
    check(options, exact)
    assert exact.value == exact.bound == best


def test_where_too_much_is_open_to_enumerate_a_better_answer_is_looked_for_first(monkeypatch):
    monkeypatch.setattr(solve_module, "_STATES", 0)
    options = table_options(30, "noisy", 4)
    answer = solve_options(options, backend_named("highs").solve, UNTIMED)
    check(options, answer)
    assert answer.basis is Basis.SOLVER
    assert answer.value == answer.bound == backend_named("cp-sat").solve(whole_program(options), UNTIMED).value


def test_time_that_runs_out_during_the_enumeration_proves_nothing():
    every = table_options(30, "noisy", 4)
    priced = lagrangian(every)
    waiting = np.full(every.jobs, -1)
    late = enumerated(every, priced, waiting, 10**6, Budget(limits=Limits(seconds=0)))
    assert not late.proved
    assert late.choice is None or every.fits(late.choice)
