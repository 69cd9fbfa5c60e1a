"""The benchmarks of first answers measure what they say, on small rounds."""

from __future__ import annotations

import pytest

from benchmarks import joint_first, whole_call
from benchmarks.what_binds import BINDING
from muri_opt import InputError

MANY = "twelve labels asked for in many ways"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_whole_call_of_a_policy_where_something_binds(capsys: pytest.CaptureFixture[str]) -> None:
    whole_call.main(["srtf", "--jobs", "100", "--rounds", "2", "--seconds", "0.2", "--binding", "two GPU types"])
    printed = capsys.readouterr().out.strip().splitlines()
    rows = [cells(line) for line in printed[2:]]
    assert [row[1] for row in rows] == [kind for kind in BINDING if "two GPU types" in kind]
    assert {row[-1] for row in rows} == {"yes"}


def test_what_a_policy_refuses_is_named_and_has_no_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("job.requires", "labels", "none")

    monkeypatch.setattr(whole_call, "solve_round", refuse)
    whole_call.main(["srtf", "--jobs", "100", "--rounds", "1", "--binding", MANY])
    printed = capsys.readouterr().out.strip().splitlines()
    told = [f"`srtf` refuses {kind}: job.requires: found labels; allowed: none" for kind in BINDING if MANY in kind]
    assert printed[3:] == told


def test_first_answers_of_joint_rounds(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    plans = f"plans, all different: {MANY}"
    monkeypatch.setattr(joint_first, "BINDING", (MANY,))
    monkeypatch.setattr(joint_first, "OF_OTHERS", {plans: joint_first.OF_OTHERS[plans]})
    joint_first.main(["--jobs", "100", "--rounds", "1", "--policies", "joint-s"])
    printed = capsys.readouterr().out.strip().splitlines()
    assert [cells(line)[0] for line in printed[2:]] == [*joint_first.KINDS, MANY, plans]


def test_first_answers_of_jobs_of_a_workload_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    workload = "generate:philly?jobs=30&seed=1"
    joint_first.main(["--jobs", "100", "--rounds", "2", "--policies", "joint-s", "--workloads", workload])
    line = cells(capsys.readouterr().out.strip().splitlines()[2])
    assert line[:2] == [workload, "`joint-s`"]
    first, longest, told = map(float, line[2:5])
    assert 0 <= first <= longest
    assert first <= told


def test_only_joint_policies_have_first_answers() -> None:
    with pytest.raises(InputError, match="joint policies"):
        joint_first.main(["--jobs", "100", "--rounds", "1", "--policies", "fifo"])
