"""The command that moves jobs: text, JSON, exit codes, and complaints."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import muri_opt.solve.defragmentation
from muri_opt import Proof, Reason, Violation, read_round
from muri_opt.report.text.defragmentation import defragmentation_text
from muri_opt.rounds import Agreement, Certificate, Termination
from muri_opt.systems.defragment import make_room

THREE = str(Path(__file__).resolve().parents[2] / "instances" / "toy" / "three-fragments.json")


def test_moves_and_proof_are_shown(run):
    code, out, err = run("defragment", THREE, "--job", "job-8")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "toy/three-fragments: 9 jobs, 24 GPUs on 3 nodes",
        "",
        "moves: 2 jobs, all at once",
        "  job    GPUs  from   to",
        "  job-1     2  n0 x2  n1 x2",
        "  job-2     1  n0 x1  n2 x1",
        "",
        "goal         room for job-8",
        "placement    n0 x4",
        "moved        3 GPUs in 2 jobs",
        "bound        3 GPUs in 2 jobs",
        "termination  OPTIMAL: greedy and prices",
        "proof        no plan costs less than the bound: checked here from prices of jobs, in exact integers",
    ]


def test_json_has_everything(run):
    code, out, _ = run("defragment", THREE, "--job", "job-8", "--json", "--budget", "3")
    found = json.loads(out)
    assert code == 0
    assert (found["format"], found["moved_gpus"], found["moved_jobs"]) == ("muri-opt/defragmentation/1", 3, 2)
    assert found["moves"][0] == {"job": "job-1", "from": {"n0": 2}, "to": {"n1": 2}}
    assert (found["placement"], found["bound"]) == ({"n0": 4}, {"gpus": 3, "jobs": 2})
    assert (found["certificate"]["proof"], found["budget"]) == ("LinearDuals", 3)
    assert found["fingerprint"] == read_round(THREE).fingerprint


@pytest.mark.parametrize(
    ("options", "code", "lines"),
    [
        (
            ["--job", "job-8", "--budget", "2"],
            3,
            [
                "termination  INFEASIBLE: a budget of 2 moved GPUs does not do: 3 would do",
                "proof        no plan keeps to",
            ],
        ),
        (
            ["--nodes", "1"],
            3,
            ["proof        no plan reaches the goal: counted here, node by node", "bound        none"],
        ),
        (["--nodes", "0"], 0, ["moves: none are needed", "moved        0 GPUs in 0 jobs", "goal         free 0 nodes"]),
        (["--job", "job-8", "--budget", "2", "--seconds", "0"], 4, ["termination  NO_SOLUTION (limit: TIME)"]),
    ],
)
def test_exit_codes(run, options, code, lines):
    found, out, _ = run("defragment", THREE, *options)
    assert found == code
    assert all(any(line.startswith(start) for line in out.splitlines()) for start in lines), out


def test_free_nodes_are_listed(run, round_file):
    jobs = [{"id": "a", "gpus": 2, "state": "running", "placement": {"n1": 2}, "restart_seconds": 1}]
    code, out, _ = run("defragment", round_file(jobs=jobs), "--nodes", "1", "--all")
    assert (code, "free nodes   n0\n" in out) == (0, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "one of the arguments --nodes --job is required"),
        (["--nodes", "1", "--job", "job-8"], "not allowed with argument"),
        (["--nodes", "4"], "nodes: found 4; allowed: at most the 3 nodes with GPUs"),
        (["--job", "job-9"], "job: found 'job-9'; allowed: a waiting job: job-8"),
        (["--job", "job-1"], "job: found 'job-1', which is running"),
        (["--nodes", "1", "--budget", "-1"], "budget: found -1"),
    ],
)
def test_bad_arguments(refused, options, said):
    assert said in refused("defragment", THREE, *options)


def test_a_job_that_is_not_placed_as_it_says_is_named(refused, round_file):
    jobs = [{"id": "a", "gpus": 2, "state": "running"}]
    assert "jobs[0] ('a').placement: found nothing" in refused("defragment", round_file(jobs=jobs), "--nodes", "1")


def test_an_answer_that_breaks_a_rule_is_none(run, monkeypatch):
    def wrong(round_, found):
        return Certificate(
            feasible=False, proof=Proof.COUNTING, violations=(Violation(rule="cost", where="cost", detail="wrong"),)
        )

    monkeypatch.setattr(muri_opt.solve.defragmentation, "check_defragmentation", wrong)
    code, out, _ = run("defragment", THREE, "--nodes", "0")
    assert (code, "nothing is proved: the check found 1 violation" in out) == (1, True)


def test_the_proof_never_claims_more_than_was_checked():
    round_ = read_round(THREE)
    found = make_room(round_, job="job-8")
    assert "proof        nothing is proved\n" in defragmentation_text(round_, found)
    evidence = (Agreement(backends=("highs", "cp-sat")),)
    for certificate, said in (
        (Certificate(feasible=True, proof=Proof.AGREEMENT, evidence=evidence), "if highs and cp-sat, who agree, are"),
        (Certificate(feasible=True, proof=Proof.CLAIM_ONLY), "if the solver is right; not checked here"),
        (Certificate(feasible=True, proof=Proof.EXHAUSTIVE), "confirmed by going through every cheaper plan"),
    ):
        assert said in defragmentation_text(round_, replace(found, certificate=certificate))
    failed = replace(found, cost=None, moves=(), bound=None, termination=Termination(reason=Reason.FAILED))
    assert "moved        none" in defragmentation_text(round_, failed)
