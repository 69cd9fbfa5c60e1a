"""The commands ``what-if`` and ``why``: text, JSON, a page, exit codes and complaints."""

import json

import pytest


def test_who_starts_with_another_node(run):
    code, out, err = run("what-if", "toy/two-gangs", "--add-nodes", "1x8", "--when")
    assert (code, err) == (0, "")
    assert "starts: 1 job\n  job    nodes\n  job-1  added-0 x6\n" in out
    assert "jobs that run" in out
    assert "assuming: nothing more arrives" in out


def test_who_waits_without_a_node_and_with_another_job(run, tmp_path):
    job = tmp_path / "job.json"
    job.write_text('{"id": "job-9", "gpus": 1, "submitted": 0}')
    code, out, _ = run("what-if", "toy/two-gangs", "--drop-node", "n1", "--submit", job, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["format"] == "muri-opt/what-if/1"
    assert found["starts"] == {"job-9": {"n0": 1}}
    assert found["then"]["running"] == 2
    assert [wait["job"] for wait in found["still_waiting"]] == ["job-1"]


def test_a_picture_of_the_changed_round(run, tmp_path):
    path = tmp_path / "then.svg"
    assert run("what-if", "toy/two-gangs", "--add-nodes", "1x8", "--picture", path)[0] == 0
    assert "added-0" in path.read_text()


def test_why_a_job_waits_and_when_it_would_start(run, round_file, tmp_path):
    jobs = [
        {"id": "a", "gpus": 8, "submitted": 0, "iteration_seconds": 60, "remaining_iterations": 90},
        {"id": "<b>", "gpus": 8, "submitted": 1, "iteration_seconds": 60, "remaining_iterations": 90},
    ]
    page = tmp_path / "ticket.html"
    code, out, err = run("why", round_file(jobs=jobs), "<b>", "--when", "--html", page)
    assert (code, err) == (0, "")
    assert "because      asks for 8 GPUs; 0 of 8 are free\nremedy       stop 'a' (8 GPUs)\n" in out
    assert "would start  in 1 h 30 min\n" in out
    assert "Job &lt;b&gt;" in page.read_text()
    assert "<b>" not in page.read_text()
    found = json.loads(run("why", round_file(jobs=jobs), "<b>", "--when", "--json")[1])
    assert (found["waiting"]["reason"], found["starts_in_seconds"]) == ("capacity", 5400.0)


def test_why_a_job_runs(run):
    code, out, _ = run("why", "toy/two-gangs", "job-0", "--when")
    assert code == 0
    assert "decision     starts on" in out
    assert "would start" not in out
    found = json.loads(run("why", "toy/two-gangs", "job-0", "--json")[1])
    assert found["waiting"] is None
    assert sum(found["gpus"].values()) == 3


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--add-nodes", "8"), "add_nodes: found '8'; allowed: a number of nodes and of GPUs each, as 2x8"),
        (("--quota", "nlp"), "--quota: found 'nlp'; allowed: a tenant and its GPUs, as nlp=16"),
        (("--quota", "nlp=4"), "quotas: found 'nlp'; allowed: a tenant of the cluster: there is none"),
        (("--quota", "a=1", "--quota", "a=2"), "--quota: found 2 quotas of 1 tenants; allowed: each tenant once"),
        (("--drop-node", "n7"), "remove_nodes: found 'n7'"),
        (("--release", "job-1"), "release: found 'job-1', which is not held"),
        (("--submit", "missing.json"), "missing.json: found No such file or directory"),
        (("--policy", "fifi"), "policy: found 'fifi' (did you mean 'fifo'?)"),
    ],
)
def test_bad_options_are_one_complaint(refused, options, complaint):
    assert complaint in refused("what-if", "toy/two-gangs", *options)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"id": "a", "gpus": "x"}', "gpus: found 'x'; allowed: a whole number from 0 to 1,000,000"),
        ('{"id": "a", "gpus": 1, "gpus": 2}', "job: found the key 'gpus' twice (1, 2); allowed: each key once"),
        ('{"id": "a", "gpu": 1}', "job: found unknown field 'gpu' (did you mean 'gpus'?)"),
        ("{", "job: found text that is not JSON"),
        ("", "job: found an empty text"),
        ("[" * 10_000, "job: found "),
    ],
)
def test_a_job_that_cannot_be_read_is_one_complaint(refused, tmp_path, text, complaint):
    file = tmp_path / "job.json"
    file.write_text(text)
    assert f"{file}: {complaint}" in refused("what-if", "toy/two-gangs", "--submit", str(file))


def test_a_job_that_is_not_there(refused):
    assert "did you mean 'job-1'?" in refused("why", "toy/two-gangs", "job1")
