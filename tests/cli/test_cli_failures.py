"""``muri-opt failures``: the four sets of rules as a table and as JSON."""

import json

import pytest

SMALL = ("failures", "--jobs", 60, "--gpus", 24, "--seed", 3)


def test_the_table(run):
    code, out, err = run(*SMALL)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "60 jobs on 24 GPUs, 1 of them the pool where there is a pre-run; seed 3"
    assert [line.split("  ")[0] for line in lines[4:]] == [
        *("fixed retry", "adaptive retry", "pre-run, fixed", "pre-run, adaptive"),
    ]
    assert run(*SMALL) == (code, out, err)
    assert run(*SMALL[:-1], 4)[1] != out


def test_the_figures_add_up(run):
    code, out, err = run(*SMALL, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert (answer["jobs"], answer["gpus"], answer["pool_gpus"], len(answer["rules"])) == (60, 24, 1, 4)
    for row in answer["rules"]:
        assert row["passed"] + row["given_up"] + row["withdrawn"] == 60
        parts = ("useful_gpu_seconds", "lost_gpu_seconds", "pre_run_gpu_seconds")
        assert round(1000 * row["used_gpu_seconds"]) == sum(round(1000 * row[part]) for part in parts)


def test_no_jobs(run):
    code, out, _ = run("failures", "--jobs", 0)
    assert (code, out.count(" -")) == (0, 12)
    assert json.loads(run("failures", "--jobs", 0, "--json")[1])["rules"][0]["mean_completion_seconds"] is None


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--jobs", "-1", "jobs: found -1"),
        ("--jobs", "many", "argument --jobs: invalid int value: 'many'"),
        ("--seed", "-1", "seed: found -1"),
        ("--gpus", "1", "gpus: found 1; allowed: a whole number from 2"),
    ],
)
def test_bad_options(refused, option, value, said):
    assert said in refused("failures", option, value)
