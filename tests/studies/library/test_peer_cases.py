"""Cases of other schedulers' tests: our optimum is what the peer expects, or it is said why it is not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.make_peers import entry_of
from benchmarks.peer_cases_others import CASES
from benchmarks.peer_table import peer_table
from muri_opt import Limits, solve_round, verify
from muri_opt.rounds import Decision
from muri_opt.studies.library import instances

ROOT = Path(__file__).resolve().parents[3]
STORED = {entry["instance"]: entry for entry in json.loads((ROOT / "instances" / "peers.json").read_text())}
ROUNDS = {instance.name: instance for instance in instances(family="peers")}


def places(decision: Decision) -> dict[str, dict[str, int] | None]:
    """Return the GPUs per node of each job, ``None`` for one that waits."""
    runs = {job: dict(one.gpus) for one in decision.assignments for job in one.jobs}
    return runs | {wait.job: None for wait in decision.waiting}


def test_there_are_cases_of_every_peer_and_each_has_its_files() -> None:
    peers = Counter(entry["peer"].split("/")[0] for entry in STORED.values())
    assert peers["kubernetes-sigs"] >= 6
    assert peers["NVIDIA"] >= 3
    assert peers["volcano-sh"] >= 3
    assert peers["petuum"] >= 1
    assert peers["stanford-futuredata"] >= 2
    assert set(STORED) == set(ROUNDS)
    assert list(STORED.values()) == [entry_of(case) for case in CASES]
    for case in CASES:
        assert ROUNDS[f"peers/{case.name}"].round() == case.round_


@pytest.mark.parametrize("name", STORED)
def test_our_optimum_is_the_peers_answer_or_it_is_said_why_not(name: str) -> None:
    entry, round_ = STORED[name], ROUNDS[name].round()
    result = solve_round(round_, entry["policy"], "auto", Limits(seconds=20.0))
    assert result.termination.reason == "OPTIMAL"
    assert verify(round_, result).feasible
    assert places(result.decision) == entry["ours"]
    assert (entry["ours"] == entry["expected"]) == (entry["differs"] is None)
    assert set(entry["expected"]) == set(round_.job_index)
    stored = ROUNDS[name].optimum(entry["policy"])
    assert stored.value == stored.bound == result.value


def test_the_page_has_the_table_of_all_cases() -> None:
    assert peer_table(STORED.values()) in (ROOT / "docs" / "peers.md").read_text() + "\n"
