"""Fields of format 2 under the elastic policies: brute force, program and verifier agree, and decisions keep rules."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from asked_shares import GROUPS, POLICIES, asked_shares_round, lexicographic_best, random_spec, weighed
from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, proved_bound, wrong_reasons
from elastic_draws import elastic
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Cluster, InputError, Limits, Node, Round, Tenant, policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.rounds import INFORMATION, after
from muri_opt.solve.certify import certificate_of
from muri_opt.solve.exact import relax
from muri_opt.solve.solvers import backend_named, solve_stages
from muri_opt.systems import Formulation
from muri_opt.systems.afs import AfsPolicy
from muri_opt.systems.afs.share_fit import ShareFit
from muri_opt.testing import demanding_rounds, full_rounds
from muri_opt.verify import chapter_of, kernel

SEEDS = 6


def best_value(program: Formulation, round_: Round, backend: str = "highs") -> int:
    model = program.build(round_)
    outcome = solve_stages(backend_named(backend), model, program.stages(round_, model), Limits(seconds=None))
    assert outcome.termination.reason == "OPTIMAL"
    assert outcome.value == outcome.bound
    return outcome.value


def checked(seed: int, group: str, *, solve: bool) -> None:
    by_node = seed % 4 == 3
    round_, spec = asked_shares_round(seed, group, by_node=by_node), random_spec(seed, by_node=by_node)
    policy, program = policy_from(spec), formulation_of(spec)
    best = weighed(round_, spec, lexicographic_best(round_, spec))
    # The verifier's own enumeration, and the program.
    assert best_value(program, round_) == best
    if not INFORMATION.issuperset(round_.used_fields):
        assert enumerated_optimum(round_, spec, steps=500_000) == best
    # The heuristic is feasible, true in what it says, and never better.
    found = policy.decide(round_, 0)
    assert broken_rules(round_, found, spec) == []
    assert wrong_reasons(round_, found, spec) == []
    value = decision_value(round_, spec, found)
    assert value <= best
    # It is a point of the program, and comes back.
    model = program.build(round_)
    point = program.encode(round_, found)
    assert evaluate(model, point).broken == ()
    stages = program.stages(round_, model)
    assert sum(stage.weight * int(stage.objective @ point) for stage in stages) == value
    assert decision_value(round_, spec, program.decode(round_, point)) == value
    # No bound is below the best.
    for evidence in ((), (relax(round_, program, None),)):
        bound = proved_bound(round_, spec, found, evidence)
        assert bound is None or bound[0] >= best
    if solve:
        result = solve_round(round_, spec, "exact")
        assert (result.value, result.bound) == (best, best)
        assert verify(round_, result).violations == ()


@pytest.mark.parametrize("group", GROUPS)
def test_brute_force_equals_program_and_verifier(group: str) -> None:
    for seed in range(SEEDS):
        checked(seed, group, solve=seed % 5 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_brute_force_equals_program_and_verifier_on_many_rounds(group: str) -> None:
    for seed in range(1000, 1170):
        checked(seed, group, solve=True)


@pytest.mark.parametrize("group", ["types", "shape", "all"])
def test_values_that_cannot_be_placed_anew_are_a_decision_too(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShareFit, "place_whole", lambda *_: None)
    for seed in range(12):
        by_node = seed % 4 == 3
        round_, spec = asked_shares_round(seed, group, by_node=by_node), random_spec(seed, by_node=by_node)
        program = formulation_of(spec)
        model = program.build(round_)
        outcome = solve_stages(backend_named("highs"), model, program.stages(round_, model), Limits(seconds=None))
        decision = program.decode(round_, outcome.values)
        if not INFORMATION.issuperset(round_.used_fields):
            assert broken_rules(round_, decision, spec) == []
            assert decision_value(round_, spec, decision) == outcome.value


@pytest.mark.parametrize("group", ["states", "pins", "tenants", "all"])
def test_shares_beside_what_is_not_to_be_decided(group: str) -> None:
    for seed in range(12):
        round_, spec = asked_shares_round(seed, group, apart=True), random_spec(seed, by_node=False)
        rest = policy_from(spec).decided_part(round_)
        found = policy_from(spec).decide(round_, 0)
        assert broken_rules(round_, found, spec) == []
        assert wrong_reasons(round_, found, spec) == []
        best = weighed(rest, spec, lexicographic_best(rest, spec))
        result = solve_round(round_, spec, "exact")
        assert result.value == best
        assert result.certificate.violations == ()


@pytest.mark.parametrize("group", GROUPS)
def test_deciding_again_is_feasible_too(group: str) -> None:
    for seed in range(SEEDS):
        round_, spec = asked_shares_round(seed, group), random_spec(seed, by_node=False)
        policy = policy_from(spec)
        then = after(round_, policy.decide(round_, 0))
        again = policy.decide(then, 0)
        assert broken_rules(then, again, spec) == []


def test_rows_of_what_jobs_ask_are_those_of_the_chapter() -> None:
    """Rounds that ask for everything have the rows and letters that the chapter says, in its order."""
    text = (Path(__file__).resolve().parents[3] / "formulations/sharing/README.md").read_text()
    section = text.partition("\n## Where jobs may be")[2].partition("\n## ")[0]
    labels = re.findall(r"^\| `([a-z]+)` \|", section, flags=re.MULTILINE)
    found, letters = set[str](), set[str]()
    for group, seed in product(("types", "shape", "priority", "all"), range(20)):
        round_ = asked_shares_round(seed, group)
        model = formulation_of("afs-l").build(round_)
        if not INFORMATION.issuperset(round_.used_fields):
            assert [label for label in labels if label in model.labels] == list(model.labels)
            found |= set(model.labels)
            letters |= {family.label for family in model.columns}
    assert found == set(labels)
    assert letters == set("xybzwhqro")
    assert all(re.search(rf"\${letter}_\{{?[j0]|, {letter}_0", section) for letter in letters)


def refused(policy: str, round_: Round) -> bool:
    """Return whether a place is only preferred, a share cannot be on the nodes asked for, or a job cannot go on."""
    try:
        policy_from(policy).check(round_)
    except InputError as error:
        return "as it is" in str(error) or error.field.endswith(("within.required", "nodes"))
    return False


@given(demanding_rounds(full_rounds("scaling"), fields=AfsPolicy.honours), st.sampled_from(POLICIES))
@more_examples(40)
def test_every_drawn_round_is_decided_within_the_rules_or_refused(round_: Round, policy: str) -> None:
    if refused(policy, round_):
        return
    found = policy_from(policy).decide(round_, 0)
    assert broken_rules(round_, found, policy) == []
    assert wrong_reasons(round_, found, policy) == []
    rest, part = chapter_of(round_, policy_from(policy).rules).decided(found)
    point = formulation_of(policy).encode(rest, part)
    assert evaluate(formulation_of(policy).build(rest), point).broken == ()


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_to_decide_and_nothing_to_give_are_rounds_too(policy: str) -> None:
    two = (Node(id="a", gpus=2, gpu_type="a"), Node(id="b", gpus=2, gpu_type="b"))
    above = (Tenant(id="o", quota_gpus=0), Tenant(id="c", parent="o"))
    first, second = elastic(0, (1, 2), priority=1), elastic(1, (1, 2))
    for nodes, tenants, jobs in (
        (two, (), ()),
        ((), (), (first, second)),
        ((Node(id="a", gpus=0),), (), (first, second)),
        (two, (), (elastic(0, (1, 2), gpu_types=("z",)),)),
        (two, above, (elastic(0, (1, 2), tenant="c"), elastic(1, (1, 2), tenant="o"))),
    ):
        cluster = Cluster(nodes=nodes, tenants=tenants)
        round_ = Round(format="muri-opt/round/2", cluster=cluster, jobs=jobs)
        for method in ("heuristic", "exact"):
            result = solve_round(round_, policy, method)
            assert (result.value, result.certificate.violations) == (0, ())
        assert result.bound == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_larger_priority_moves_nobody_while_others_are_free(policy: str) -> None:
    nodes = tuple(Node(id=f"n{s}", gpus=2) for s in range(3))
    running = elastic(0, (1, 2), state="running", placement={"n0": 2}, executed_seconds=1.0, restart_seconds=1e6)
    round_ = Round(now=1.0, cluster=Cluster(nodes=nodes), jobs=(running, elastic(1, (1, 2, 3), priority=1)))
    given = {one.jobs[0]: dict(one.gpus) for one in policy_from(policy).decide(round_, 0).assignments}
    assert given["j0"] == {"n0": 2}
    assert sum(given["j1"].values()) == 3


def test_sets_are_divided_like_clusters_of_their_own_and_none_is_crowded_while_another_is_idle() -> None:
    """Six jobs of any type find two sets of GPUs equally good; those of one type have theirs to themselves."""
    nodes = (Node(id="a", gpus=8, gpu_type="a"), Node(id="b", gpus=4, gpu_type="b"), Node(id="c", gpus=4, gpu_type="c"))
    jobs = [elastic(j, range(1, 9), gpu_types=("a",), remaining_iterations=10) for j in range(2)]
    jobs += [elastic(j, range(1, 9), gpu_types=("b", "c"), remaining_iterations=10) for j in range(2, 6)]
    round_ = Round(format="muri-opt/round/2", cluster=Cluster(nodes=nodes), jobs=tuple(jobs))
    for policy in ("afs-l", "max-min-elastic", "optimus"):
        given = {one.jobs[0]: dict(one.gpus) for one in policy_from(policy).decide(round_, 0).assignments}
        assert [sum(given[f"j{j}"].values()) for j in range(6)] == [4, 4, 2, 2, 2, 2]


@pytest.mark.parametrize("group", ["priority", "shape"])
def test_the_kernel_reads_the_program_and_proves_its_bound(group: str) -> None:
    for seed in range(4):
        round_ = asked_shares_round(seed, group)
        result = solve_round(round_, "afs-l", "exact")
        value, bound = kernel.check(certificate_of(round_, result.rules, result.answer))
        assert value == result.value <= bound
