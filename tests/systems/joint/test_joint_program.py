"""Drawn small rounds: the exact program, the verifier's enumeration, the search and the bounds agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from by_policy import formulation_of
from joint_rounds import SPECS, joint_round, mixed_joint_round
from seeds import chunk_by_chunk

from muri_opt import Cluster, InputError, Job, Limits, Node, RefusalError, Round, policy_from, read_round, solve_round
from muri_opt.solve.exact import optimise, relax
from muri_opt.verify import broken_rules, chapter_of

ROOT = Path(__file__).resolve().parents[3]
STEPS = 2_000_000
UNHURRIED = Limits(seconds=None)


def optimum_of(round_, policy):
    found = chapter_of(round_, policy.rules).optimum(STEPS)
    assert found is not None
    return found


@chunk_by_chunk(80, 160, 20)
def test_program_and_enumeration_agree_and_nothing_beats_them(seeds):
    for seed in seeds:
        round_, policy = joint_round(seed), policy_from(SPECS[seed % len(SPECS)])
        chapter, program = chapter_of(round_, policy.rules), formulation_of(policy)
        best = optimum_of(round_, policy)
        answer = optimise(round_, program, "highs", UNHURRIED, None)
        assert not broken_rules(round_, policy.rules, answer.decision), seed
        assert chapter.value(answer.decision) == answer.bound == best, seed
        decision = policy.decide(round_, 0)
        assert not broken_rules(round_, policy.rules, decision), seed
        assert chapter.value(decision) <= best, seed
        values = program.encode(round_, decision)
        model = program.build(round_)
        assert int(values @ model.objective) == chapter.value(decision), seed
        for prices in (program.quick_duals(round_), relax(round_, program, None)):
            assert chapter.bound(decision, [prices])[0] >= best, seed


@pytest.mark.parametrize("spec", ["joint-l:weights=chance,restarts=stops", "joint-s:restarts=stops"])
def test_by_chance_and_where_stops_cost_program_and_enumeration_agree(spec):
    policy = policy_from(spec)
    for seed in range(160, 172):
        round_ = joint_round(seed)
        chapter = chapter_of(round_, policy.rules)
        answer = optimise(round_, formulation_of(policy), "highs", UNHURRIED, None)
        assert chapter.value(answer.decision) == answer.bound == optimum_of(round_, policy), seed
        assert chapter.value(policy.decide(round_, 0)) <= answer.bound, seed


@pytest.mark.slow
def test_the_program_and_brute_force_agree_on_a_thousand_rounds():
    plain = [(joint_round(seed), seed) for seed in range(10_000, 10_700)]
    mixed = []
    for seed in range(20_000, 20_310):
        try:
            mixed.append((mixed_joint_round(seed), seed))
        except InputError:  # a running job that the drawn round has no room for
            continue
    compared = 0
    for round_, seed in plain + mixed:
        policy = policy_from(SPECS[seed % len(SPECS)])
        best = optimum_of(round_, policy)
        answer = optimise(round_, formulation_of(policy), "highs", UNHURRIED, None)
        assert chapter_of(round_, policy.rules).value(answer.decision) == answer.bound == best, seed
        compared += 1
    assert compared >= 1000


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_cp_sat_finds_the_same_optimum(seed):
    round_, policy = joint_round(seed), policy_from(SPECS[seed % len(SPECS)])
    answer = optimise(round_, formulation_of(policy), "cp-sat", UNHURRIED, None)
    assert answer.bound == optimum_of(round_, policy)


def test_the_search_is_seldom_far_from_the_optimum():
    reached = best = exact = 0
    for seed in range(2000, 2080):
        round_, policy = joint_round(seed), policy_from("joint-s")
        value, most = chapter_of(round_, policy.rules).value(policy.decide(round_, 0)), optimum_of(round_, policy)
        reached, best, exact = reached + value, best + most, exact + (value == most)
    assert exact >= 65
    assert reached >= 0.96 * best


def test_too_many_columns_are_refused_with_the_remedy():
    jobs = (Job(id=f"j{k}", gpus=1, stage_seconds=(0.1, 0.2, 0.3), remaining_iterations=k + 1) for k in range(200))
    cluster = Cluster(nodes=(Node(id="n0", gpus=8),))
    with pytest.raises(RefusalError, match="the heuristic"):
        formulation_of("joint-s").build(Round(cluster=cluster, jobs=tuple(jobs), resources=("a", "b", "c")))


@pytest.mark.parametrize(("name", "optimum"), [("toy/three-elastic", 3_750_000), ("toy/eight-stages", 14_566_666)])
def test_golden_optima(name, optimum):
    result = solve_round(read_round(ROOT / "instances" / f"{name}.json"), "joint-s", "auto", UNHURRIED)
    assert (result.value, result.bound) == (optimum, optimum)
    assert result.certificate.feasible
