"""Prices of odd sets: pairs of jobs of one size are proved to be best, and never less than every grouping."""

from __future__ import annotations

import numpy as np
import pytest
from by_policy import decision_value, formulation_of, settings_of
from seeds import some_then_all
from shared_rounds import best_grouping, cyclic_ppm, random_round, sharer, sharing_round

from muri_opt import Limits, Proof, Round, policy_from, solve_round, verify
from muri_opt.rounds import LinearDuals, MatchingDuals, result_json
from muri_opt.solve.exact import optimise, relax
from muri_opt.solve.results import parse_result
from muri_opt.systems.muri import program, program_duals
from muri_opt.verify.muri.dual_bound import sharing_bound

FOREVER = Limits(seconds=None)
PAIRS = "muri-s:group=2"


def equal_gpus(jobs: int, gpus: int, seed: int, each: int = 1, types: int | None = None) -> Round:
    """Return jobs of random stage times that ask for ``each`` GPUs, of a few types or all different."""
    draw = np.random.default_rng(seed)
    times = draw.integers(1, 1000, (types or jobs, 4)) / 1000
    of = range(jobs) if types is None else draw.integers(0, types, jobs).tolist()
    return sharing_round([gpus], [sharer(j, times[of[j]].tolist(), each) for j in range(jobs)])


def linear_only(monkeypatch: pytest.MonkeyPatch, round_: Round, spec: str) -> LinearDuals:
    with monkeypatch.context() as patched:
        patched.setattr(program, "matching_duals", lambda *_: None)
        duals = relax(round_, formulation_of(policy_from(spec)), None)
    assert isinstance(duals, LinearDuals)
    return duals


@pytest.mark.parametrize("objective", ["efficiency", "gpu-time"])
@pytest.mark.parametrize(
    ("jobs", "gpus", "each", "types"),
    [(9, 3, 1, None), (15, 8, 1, None), (21, 40, 2, None), (21, 22, 2, None), (31, 12, 1, 5)],
)
@some_then_all(3, 12)
def test_pairs_of_one_size_are_proved_to_be_best(
    monkeypatch: pytest.MonkeyPatch, seeds: range, objective: str, jobs: int, gpus: int, each: int, types: int | None
) -> None:
    """The optimum is that of the exact program; linear prices alone often prove less."""
    spec = f"{PAIRS},objective={objective}"
    formulation, rules = formulation_of(policy_from(spec)), settings_of(spec)
    for seed in seeds:
        round_ = equal_gpus(jobs, gpus, seed, each, types)
        duals = relax(round_, formulation, None)
        assert isinstance(duals, MatchingDuals)
        answer = optimise(round_, formulation, "highs", FOREVER, None)
        best = decision_value(round_, spec, answer.decision)
        assert (seed, sharing_bound(round_, rules, duals)) == (seed, best)
        assert sharing_bound(round_, rules, linear_only(monkeypatch, round_, spec)) >= best


def test_odd_cycles_are_where_linear_prices_fall_short(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, short = settings_of(PAIRS), 0
    for seed in range(10):
        round_ = equal_gpus(41, 21, seed)
        duals = relax(round_, formulation_of(policy_from(PAIRS)), None)
        better = sharing_bound(round_, rules, duals) < sharing_bound(
            round_, rules, linear_only(monkeypatch, round_, PAIRS)
        )
        assert not better or len(duals.odd_sets) > 0
        short += better
    assert short >= 5


def test_no_grouping_of_any_sizes_quotas_and_equal_jobs_is_above_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds, better = set(), 0
    for seed in range(100):
        round_ = random_round(seed, resources=4)
        duals = relax(round_, formulation_of(policy_from(PAIRS)), None)
        linear = linear_only(monkeypatch, round_, PAIRS)
        bound = sharing_bound(round_, settings_of(PAIRS), duals)
        assert (seed, bound >= best_grouping(round_, cyclic_ppm, 2)) == (seed, True)
        assert bound <= sharing_bound(round_, settings_of(PAIRS), linear)
        better += bound < sharing_bound(round_, settings_of(PAIRS), linear)
        kinds.add(type(duals))
    assert MatchingDuals in kinds
    assert better > 0


def test_a_result_carries_the_proof_to_json_and_back() -> None:
    round_ = equal_gpus(15, 8, seed=1)
    result = solve_round(round_, PAIRS, "exact", FOREVER)
    assert result.certificate.proof is Proof.MATCHING_DUALS
    assert result.value == result.bound == result.certificate.checked_bound
    again = verify(round_, parse_result(result_json(result)))
    assert (again.feasible, again.proof, again.evidence) == (True, Proof.MATCHING_DUALS, result.certificate.evidence)


def test_larger_groups_and_too_many_jobs_have_linear_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = equal_gpus(7, 3, seed=2)
    assert isinstance(relax(round_, formulation_of(policy_from("muri-s:group=3")), None), LinearDuals)
    assert isinstance(relax(round_, formulation_of(policy_from("muri-s:group=1")), None), LinearDuals)
    monkeypatch.setattr(program_duals, "MOST_JOBS", 6)
    assert isinstance(relax(round_, formulation_of(policy_from(PAIRS)), None), LinearDuals)


def test_numbers_that_a_matching_cannot_take_exactly_have_linear_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = equal_gpus(7, 3, seed=2)
    monkeypatch.setattr(program_duals, "_LARGEST", 1 << 20)
    assert isinstance(relax(round_, formulation_of(policy_from(PAIRS)), None), LinearDuals)
