"""Answers are verified by the library's own rules, held against what is known, and ranked."""

import json
from dataclasses import replace
from functools import cache

import msgspec
import pytest
from library_copies import best_data, copied, write_data

from muri_opt import InputError, result_json, solve_round, verify
from muri_opt.studies.library import instances
from muri_opt.studies.library.answers import Answer, by_round, read_answers
from muri_opt.studies.library.challenge import Verdict, judge, standings

TOY = "toy/eight-gangs"


@cache
def solved(method="auto", name=TOY, policy="srtf"):
    (instance,) = [one for one in instances(family=name.partition("/")[0]) if one.name == name]
    return solve_round(instance.round(), policy, method)


@pytest.fixture
def judged(tmp_path):
    """Return a function that judges an answer, written as a file, against a library of one toy round."""
    library = copied(tmp_path / "library", TOY)

    def call(content, **known):
        data = best_data(library, TOY)
        data["optima"][0] |= known
        write_data(library, TOY, data)
        path = tmp_path / "answer.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        (answer,) = read_answers(str(path))
        return judge("me", answer, by_round(instances(library)))

    return call


def short(result, **more):
    given = [{"jobs": list(one.jobs), "gpus": dict(one.gpus)} for one in result.decision.assignments]
    return {
        "format": "muri-opt/answer/1",
        "instance": TOY,
        "policy": "srtf",
        "assignments": given,
    } | more


def test_an_optimum_a_worse_and_an_equal_answer_are_told_apart(judged):
    best, worse = solved(), solved("heuristic")
    optimal, less = judged(result_json(best)), judged(result_json(worse))
    assert (optimal.verdict, optimal.value, optimal.to_best, optimal.to_bound) == (Verdict.OPTIMAL, 114, 0.0, 0.0)
    assert (less.verdict, less.value, less.to_best, less.share) == (Verdict.WORSE, 102, 12 / 102, 102 / 114)
    equal = judged(short(best), bound=120)
    assert (equal.verdict, equal.to_bound) == (Verdict.EQUAL, 6 / 114)


def test_a_better_value_and_a_better_bound_are_found(judged):
    value, decision = solved("heuristic").value, short(solved("heuristic"))["assignments"]
    better = judged(short(solved()), value=value, bound=120, decision={"assignments": decision, "waiting": {}})
    assert (better.verdict, better.value, better.to_best) == (Verdict.BETTER, 114, 0.0)
    assert better.share == 114 / 102
    proving = judged(result_json(solved("exact@highs")), bound=120)
    assert (proving.bound, proving.verdict) == (114, Verdict.BETTER)
    assert proving.proof is not None


def test_short_answers_and_results_are_judged_alike(judged):
    for result in (solved(), solved("heuristic")):
        whole, brief = judged(result_json(result)), judged(short(result))
        assert (whole.verdict, whole.value) == (brief.verdict, brief.value) == (brief.verdict, result.value)


def test_why_jobs_wait_is_not_judged_and_what_a_file_says_of_its_rules_is_not_believed(judged):
    result = solved()
    silent = msgspec.structs.replace(result, decision=msgspec.structs.replace(result.decision, waiting=()))
    assert judged(result_json(silent)).verdict is Verdict.OPTIMAL
    other = msgspec.structs.replace(solved("heuristic"), rules={"chapter": "nobody's"})
    assert judged(result_json(other)).value == 102


FAULTS = {
    "job-once": lambda given: [*given, given[0]],
    "known-job": lambda given: [*given, {"jobs": ["nobody"], "gpus": {"n0": 1}}],
    "gang": lambda given: [*given[1:], given[0] | {"gpus": dict.fromkeys(given[0]["gpus"], 99)}],
}


@pytest.mark.parametrize("rule", FAULTS)
def test_a_decision_that_breaks_a_rule_is_refused_with_the_reason(judged, rule):
    given = FAULTS[rule](short(solved())["assignments"])
    found = judged(short(solved(), assignments=given))
    assert (found.verdict, found.value, found.share, found.to_best) == (Verdict.REFUSED, None, 0.0, None)
    assert rule in {one.rule for one in found.violations}


def test_a_false_value_and_an_answer_without_a_decision_are_refused(judged):
    (fault,) = judged(short(solved(), value=115)).violations
    assert (fault.rule, fault.detail) == ("value", "said 115; it is 114")
    nothing = msgspec.structs.replace(solved(), decision=None, value=None)
    assert [one.rule for one in judged(result_json(nothing)).violations] == ["decision"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"instance": "toy/nine-gangs"}, "answer.json: round: found toy/nine-gangs"),
        ({"policy": "fifo"}, "answer.json: policy of toy/eight-gangs: found 'fifo': the library has no value"),
        ({"policy": "antigravity:fly"}, "answer.json: policy: found 'antigravity'"),
        ({"policy": "srtf:nodes=few"}, "policy 'srtf'.nodes: found 'few'"),
        ({"comment": "x"}, "answer.json: answer: found Object contains unknown field `comment`"),
        ({"format": "muri-opt/answer/2"}, "answer.json: format: found 'muri-opt/answer/2'"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_its_file(judged, changes, complaint):
    with pytest.raises(InputError) as error:
        judged(short(solved(), **changes))
    assert complaint in str(error.value)


def test_the_verdict_of_a_stored_decision_is_that_of_the_verifier():
    known = by_round(instances(family="paper"))
    for instance in instances(family="paper", most_jobs=8):
        for stored in instance.best.optima[:1]:
            result = stored.result(instance.best.fingerprint)
            assert verify(instance.round(), result).violations == ()
            answer = Answer(file="f", round_=instance.name, policy=stored.policy, decision=result.decision)
            one = judge("me", answer, known)
            assert (one.verdict, one.value) == (Verdict.OPTIMAL, stored.value)


def test_contestants_are_ranked_by_their_mean_share_and_lose_what_they_leave_out(judged):
    best, worse = judged(short(solved())), judged(short(solved("heuristic")))
    refused = judged(short(solved(), value=1))

    def as_of(name, one, case=TOY):
        return replace(one, contestant=name, instance=case)

    ranked = standings(
        [
            *(as_of("all", best), as_of("all", worse, "toy/b")),
            *(as_of("one", best),),
            *(as_of("wrong", best), as_of("wrong", refused, "toy/b")),
        ]
    )
    assert [(one.contestant, one.missing) for one in ranked] == [("all", 0), ("one", 1), ("wrong", 0)]
    assert [round(one.score, 4) for one in ranked] == [round((1 + 102 / 114) / 2, 4), 0.5, 0.5]
    assert ranked[2].counts[Verdict.REFUSED] == 1
    assert standings([]) == []
