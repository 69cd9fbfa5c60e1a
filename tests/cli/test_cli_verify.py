"""``muri-opt verify``: right answers pass, broken ones are named."""

import io
import json

import pytest


def test_what_solve_writes_passes(run, toy, solved):
    code, out, err = run("verify", toy, solved)
    assert (code, err) == (0, "")
    told = dict(line.split(maxsplit=1) for line in out.splitlines() if not line.startswith(" "))
    assert told["violations"] == "none"
    assert told["value"] == "114, recomputed from the round"
    assert told["proof"].startswith("bound 114, ")


def test_a_pipe_from_solve_passes(run, toy, solved, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(solved.read_bytes())))
    assert run("verify", toy, "-")[0] == 0


def drop_gpus(told):
    assignment = told["decision"]["assignments"][0]
    node = next(iter(assignment["gpus"]))
    assignment["gpus"][node] += 1


def forget_a_job(told):
    told["decision"]["waiting"].pop()


def better_value(told):
    told["value"] += 1


def lower_bound(told):
    told["bound"] = told["value"] - 1


def other_round(told):
    told["fingerprint"] = "sha256:0"


def other_reason(told):
    told["decision"]["waiting"][0]["reason"] = "priority"


def unknown_node(told):
    told["decision"]["assignments"][0]["gpus"] = {"nowhere": 4}


@pytest.mark.parametrize(
    ("tamper", "rule"),
    [
        (drop_gpus, "gang"),
        (forget_a_job, "waiting-listed"),
        (better_value, "value"),
        (lower_bound, "bound"),
        (other_round, "fingerprint"),
        (other_reason, "waiting-reason"),
        (unknown_node, "known-node"),
    ],
)
def test_a_tampered_result_ends_with_1_and_names_the_rule(run, toy, solved, tamper, rule):
    told = json.loads(solved.read_text())
    tamper(told)
    solved.write_text(json.dumps(told))
    code, out, err = run("verify", toy, solved)
    assert (code, err) == (1, "")
    assert any(line.split()[:1] == [rule] for line in out.splitlines())
    code, out, _ = run("verify", toy, solved, "--json")
    assert code == 1
    certificate = json.loads(out)
    assert rule in {violation["rule"] for violation in certificate["violations"]}
    assert certificate["feasible"] is False


def test_json_is_the_certificate(run, toy, solved):
    code, out, _ = run("verify", toy, solved, "--json")
    certificate = json.loads(out)
    assert code == 0
    assert list(certificate) == ["feasible", "violations", "proof", "checked_bound", "evidence"]
    assert (certificate["feasible"], certificate["violations"]) == (True, [])
    assert certificate["checked_bound"] == 114


def test_a_proof_the_file_claims_is_not_taken_over(run, toy, solved):
    told = json.loads(solved.read_text())
    told["certificate"]["proof"] = "MatchingDuals"
    solved.write_text(json.dumps(told))
    code, out, _ = run("verify", toy, solved)
    assert code == 0
    assert "the result itself says dual values of a matching; found here: " in out
    assert "dual values of a matching" not in run("show", toy, solved)[1]


def test_a_result_without_a_decision_has_nothing_to_check(run, toy, tmp_path):
    path = tmp_path / "nothing.json"
    assert run("solve", toy, "--method", "exact", "--seconds", "0", "--output", path)[0] == 4
    code, out, _ = run("verify", toy, path)
    assert code == 0
    assert "there is no decision to check" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "result: found"),
        ("{", "result: found"),
        ("[]", "result: found"),
        ("[" * 10_000, "result: found"),
        ('{"format": "muri-opt/round/1"}', "format: found 'muri-opt/round/1'; allowed: one of"),
    ],
)
def test_what_is_no_result_is_bad_input(refused, toy, tmp_path, text, said):
    path = tmp_path / "result.json"
    path.write_text(text)
    line = refused("verify", toy, path)
    assert line.startswith(f"{path}: ")
    assert said in line


def test_a_result_of_an_unknown_policy_is_bad_input(refused, toy, solved):
    told = json.loads(solved.read_text())
    told |= {"format": "muri-opt/result/1", "policy": "srtff"}
    del told["rules"]
    solved.write_text(json.dumps(told))
    assert "did you mean 'srtf'?" in refused("verify", toy, solved)


def test_a_missing_result_is_bad_input(refused, toy, tmp_path):
    assert "No such file or directory" in refused("verify", toy, tmp_path / "missing.json")


def test_a_key_that_is_there_twice_is_refused(run, toy, solved):
    text = solved.read_text()
    value = json.loads(text)["value"]
    solved.write_text(text.replace("{", f'{{"value": {value - 1}, ', 1))
    code, out, err = run("verify", toy, solved)
    assert (code, out) == (2, "")
    assert f"result: found the key 'value' twice ({value - 1}, {value}); allowed: each key once" in err
    solved.write_text(text.replace('"gpus":', '"gpus": {}, "gpus":', 1))
    code, _, err = run("verify", toy, solved)
    assert code == 2
    assert "decision.assignments[0]: found the key 'gpus' twice" in err
