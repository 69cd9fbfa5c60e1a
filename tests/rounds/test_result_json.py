"""Results as JSON: what is written reads back equal, and what is wrong is one clear error."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from handmade import gang, round_of
from hypothesis import given, strategies as st

from muri_opt import InputError, Limit, Reason, Round, Termination, parse_result, read_result, result_json, solve_round
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import rounds

ROUND = round_of([4, 4], [gang(0, 3, cpus=1), 2, 4])


@given(
    rounds(),
    st.sampled_from(sorted(ORDERS)),
    st.sampled_from(["weighted", "lexicographic"]),
    st.sampled_from(["any", "fewest"]),
)
def test_a_result_reads_back_equal(round_: Round, order: str, objective: str, nodes: str) -> None:
    result = solve_round(round_, f"{order}:objective={objective},nodes={nodes}", "heuristic")
    assert parse_result(result_json(result)) == result


def test_a_value_beyond_64_bits_reads_back_equal() -> None:
    round_ = round_of([64], [1] * 100)
    result = solve_round(round_, "fifo:objective=lexicographic", "heuristic")
    assert result.value == (2**64 - 1) * 2**36
    assert parse_result(result_json(result)) == result


def test_the_fields_of_the_file_are_the_documented_ones() -> None:
    written = json.loads(result_json(solve_round(ROUND, "fifo", "auto")))
    assert list(written) == [
        "format",
        "fingerprint",
        "policy",
        "rules",
        "method",
        "value",
        "bound",
        "gap",
        "value_unit",
        "termination",
        "decision",
        "changes",
        "certificate",
        "stats",
    ]
    assert written["format"] == "muri-opt/result/2"
    assert written["termination"] == {"reason": "OPTIMAL", "limit": None, "detail": written["termination"]["detail"]}
    assert list(written["decision"]) == ["assignments", "waiting"]
    assert list(written["decision"]["assignments"][0]) == ["jobs", "order", "plan", "gpus", "cpus", "period_seconds"]
    assert list(written["decision"]["waiting"][0]) == ["job", "reason", "detail", "remedy", "changes"]
    assert list(written["certificate"])[:4] == ["feasible", "violations", "proof", "checked_bound"]
    assert {"build_seconds", "solve_seconds", "verify_seconds", "backend"} <= set(written["stats"])


def written(**changes: object) -> str:
    return json.dumps(json.loads(result_json(solve_round(ROUND, "fifo", "heuristic"))) | changes)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "result: found Input data was truncated"),
        ("{", "result: found Input data was truncated"),
        ("[]", "result: found []; allowed: an object with the fields format"),
        ("{}", "fingerprint: found nothing; allowed: a string; this field is required"),
        (b"\xff\xfe", "result: found "),
        ("[" * 100_000, "result: found "),
        (written(format="muri-opt/result/3"), "format: found 'muri-opt/result/3'; allowed: one of 'muri-opt/result/1'"),
        (written(value="many"), "value: found 'many'; allowed: a whole number, or null"),
        (written(colour="red"), "result: found unknown field 'colour'; allowed: an object"),
        (written(termination=3), "termination: found 3; allowed: an object with the fields reason, limit, detail"),
        (written(termination={"reason": "BORED"}), "termination.reason: found 'BORED'; allowed: one of 'OPTIMAL'"),
        (
            written(termination={"reason": "OPTIMAL", "limit": "TIME"}),
            "termination.limit: found TIME; allowed: a",
        ),
        (written(termination={"reason": "FEASIBLE"}), "termination.limit: found None; allowed: a limit"),
        (written(decision={"assignments": [{"jobs": ["j0"]}]}), "decision.assignments[0].gpus: found nothing"),
        (
            written(decision={"assignments": [{"jobs": ["j0"], "gpus": {"n0": 0.5}}]}),
            "decision.assignments[0].gpus[n0]: found 0.5; allowed: a whole number",
        ),
        (
            written(decision={"waiting": [{"job": "j0", "reason": "mood", "detail": "", "remedy": ""}]}),
            "decision.waiting[0].reason: found 'mood'; allowed: one of 'quota'",
        ),
        (
            written(certificate={"feasible": True, "evidence": [{"kind": "Oracle"}]}),
            "certificate.evidence[0].kind: found 'Oracle'; allowed: one of '",
        ),
        (written(gap=float("nan")), "result: found JSON is malformed"),
    ],
)
def test_bad_text_is_one_clear_error(text: str | bytes, told: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_result(text)
    assert str(refused.value).startswith(told)


def test_a_file_reads_back_equal(tmp_path: Path) -> None:
    result = solve_round(ROUND, "fifo", "heuristic")
    path = tmp_path / "result.json"
    path.write_text(result_json(result))
    assert read_result(path) == result
    assert read_result(str(path)) == result


def test_a_file_that_cannot_be_read_is_an_error_with_its_path(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(InputError) as refused:
            read_result(path)
        assert refused.value.field == str(path)


def test_a_claim_is_in_the_file_where_there_is_one() -> None:
    result = solve_round(ROUND, "fifo", "heuristic")
    assert "claimed_bound" not in json.loads(result_json(result))
    claimed = msgspec.structs.replace(result, claimed_bound=result.value)
    assert json.loads(result_json(claimed))["claimed_bound"] == result.value
    assert parse_result(result_json(claimed)) == claimed


@pytest.mark.parametrize("proof", ["ClaimOnly", None])
def test_a_bound_that_a_file_of_old_only_claims_is_read_as_a_claim(proof: str | None) -> None:
    said = {"reason": "OPTIMAL", "limit": None, "detail": "Optimal"}
    certificate = {"feasible": True, "violations": [], "proof": proof, "checked_bound": 9, "evidence": []}
    read = parse_result(written(value=7, bound=7, gap=0.0, termination=said, certificate=certificate))
    assert (read.bound, read.gap, read.claimed_bound) == (9, 2 / 7, 7)
    assert read.termination == Termination(reason=Reason.FEASIBLE, limit=Limit.CLAIM, detail="Optimal")
    assert parse_result(result_json(read)) == read
    nothing = certificate | {"checked_bound": None}
    bare = parse_result(written(value=7, bound=7, gap=0.0, termination=said, certificate=nothing))
    assert (bare.bound, bare.gap, bare.claimed_bound) == (None, None, 7)
    proved = certificate | {"proof": "Counting"}
    kept = parse_result(written(value=7, bound=7, gap=0.0, termination=said, certificate=proved))
    assert (kept.bound, kept.claimed_bound, kept.termination.reason) == (7, None, "OPTIMAL")


def test_a_file_of_format_1_is_read_with_the_rules_of_its_policy() -> None:
    result = solve_round(ROUND, "srtf:nodes=fewest", "heuristic")
    old = json.loads(result_json(result)) | {"format": "muri-opt/result/1"}
    del old["rules"]
    assert parse_result(json.dumps(old)) == result
    with pytest.raises(InputError, match="did you mean 'srtf'"):
        parse_result(json.dumps(old | {"policy": "strf"}))
