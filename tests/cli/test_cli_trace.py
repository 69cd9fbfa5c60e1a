"""``muri-opt trace``: examples, statistics and reports, and the round of a moment."""

import json

import pytest

from muri_opt.replay.traces import EXAMPLES, FORMATS
from muri_opt.rounds import read_round


@pytest.fixture
def file(tmp_path):
    """Return a function that writes an example, or a text, and returns the name of the file."""

    def write(name, text=None):
        path = tmp_path / name
        path.write_text(EXAMPLES[name] if text is None else text)
        return path

    return write


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_to_start_from(run, tmp_path, name):
    assert run("trace", "--example", name) == (0, EXAMPLES[name], "")
    assert run("trace", "--example", name, "--output", tmp_path / "made") == (0, "", "")
    assert (tmp_path / "made").read_text() == EXAMPLES[name]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_described(run, file, name):
    code, out, err = run("trace", file(name))
    assert (code, err) == (0, "")
    assert out.startswith(f"format       {name}\n")
    assert "\nGPU hours    " in out
    assert "columns not read: " in out or name.startswith("philly")
    answer = json.loads(run("trace", file(name), "--format", name, "--json")[1])
    assert answer["format"] == name
    assert answer["report"]["rows"] == answer["report"]["kept"] + sum(
        found["count"] for found in answer["report"]["left_out"]
    )
    assert answer["machines"] is None


def test_text_of_a_trace(run, file):
    _, out, _ = run("trace", file("philly"), "--machines", file("philly-machines"))
    for line in (
        "begins       2017-10-09 07:00:00",
        "machines     3 with 18 GPUs",
        "jobs         6, 1 of them without a known end",
        "GPU hours    56.0",
        "status       passed 3, killed 1, failed 1, running 1",
        "   1     2  33.33%        0.06%",
        "2-4 GPUs     2   8,520  8,520  13,440  13,440  13,440",
        "vision     3       40.0",
        "jobs: 9 read, 6 kept, 3 left out",
        "  1  no-submission-time  the time of submission is missing (first: job 9 (application_9))",
        "machines: 3 read, 3 kept, 0 left out",
    ):
        assert f"\n{line}\n" in out, line


def test_json_of_the_machines(run, file):
    answer = json.loads(run("trace", file("openb"), "--machines", file("openb-nodes"), "--json")[1])
    assert (answer["epoch"], answer["nodes"], answer["machines"]["rows"]) == (None, 2, 3)
    assert answer["statistics"]["statuses"] == {"passed": 1, "failed": 1, "unknown": 1}


def test_many_tenants_are_cut(run, file):
    rows = [f"2017-10-09 07:00:00,{k},1,{k},vc{k}" for k in range(1, 31)]
    _, out, _ = run("trace", file("many.csv", "\n".join(["timestamp,duration,num_gpus,gpu_time,cluster", *rows])))
    assert "\n... and 10 more (--json lists them)\n" in out


def test_an_empty_trace(run, file):
    code, out, _ = run("trace", file("none.json", "[]"))
    assert code == 0
    assert "status       none\n" in out


def test_the_round_of_a_moment(run, file, tmp_path):
    path = tmp_path / "round.json"
    given = ("trace", file("philly"), "--at", "3600", "--output", path)
    code, out, err = run(*given, "--machines", file("philly-machines"))
    assert (code, err) == (0, "")
    assert out == (
        "5 jobs: 3 running, 2 waiting\n"
        "given as waiting, though the trace has them running:\n"
        "  1  no-placement  the trace does not say where the job ran (first: job application_6)\n"
    )
    assert sum(job.state == "running" for job in read_round(path).jobs) == 3
    answer = json.loads(run(*given, "--cluster", "8x4", "--json")[1])
    assert (answer["running"], answer["waiting"]) == (0, 5)
    assert answer["given_as_waiting"] == [{"reason": "not-in-cluster", "count": 4, "example": "job application_1"}]
    round_ = read_round(path)
    assert [(node.id, node.gpus) for node in round_.cluster.nodes] == [(f"n{k}", 4) for k in range(8)]
    assert run("trace", file("philly"), "--at", "0", "--cluster", "1x1", "--output", path)[1] == (
        "1 job: 0 running, 1 waiting\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "trace: found nothing; allowed: one of a file and --example"),
        (("philly", "--example", "philly"), "trace: found both; allowed: one of a file and --example"),
        (("--example", "filly"), "example: found 'filly' (did you mean 'philly'?)"),
        (("--example", "philly", "--at", "3"), "--at: found given; allowed: not with --example"),
        (("--example", "philly", "--at", "0"), "--at: found given; allowed: not with --example"),
        (("--example", "philly", "--json"), "--json: found given; allowed: not with --example"),
        (("philly", "--cluster", "8x8"), "--cluster: found '8x8'; allowed: only with --at"),
        (("philly", "--output", "x.json"), "--output: found 'x.json'; allowed: only with --at"),
        (("philly", "--at", "1"), "--output: found nothing; allowed: with --at, the file to write the round to"),
        (("philly", "--at", "-1", "--cluster", "8x8", "--output", "r"), "seconds: found -1.0; allowed: a finite"),
        (("philly", "--at", "1", "--output", "r"), "cluster: found no machine in the trace"),
        (("philly", "--at", "1", "--cluster", "8", "--output", "r"), "cluster: found '8'; allowed: nodes x GPUs"),
        (("philly", "--at", "1", "--cluster", "0x8", "--output", "r"), "cluster nodes: found 0; allowed: a whole"),
        (("philly", "--at", "1", "--cluster", "1x0", "--output", "r"), "cluster GPUs: found 0; allowed: a whole"),
        (("philly", "--format", "phily"), "format: found 'phily' (did you mean 'philly'?)"),
        (("philly", "--machines", "nowhere"), "nowhere: found No such file or directory"),
        (("nowhere",), "nowhere: found No such file or directory"),
        (("broken",), "broken: line 1: found the end of the file inside the JSON, after '[{'"),
    ],
)
def test_bad_input(refused, file, monkeypatch, tmp_path, words, message):
    file("philly")
    file("broken", "[{")
    monkeypatch.chdir(tmp_path)
    assert refused("trace", *words).startswith(message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "philly"]
