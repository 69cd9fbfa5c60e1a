"""Messages as JSON lines: what comes back, what is refused, and what a session keeps."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import parse_result, parse_round, solve_round, verify
from muri_opt.cli.main import main
from muri_opt.cli.serve.messages import LEAST_SECONDS, limits_left
from muri_opt.cli.serve.service import MESSAGES, Service
from muri_opt.cli.serve.stdio import serve_lines
from muri_opt.rounds import Limits

ROOT = Path(__file__).resolve().parents[3]
ROUND = json.loads((ROOT / "instances" / "toy" / "two-gangs.json").read_text())
CLUSTER, JOBS = ROUND["cluster"], ROUND["jobs"]


def asked(service: Service, do: str, **fields: Any) -> Any:
    """Return the answer to a message."""
    reply = json.loads(service.reply(json.dumps({"id": "x", "do": do, **fields}).encode()))
    assert reply["id"] == "x"
    return reply["answer"]


def refused(service: Service, do: str, **fields: Any) -> Any:
    """Return the problem of a message."""
    return json.loads(service.reply(json.dumps({"do": do, **fields}).encode()))["problem"]


def test_a_round_is_solved_and_its_result_verified() -> None:
    service = Service()
    result = asked(service, "solve", round=ROUND, policy="fifo", method="exact", deadline_seconds=20)
    round_ = parse_round(json.dumps(ROUND))
    assert verify(round_, parse_result(json.dumps(result))).feasible
    assert result["value"] == solve_round(round_, "fifo", "exact").value
    assert asked(service, "verify", round=ROUND, result=result)["feasible"] is True
    result["decision"]["assignments"][0]["gpus"] = {"n0": 4}
    assert asked(service, "verify", round=ROUND, result=result)["feasible"] is False


def test_the_same_message_with_work_has_the_same_bytes() -> None:
    text = json.dumps({"id": 1, "do": "solve", "round": ROUND, "limits": {"work": 1.0, "seed": 3}}).encode()
    assert Service().reply(text) == Service().reply(text)


def test_a_session_has_the_resources_it_was_opened_with() -> None:
    service = Service()
    job = {"id": "a", "gpus": 1, "iteration_seconds": 1.0, "remaining_iterations": 9, "stage_seconds": [0.5, 0.3, 0.2]}
    said = {"cluster": CLUSTER, "policy": "muri-s:preset=authors", "method": "heuristic"}
    asked(service, "session/open", session="three", resources=["data", "gpu", "network"], **said)
    asked(service, "session/submit", session="three", jobs=[job])
    assert asked(service, "session/decide", session="three", now=0)["changes"]["start"][0]["job"] == "a"
    asked(service, "session/open", session="four", **said)
    assert "stage_seconds" in refused(service, "session/submit", session="four", jobs=[job])["field"]


def test_why_and_what_if() -> None:
    service = Service()
    assert asked(service, "why", round=ROUND, job="job-1", when=True)["waiting"]["reason"] == "capacity"
    assert refused(service, "why", round=ROUND, job="job-7")["field"] == "job"
    found = asked(service, "what-if", round=ROUND, add_nodes=["1x4", {"id": "b", "gpus": 2}], method="heuristic")
    assert sum(found["starts"]["job-1"].values()) == 6
    found = asked(
        service, "what-if", round=ROUND, remove_nodes=["n0"], jobs=[{"id": "job-9", "gpus": 1, "submitted": 0}]
    )
    assert found["then"]["running"] == 2


def test_a_session_is_kept_in_its_journal(tmp_path: Path) -> None:
    service = Service(journals=tmp_path)
    assert asked(service, "session/open", cluster=CLUSTER, policy="fifo")["resumed"] is False
    asked(service, "session/submit", jobs=JOBS)
    step = asked(service, "session/decide", now=20)
    assert [change["job"] for change in step["changes"]["start"]] == ["job-0", "job-2"]
    asked(service, "session/acknowledge", step=step["step"], failed={"job-2": "node lost"})
    asked(service, "session/progress", jobs=["job-0"], columns={"executed_seconds": [5], "restarts": [1]})
    asked(service, "session/priority", job="job-1", priority=3)
    asked(service, "session/add-node", node={"id": "n2", "gpus": 8})
    asked(service, "session/drain-node", node="n1")
    before = asked(service, "session/state")
    service.close_all()
    again = Service(journals=tmp_path)
    assert asked(again, "session/open", cluster={"nodes": []})["resumed"] is True
    assert asked(again, "session/state") == before
    step = asked(again, "session/decide", now=30, deadline_seconds=10)
    assert {change["job"] for change in step["changes"]["start"]} == {"job-1", "job-2"}
    asked(again, "session/acknowledge", step=step["step"])
    asked(again, "session/fail", job="job-1")
    asked(again, "session/finish", job="job-0")
    asked(again, "session/cancel", job="job-2")
    asked(again, "session/remove-node", node="n1")
    assert asked(again, "session/state")["jobs"] == {"job-1": {"state": "waiting", "placement": None}}
    before = asked(again, "session/state")
    asked(again, "session/close")
    assert asked(again, "session/state") == before  # from its journal
    again.close_all()
    alone = Service()
    asked(alone, "session/open", cluster=CLUSTER)
    asked(alone, "session/close")
    assert refused(alone, "session/state")["status"] == 404


def test_two_clients_of_one_session_see_the_same_and_only_one_acknowledges() -> None:
    service = Service()
    asked(service, "session/open", cluster=CLUSTER, policy="fifo")
    asked(service, "session/submit", jobs=JOBS)
    first, second = (asked(service, "session/decide", now=20)["step"] for _ in range(2))
    assert second == first + 1
    assert refused(service, "session/acknowledge", step=first)["status"] == 422
    assert asked(service, "session/acknowledge", step=second) == {}


@pytest.mark.parametrize(
    ("message", "status", "detail"),
    [
        ({"do": "nothing"}, 404, "nothing is done by 'nothing'; what can be asked: solve, verify, why, what-if"),
        ({"id": 3}, 400, "a message says what to do"),
        ([], 400, "a message says what to do"),
        ({"do": "solve"}, 422, "round: found nothing; allowed: an object; this field is required"),
        ({"do": "solve", "round": ROUND, "polcy": "srtf"}, 422, "unknown field 'polcy' (did you mean 'policy'?)"),
        ({"do": "solve", "round": ROUND, "policy": []}, 422, "policy: found []; allowed: a string"),
        (
            {"do": "solve", "round": ROUND, "limits": {"seconds": "a"}},
            422,
            "limits.seconds: found 'a'; allowed: a number",
        ),
        ({"do": "session/decide", "now": "x"}, 422, "now: found 'x'; allowed: a number"),
        ({"do": "session/priority", "job": "a", "priority": 2.5}, 422, "priority: found 2.5; allowed: a whole number"),
        ({"do": "solve", "round": {**ROUND, "format": "x"}}, 422, "format: found 'x'"),
        ({"do": "solve", "round": ROUND, "policy": "os:system"}, 422, "policy: found 'os'"),
        ({"do": "solve", "round": ROUND, "method": "fast"}, 422, "method: found 'fast'"),
        ({"do": "solve", "round": ROUND, "limits": {"gap": -1}}, 422, "limits.gap: found -1"),
        ({"do": "solve", "round": ROUND, "deadline_seconds": -1}, 422, "deadline_seconds: found -1"),
        ({"do": "what-if", "round": ROUND, "jobs": [{"id": ""}]}, 422, "jobs"),
        ({"do": "session/decide", "now": 1, "session": "a"}, 404, "no session 'a' is open"),
        ({"do": "session/open", "cluster": {"nodes": []}, "session": "../a"}, 422, "session: found '../a'"),
        ({"do": "session/open", "cluster": {"nodes": 3}}, 422, "cluster.nodes: found 3"),
    ],
)
def test_what_cannot_be_answered_is_one_problem(message: Any, status: int, detail: str) -> None:
    problem = json.loads(Service().reply(json.dumps(message).encode()))["problem"]
    assert problem["status"] == status
    assert detail in problem["detail"]


def test_a_job_that_cannot_be_read_leaves_the_session_as_it_was() -> None:
    service = Service()
    asked(service, "session/open", cluster=CLUSTER)
    problem = refused(service, "session/submit", jobs=[{"id": "a", "gpus": 1}, {"id": "b", "gpus": -1}])
    assert problem["field"].startswith("jobs[1]")
    assert asked(service, "session/state")["jobs"] == {}


def test_what_is_too_large_is_refused_unread() -> None:
    service = Service(most_bytes=100, most_jobs=2)
    source, target = io.BytesIO(b"x" * 1000 + b'\n\n{"id": 2, "do": "session/state"}\n'), io.BytesIO()
    serve_lines(service, source, target)
    replies = [json.loads(line) for line in target.getvalue().splitlines()]
    assert [reply["problem"]["status"] for reply in replies] == [413, 404]
    assert refused(Service(most_jobs=2), "solve", round=ROUND)["status"] == 413


def test_the_time_until_a_deadline_counts_from_when_the_message_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 103.0)
    assert limits_left(Limits(seconds=10), 5.0, received=100.0).seconds == 2.0
    assert limits_left(Limits(seconds=1), 5.0, received=100.0).seconds == 1.0
    assert limits_left(Limits(seconds=None, work=1.0), 5.0, received=100.0).seconds == 2.0
    assert limits_left(Limits(seconds=10), 2.0, received=100.0).seconds == LEAST_SECONDS
    assert limits_left(Limits(work=3.0), None, received=100.0) == Limits(work=3.0)


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
@more_examples(200)
def test_no_text_ends_the_service_or_is_an_error_of_the_server(text: bytes) -> None:
    assert json.loads(Service().reply(text))["problem"]["status"] < 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
@more_examples(150)
def test_no_field_of_a_message_is_an_error_of_the_server(data: st.DataObject) -> None:
    do = data.draw(st.sampled_from(sorted(MESSAGES)))
    fields = MESSAGES[do].__struct_fields__
    good = {
        "round": ROUND,
        "cluster": CLUSTER,
        "jobs": JOBS,
        "job": "job-0",
        "now": 1.0,
        "step": 1,
        "method": "heuristic",
    }
    message = {name: good[name] for name in fields if name in good}
    service = Service()
    asked(service, "session/open", cluster=CLUSTER, method="heuristic")
    changed = data.draw(st.sampled_from(fields))
    message |= {"do": do, changed: data.draw(JSON)}
    reply = json.loads(service.reply(json.dumps(message).encode()))
    assert reply.get("problem", {"status": 200})["status"] < 500


def test_deep_nesting_is_refused() -> None:
    text = b'{"do": "solve", "round": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert json.loads(Service().reply(text))["problem"]["status"] in (400, 422)


def _process(*options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "muri_opt", "serve", "--stdio", *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)


def _ask(process: subprocess.Popen[bytes], **message: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_a_killed_process_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    with _process("--journals", str(tmp_path / "new")) as process:
        _ask(process, do="session/open", cluster=CLUSTER, policy="fifo", method="heuristic")
        assert _ask(process, do="session/submit", jobs=JOBS)["answer"] == {}
        assert _ask(process, do="session/decide", now=20)["answer"]["step"] == 1
        process.send_signal(signal.SIGKILL)
    with _process("--journals", str(tmp_path / "new")) as process:
        opened = _ask(process, do="session/open", cluster=CLUSTER)["answer"]
        assert opened["resumed"] is True
        assert opened["pending"]["step"] == 1
        assert list(opened["jobs"]) == ["job-0", "job-1", "job-2"]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


def test_a_session_whose_journal_was_cut_off_as_it_was_begun_can_be_opened(tmp_path: Path) -> None:
    (tmp_path / "main.jsonl").touch()
    service = Service(journals=tmp_path)
    assert refused(service, "session/state")["status"] == 404
    assert not asked(service, "session/open", cluster=CLUSTER)["resumed"]
    service.close_all()
    again = Service(journals=tmp_path)
    assert asked(again, "session/open", cluster=CLUSTER)["resumed"]
    again.close_all()


@pytest.mark.parametrize("option", ["--host", "--slots", "--token-file"])
def test_options_of_http_are_refused_over_the_standard_streams(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--stdio", option, "3"]) == 2
    assert capsys.readouterr().err.startswith(f"muri-opt: {option}: found ")


def test_of_several_jobs_all_are_submitted_or_none() -> None:
    service = Service()
    asked(service, "session/open", cluster=CLUSTER)
    asked(service, "session/submit", jobs=[JOBS[0]])
    job = {**JOBS[0], "id": "new"}
    for wrong, field in ((JOBS[0], "jobs[1].job"), ({**job, "id": "x", "within": {"level": "rack"}}, "jobs[1]")):
        problem = refused(service, "session/submit", jobs=[job, wrong])
        assert problem["status"] == 422
        assert problem["field"].startswith(field)
        assert [*asked(service, "session/state")["jobs"]] == [JOBS[0]["id"]]
    assert refused(service, "session/submit", jobs=[job, job])["field"] == "jobs[1].job"
    asked(service, "session/submit", jobs=[job, {**job, "id": "other"}])
    assert [*asked(service, "session/state")["jobs"]] == [JOBS[0]["id"], "new", "other"]


@pytest.mark.parametrize(
    "said", [{"policy": "srtf"}, {"method": "exact"}, {"limits": {"work": 1.0}}, {"limits": {"seconds": None}}]
)
def test_a_session_that_goes_on_does_not_begin_to_decide_in_another_way(said: dict[str, Any]) -> None:
    service = Service()
    first = asked(service, "session/open", cluster=CLUSTER, policy="fifo", method="heuristic")
    assert (first["resumed"], first["policy"]) == (False, "fifo")
    problem = refused(service, "session/open", cluster=CLUSTER, **said)
    assert (problem["status"], problem["field"]) == (422, next(iter(said)))
    again = asked(service, "session/open", cluster=CLUSTER, policy="fifo", method="heuristic", limits={})
    assert (again["resumed"], again["policy"]) == (True, "fifo")


NOISY = """
import os, sys
from muri_opt.cli.main import main
from muri_opt.systems.gangs.policy import GangPolicy

decide = GangPolicy.decide
def noisy(self, round_, seed):
    print("from Python")
    os.system("echo from a program")
    if self.name == "srtf":
        sys.exit(3)
    return decide(self, round_, seed)
GangPolicy.decide = GangPolicy.decide_within = lambda self, round_, seed, budget=None: noisy(self, round_, seed)
sys.exit(main(["serve", "--stdio"]))
"""


def test_what_a_policy_prints_is_no_answer_and_its_end_is_not_that_of_the_server() -> None:
    asks = [
        {"id": at, "do": "solve", "round": ROUND, "policy": policy, "method": "heuristic"}
        for at, policy in enumerate(("fifo", "srtf", "fifo:nodes=fewest"))
    ]
    text = "".join(json.dumps(message) + "\n" for message in asks)
    ended = subprocess.run([sys.executable, "-c", NOISY], input=text, capture_output=True, text=True, check=True)
    first, second, third = map(json.loads, ended.stdout.splitlines())
    assert first["answer"]["certificate"]["feasible"]
    assert second["problem"]["status"] == 500
    assert third["answer"]["certificate"]["feasible"]
    assert ended.stderr.count("from Python") == ended.stderr.count("from a program") >= 3
