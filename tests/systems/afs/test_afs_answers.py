"""Whatever the round: answers of elastic policies are true, and exact methods agree and are never beaten."""

from __future__ import annotations

import msgspec
import pytest
from by_policy import settings_of
from elastic_draws import POLICIES, elastic_rounds, shares_of
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Limits, Reason, Round, solve_round
from muri_opt.rounds.generate.families import generate
from muri_opt.systems import POLICIES as KINDS, policy_from

EXACT = ("auto", "exact", "exact@highs", "exact@cp-sat")


def texts(key: str) -> st.SearchStrategy[str]:
    if key == "phi":
        return st.sampled_from(["1", "2", "3", "1000000", "inf"])
    return st.floats(0.001, 2e9).map(str) | st.integers(1, 10_000).map(str)


@st.composite
def specs(draw: st.DrawFn, *, packing: tuple[str, ...] = ("any", "node")) -> str:
    """Draw a policy with all of its settings."""
    name = draw(st.sampled_from(POLICIES))
    chosen = {
        key: draw(st.sampled_from(allowed) if isinstance(allowed, tuple) else texts(key))
        for key, allowed in KINDS[name].choices.items()
    }
    chosen["packing"] = draw(st.sampled_from(packing))
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in chosen.items())


@given(specs())
@more_examples(200)
def test_a_policy_reads_back_from_its_text(text: str) -> None:
    policy = policy_from(text)
    assert policy_from(policy.spec) == policy
    assert policy_from(policy.spec).spec == policy.spec
    read = dict(pair.split("=") for pair in text.partition(":")[2].split(","))
    assert all(getattr(policy, key) == value for key, value in read.items() if key not in ("phi", "quantum", "horizon"))
    elastic = settings_of(policy)
    unknown = text.startswith("afs-p:") and read["objective"] == "completion"
    assert elastic.objective == read["objective"] + "-attained" * unknown
    assert elastic.by_node == (read["packing"] == "node")


@given(elastic_rounds(equal=True, tight=True), specs(), st.integers(0, 3))
@more_examples(300)
def test_the_answer_of_a_rule_is_true(round_: Round, policy: str, seed: int) -> None:
    result = solve_round(round_, policy, "heuristic", limits=Limits(seed=seed))
    assert result.certificate.feasible, result.certificate.violations
    assert result.value <= result.bound
    again = solve_round(round_, policy, "heuristic", limits=Limits(seed=seed))
    assert (again.decision, again.value, again.bound) == (result.decision, result.value, result.bound)


@given(elastic_rounds(), specs(packing=("any",)))
@more_examples(75)
def test_names_of_jobs_change_nothing(round_: Round, policy: str) -> None:
    jobs = [msgspec.structs.replace(job, id=f"x{99 - place}") for place, job in enumerate(round_.jobs)]
    named = msgspec.structs.replace(round_, jobs=tuple(jobs))
    one, other = (solve_round(each, policy, "heuristic") for each in (round_, named))
    assert shares_of(round_, one) == shares_of(named, other)
    assert (one.value, one.bound) == (other.value, other.bound)


@given(elastic_rounds(max_jobs=4, equal=True), specs())
@more_examples(60)
def test_exact_methods_agree_and_no_rule_beats_them(round_: Round, policy: str) -> None:
    """GPUs and quotas are the only limits here, so that the best shares can always be placed."""
    rule = solve_round(round_, policy, "heuristic")
    found = {method: solve_round(round_, policy, method) for method in EXACT}
    for method, result in found.items():
        assert result.certificate.feasible, (method, result.certificate.violations)
        assert result.termination.reason is Reason.OPTIMAL, method
        assert result.value == result.bound == found["auto"].value, method
    assert rule.value <= found["auto"].value <= rule.bound


@given(elastic_rounds(max_jobs=4, equal=True, tight=True), specs())
@more_examples(60)
def test_exact_answers_are_true_where_nodes_are_in_the_way(round_: Round, policy: str) -> None:
    rule = solve_round(round_, policy, "heuristic")
    for method in ("auto", "exact@highs", "exact@cp-sat"):
        result = solve_round(round_, policy, method)
        assert result.certificate.feasible, (method, result.certificate.violations)
        assert result.value <= result.bound
        assert rule.value <= result.bound
        assert method != "auto" or result.value >= rule.value


@pytest.mark.parametrize("policy", [*POLICIES, *(f"{name}:packing=node" for name in POLICIES)])
def test_generated_rounds(policy: str) -> None:
    round_ = generate("elastic", jobs=60, nodes=6, seed=11)
    rule, best = (solve_round(round_, policy, method) for method in ("heuristic", "auto"))
    assert rule.certificate.feasible
    assert best.certificate.feasible
    assert 0 < rule.value <= best.value <= best.bound <= rule.bound
