"""Every policy honours a field of format 2 or refuses the round, wherever it is asked."""

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace
from rounds_by_field import PLAIN, ROUNDS, with_field

from muri_opt import InputError, RefusalError, policy_from, solve_round, verify
from muri_opt.replay import Workload, replay
from muri_opt.rounds import INFORMATION, Decision, Job
from muri_opt.rounds.used_fields import FIELDS
from muri_opt.solve import defragment
from muri_opt.solve.certify import certificate_of
from muri_opt.systems import POLICIES, admit, honouring
from muri_opt.testing import find_breaches, published
from muri_opt.verify import broken_rules, chapter_kind, decision_value
from muri_opt.verify.defragment.check import HONOURED as MOVES_HONOUR


def refusal(call):
    with pytest.raises(RefusalError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("field", FIELDS)
def test_each_round_uses_its_field_alone(field):
    assert list(ROUNDS[field].used_fields) == [field]
    assert PLAIN.used_fields == {}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_says_of_fields_that_there_are_what_it_honours_and_so_do_its_rules(name):
    honours = POLICIES[name].honours
    assert honours.issubset(FIELDS)
    assert honours >= INFORMATION - {"plan.nodes"}  # who steps from plan to plan takes plans of equal parts only
    assert honours.issubset(chapter_kind(policy_from(name).rules["chapter"]).honours)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_honoured_or_the_round_is_refused(name, field):
    policy, round_ = policy_from(name), ROUNDS[field]
    if field in policy.honours:
        policy.check_honoured(round_)
        return
    for call in (
        lambda: admit(policy, round_),
        lambda: policy.decide(round_, 0),
        lambda: solve_round(round_, policy, "heuristic"),
        lambda: solve_round(round_, policy, "exact"),
        lambda: published(policy)(round_),
    ):
        error = refusal(call)
        assert error.field == field
        assert f"policy {name!r} does not honour it" in error.found
        assert round_.used_fields[field] in error.found
        assert error.allowed.startswith("a round without the field")


@pytest.mark.parametrize("name", ["gangs", "grouping", "sharing", "planning", "configuration", "placement"])
@pytest.mark.parametrize("field", FIELDS)
def test_rules_that_ignore_a_field_call_nothing_feasible(name, field):
    rules, nothing = {"chapter": name}, Decision()
    if field in chapter_kind(name).honoured(rules):
        assert broken_rules(ROUNDS[field], rules, nothing)  # nobody is listed
        return
    for call in (
        lambda: broken_rules(ROUNDS[field], rules, nothing),
        lambda: decision_value(ROUNDS[field], rules, nothing),
        lambda: certificate_of(ROUNDS[field], rules, nothing),
    ):
        error = refusal(call)
        assert error.field == field
        assert f"the chapter {name!r}" in error.found


def test_a_result_of_another_round_is_not_verified_by_rules_that_ignore_a_field():
    result = solve_round(PLAIN, "fifo", "heuristic")
    assert verify(PLAIN, result).feasible
    assert refusal(lambda: verify(ROUNDS["round.together"], result)).field == "round.together"


def test_the_refusal_names_who_honours_the_field(monkeypatch):
    monkeypatch.setattr(POLICIES["srtf"], "honours", frozenset({"round.together"}))
    assert set(honouring("round.together")) >= {"srtf", "las"}
    error = refusal(lambda: solve_round(ROUNDS["round.together"], "rubick"))
    assert "or what honours it: " in error.allowed
    assert "srtf" in error.allowed


def test_a_bare_function_honours_what_it_says():
    def nobody(round_):
        return Decision()

    assert refusal(lambda: solve_round(ROUNDS["job.model"], nobody)).field == "job.model"
    nobody.honours = {"job.model"}
    assert solve_round(ROUNDS["job.model"], nobody, "heuristic").decision.running == frozenset()
    # Its rules do not know what the function says to know.
    nobody.honours = {"round.together"}
    assert "chapter 'gangs'" in refusal(lambda: solve_round(ROUNDS["round.together"], nobody)).found


def test_information_changes_no_decision():
    informed = PLAIN
    for field in sorted(INFORMATION):
        informed = with_field(field, informed)
    assert set(informed.used_fields) == INFORMATION
    for name in ("fifo", "srtf", "max-min", "philly"):
        plain = solve_round(PLAIN, name, "exact")
        found = solve_round(informed, name, "exact")
        assert (found.decision, found.value, found.bound) == (plain.decision, plain.value, plain.bound)
        assert verify(informed, found).feasible


@pytest.mark.parametrize("field", sorted(set(FIELDS) - INFORMATION))
def test_defragmentation_refuses_what_it_would_ignore(field):
    if field in MOVES_HONOUR:
        assert defragment(ROUNDS[field], nodes=1).certificate.violations == ()
        return
    error = refusal(lambda: defragment(ROUNDS[field], nodes=1))
    assert (error.field, "defragmentation" in error.found) == (field, True)


def test_defragmentation_ignores_shapes_and_measured_sharing_only():
    assert set(FIELDS) - MOVES_HONOUR == {"job.even", "job.nodes", "round.together"}


@pytest.mark.parametrize("settings", [{}, {"fast": True}, {"on_bad": "count"}, {"clock": "muri"}], ids=str)
def test_a_replay_refuses_before_it_begins(settings):
    jobs = [Job(id="a", gpus=1, submitted=0, remaining_iterations=5, iteration_seconds=1)]
    plain, said = Workload(name="w", jobs=tuple(jobs)), Workload(name="w", jobs=(replace(jobs[0], held="asked"),))
    policy = "muri-s" if settings.get("clock") == "muri" else "srtf"
    for workload, cluster, field in (
        (said, PLAIN.cluster, "job.held"),
        (plain, ROUNDS["tenant.weight"].cluster, "tenant.weight"),
    ):
        assert refusal(lambda: replay(workload, cluster, policy, **settings)).field == field  # noqa: B023


def test_the_kit_counts_refusals_and_judges_nothing_by_rules_that_ignore_a_field():
    strategy = st.just(ROUNDS["round.together"])
    report = find_breaches(published("fifo"), strategy=strategy, max_examples=3)
    assert (report.broken, report.refused > 0, report.ok) == ((), True, False)
    assert "policy 'fifo' does not honour it" in report.refusal
    assert (
        refusal(lambda: find_breaches(lambda _: Decision(), strategy=strategy, max_examples=3)).field
        == "round.together"
    )


def test_a_refusal_is_bad_input():
    with pytest.raises(InputError):
        solve_round(ROUNDS["job.priority"], "rubick")
