"""What is wrong with a part of a message is told with its place in the message, what was found and what is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muri_opt.cli.serve.service import Service

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


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"restarts": [1, "x"]}, "columns[restarts][1]: found 'x'; allowed: a number"),
        ({"executed_seconds": [1, 2], "restarts": [None, 1]}, "columns[restarts][0]: found null; allowed: a number"),
        ({"restarts": 3}, "columns[restarts]: found 3; allowed: a list, each item a number"),
        ({"restarts": [1, 2.5]}, "restarts of job 'b': found 2.5; allowed: a whole number from 0 to 1,000,000,000"),
        ({"restart": [1, 2]}, "columns: found 'restart'; allowed: one of remaining_iterations, restarts"),
    ],
)
def test_a_wrong_value_in_a_column_is_told_with_its_place(columns: Any, words: str) -> None:
    service = Service()
    asked(service, "session/open", cluster=CLUSTER)
    asked(service, "session/submit", jobs=[{"id": name, "gpus": 1, "submitted": 0} for name in "ab"])
    assert words in refused(service, "session/progress", jobs=["a", "b"], columns=columns)["detail"]


def test_a_wrong_value_of_any_mapping_is_told_with_its_key() -> None:
    service = Service()
    asked(service, "session/open", cluster=CLUSTER)
    assert refused(service, "session/acknowledge", step=1, failed={"a": "", "b": 3})["field"] == "failed[b]"
    assert refused(service, "what-if", round=ROUND, quotas={"a": 1, "b": 1.5})["field"] == "quotas[b]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"do": "session/state", "session": "a", "session": "b"}',
            "message: found the key 'session' twice ('a', 'b')",
        ),
        ('{"do": "solve", "round": @, "limits": {"gap": 1, "gap": 0}}', "limits: found the key 'gap' twice (1, 0)"),
        ('{"do": "solve", "round": {"name": "a", ', "round: found the key 'name' twice ('a', 'toy/two-gangs')"),
        ('{"do": "why", "job": "a", "job": "job-0", "round": @}', "message: found the key 'job' twice"),
    ],
)
def test_a_key_that_is_there_twice_is_refused(text: str, words: str) -> None:
    round_ = json.dumps(ROUND)
    whole = text.replace("@", round_) if text.endswith("}") else text + round_[1:] + "}"
    problem = json.loads(Service().reply(whole.encode()))["problem"]
    assert (problem["status"], problem["allowed"]) == (422, "each key once")
    assert words in problem["detail"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"value": "x"}, "result.value: found 'x'; allowed: a whole number, or null"),
        ({"format": "x"}, "result.format: found 'x'; allowed: one of 'muri-opt/result/1', 'muri-opt/result/2'"),
        ({"termination": 3}, "result.termination: found 3; allowed: an object with the fields reason"),
        ({"termination": {"reason": "X"}}, "result.termination.reason: found 'X'; allowed: one of 'OPTIMAL', "),
        ({"answer": 3}, "result: found unknown field 'answer'"),
    ],
)
def test_what_is_wrong_with_a_result_is_told_with_its_place(changed: Any, words: str) -> None:
    result = asked(Service(), "solve", round=ROUND, policy="fifo", method="heuristic")
    assert words in refused(Service(), "verify", round=ROUND, result={**result, **changed})["detail"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"add_nodes": ["1x8", {"id": "x"}]}, "add_nodes[1].gpus: found nothing; allowed: a whole number from 0"),
        ({"add_nodes": ["1x8", 3]}, "add_nodes[1]: found 3; allowed: a string, or an object"),
        ({"add_nodes": [{"id": "n0", "gpus": 1}]}, "add_nodes: found 'n0', which is there; allowed: nodes of other"),
        ({"jobs": [{"id": "x", "gpus": 1}, {"id": "y"}]}, "jobs[1].gpus: found nothing"),
        ({"jobs": [{"id": "x", "gpus": 1}, {"id": "x", "gpus": 2}]}, "jobs[1].id: found 'x', used by jobs[0] already"),
    ],
)
def test_a_part_of_a_scenario_is_told_with_its_place(fields: Any, words: str) -> None:
    assert words in refused(Service(), "what-if", round=ROUND, **fields)["detail"]


def test_a_job_that_no_round_could_hold_is_told_by_its_place_in_the_message() -> None:
    service = Service()
    asked(service, "session/open", cluster=CLUSTER)
    problem = refused(service, "session/submit", jobs=[JOBS[0], {"id": "e", "gpus": 1, "stage_seconds": [1]}])
    assert problem["field"] == "jobs[1] ('e').stage_seconds"
