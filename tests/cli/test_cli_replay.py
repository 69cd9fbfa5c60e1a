"""``muri-opt replay``: the comparison, resuming, faults of the input and of runs, the bar, an interrupt."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from replay_traces import write_trace

from muri_opt.cli.studies import policies_in

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ("fifo", "muri-s", "srtf:nodes=fewest", "philly:migrate=8,objective=weighted", "fifo:backfill=off,nodes=any")


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path / "trace.csv")


@pytest.fixture
def here(tmp_path):
    """The options that keep a study in this process and its results in the test's folder."""
    return ("--cluster", "1x4", "--engine", "here", "--folder", tmp_path / "study")


def test_policies_are_compared_with_the_first(run, trace, here, tmp_path):
    code, out, err = run("replay", trace, "--policy", "srtf,srsf,tiresias", "--clock", "muri", *here)
    assert (code, err) == (0, "")
    head, *lines = out.splitlines()
    assert head.split()[:4] == ["workload", "policy", "jobs", "mean"]
    assert [line.split()[1] for line in lines[:3]] == ["srtf", "srsf", "tiresias"]
    assert lines[0].split()[4] == "1.000"
    assert lines[-1] == f"3 runs in {tmp_path / 'study'}: results.csv, comparison.md"
    assert run("replay", trace, "--policy", "srtf,srsf,tiresias", "--clock", "muri", *here) == (0, out, "")


def test_json_has_all_figures_in_the_order_of_the_runs(run, trace, here, tmp_path):
    other = write_trace(tmp_path / "other.csv", jobs=5)
    words = ("--policy", "fifo", "--policy", "srtf,las", "--seeds", 2, "--json")
    code, out, err = run("replay", trace, other, *words, *here)
    assert (code, err) == (0, "")
    told = json.loads(out)
    wanted = [(t, s, p) for t in (trace, other) for s in (0, 1) for p in ("fifo", "srtf", "las")]
    assert [(row["workload"], row["seed"], row["policy"]) for row in told["runs"]] == wanted
    assert [row["jobs"] for row in told["runs"]] == [8] * 6 + [5] * 6
    assert told["failed"] == []
    assert told["notes"] == {trace: {}, other: {}}


def test_it_is_said_for_whom_the_bounds_do_not_hold(run, trace, here):
    policies = "fifo,muri-s,muri-s:run=free,muri-s:preset=authors"
    code, out, err = run("replay", trace, "--policy", policies, *here)
    assert (code, err) == (0, "")
    words = "not for muri-s:run=free, muri-s:preset=authors: there several jobs use a resource of GPUs at the same time"
    assert words in out.splitlines()
    told = json.loads(run("replay", trace, "--policy", policies, "--json", *here)[1])
    assert told["outside_bounds"] == ["muri-s:run=free", "muri-s:preset=authors"]
    assert "not for" not in run("replay", trace, "--policy", "fifo,muri-s", *here)[1]


def test_methods_intervals_and_what_is_kept(run, trace, here, tmp_path):
    words = ("--method", "heuristic,auto", "--interval", 30, "--round-seconds", 2, "--keep-jobs", "--parquet", "--json")
    code, out, err = run("replay", trace, *words, "--round-gap", 0.01, "--launch-seconds", 40, *here)
    assert (code, err) == (0, "")
    rows = json.loads(out)["runs"]
    assert {(row["round_seconds"], row["round_gap"], row["launch_seconds"]) for row in rows} == {(2.0, 0.01, 40.0)}
    assert [(row["policy"], row["method"], row["interval"]) for row in rows] == [
        ("fifo", "heuristic", 30.0),
        ("fifo", "auto", 30.0),
    ]
    kept = {path.stem for path in (tmp_path / "study" / "outcomes").iterdir()}
    assert kept == {row["fingerprint"] for row in rows}
    assert (tmp_path / "study" / "results.parquet").exists()


def test_jobs_apart_are_slower(run, here, tmp_path):
    nodes = [{"id": f"n{place}", "gpus": 3, "rack": f"r{place}"} for place in range(3)]
    (tmp_path / "racks.json").write_text(json.dumps({"nodes": nodes}))
    words = ("replay", "generate:tiresias?jobs=24&most-gpus=2", *here, "--cluster", tmp_path / "racks.json", "--json")
    speeds = ("--rack-speed", 0.854, "--any-speed", 0.729)
    (plain,), (apart,) = (json.loads(run(*words, *more)[1])["runs"] for more in ((), speeds))
    assert (apart["rack_speed"], apart["any_speed"]) == (0.854, 0.729)
    assert (plain["rack_speed"], plain["any_speed"]) == (1.0, 1.0)
    assert apart["mean"] > plain["mean"]


def test_a_report_names_what_it_compares(run, trace, here, tmp_path):
    page = tmp_path / "report.html"
    code, _, err = run("replay", trace, "--policy", "srtf,srsf", "--clock", "muri", "--report", page, *here)
    assert (code, err) == (0, "")
    assert all(f'<th scope="row">{policy}</th>' in page.read_text() for policy in ("srtf", "srsf"))
    code, _, err = run("replay", trace, "--method", "heuristic,auto", "--report", page, *here)
    assert (code, err) == (0, "")
    assert all(f'<th scope="row">fifo, {method}</th>' in page.read_text() for method in ("heuristic", "auto"))


def test_what_a_reader_left_out_is_said(run, here):
    code, out, _ = run("replay", "generate:tiresias?jobs=20&most-gpus=4", "--fast", *here)
    assert code == 0
    assert "jobs left out: the job asks for more GPUs than it may\n" in out


def test_a_policy_that_cannot_decide_is_a_violation_and_the_rest_is_done(run, here, tmp_path):
    gangs = "generate:tiresias?jobs=3&most-gpus=4"
    code, out, err = run("replay", gangs, "--policy", "srtf,muri-s", *here)
    assert (code, err) == (1, "")
    assert f"failed: {gangs} under muri-s, heuristic, seed 0: at " in out
    assert f"1 run in {tmp_path / 'study'}" in out
    code, out, _ = run("replay", gangs, "--policy", "muri-s", "--json", *here)
    told = json.loads(out)
    assert (code, told["runs"], told["failed"][0]["cause"]) == (1, [], "policy")


def test_decisions_that_were_counted_are_said(run, trace, here, tmp_path):
    words = ("replay", trace, "--on-bad", "count", *here)
    assert "counted" not in run(*words)[1]
    lines = tmp_path / "study" / "results.jsonl"
    lines.write_bytes(lines.read_bytes().replace(b'"counted":0', b'"counted":2'))
    assert "\n2 decisions counted that broke rules or could not be made\n" in run(*words)[1]


def test_an_error_of_ours_is_a_failure(run, trace, here, monkeypatch):
    monkeypatch.setattr("muri_opt.replay.studies.runs.summary", lambda _: 1 // 0)
    code, out, _ = run("replay", trace, *here)
    assert code == 5
    assert "ZeroDivisionError" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "fifi"), "policy: found 'fifi' (did you mean 'fifo'?)"),
        (("--policy", "fifo,"), "policy: found ''"),
        (("--policy", "srtf,nodes=fewest"), "policy: found 'srtf,nodes=fewest'"),
        (("--method", "exat"), "method: found 'exat'"),
        (("--clock", "mury"), "clock: found 'mury' (did you mean 'muri'?)"),
        (("--cluster", "8x"), "cluster: found '8x'; allowed: nodes x GPUs of each, such as 8x8"),
        (("--cluster", "1x2"), "at most the 2 GPUs of the cluster"),
        (("--interval", "0"), "interval: found 0"),
        (("--rack-speed", "1.5"), "rack_speed: found 1.5"),
        (("--rack-speed", "0.5"), "any_speed: found 1.0; allowed: at most rack_speed, 0.5"),
        (("--any-speed", "0.5", "--fast"), "any_speed: found 0.5; allowed: 1 in a fast replay"),
        (("--any-speed", "0.5", "--clock", "muri"), "any_speed: found 0.5; allowed: 1.0 with the clock 'muri'"),
        (("--seeds", "0"), "--seeds: found 0"),
        (("--seeds", "2", "--clock", "muri", "--policy", "srtf"), "seed: found 1; allowed: 0 with the clock 'muri'"),
        (("--jobs", "0"), "jobs: found 0"),
        (("--engine", "dask"), "engine: found 'dask'"),
        (("--on-bad", "go"), "on_bad: found 'go'"),
        (("--report", "/nowhere/at/all.html"), "/nowhere/at/all.html: found No such file or directory"),
        (("--clock", "muri"), "policy of the clock 'muri': found 'fifo'"),
    ],
)
def test_bad_input(refused, trace, here, words, said):
    assert said in refused("replay", trace, *here, *words)


def test_bad_traces(refused, here, tmp_path):
    assert "gone.csv" in refused("replay", tmp_path / "gone.csv", *here)
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\xff\xfe")
    assert "bad.csv" in refused("replay", path, *here)
    assert "family of workloads: found 'phily'" in refused("replay", "generate:phily", *here)
    assert "the following arguments are required: TRACE" in refused("replay", *here)
    assert not (tmp_path / "study").exists()


def test_without_ray_and_pyarrow_the_remedy_is_named(refused, trace, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'muri-opt[ray]'" in refused("replay", trace, *here, "--engine", "ray")
    assert "pip install 'muri-opt[parquet]'" in refused("replay", trace, *here, "--parquet")


@given(st.lists(st.sampled_from(TEXTS), min_size=1), st.booleans())
def test_a_comma_before_a_parameter_does_not_end_a_policy(texts, repeated):
    assert policies_in(texts if repeated else [",".join(texts)]) == texts


def test_a_bar_is_for_terminals_only(trace, tmp_path):
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "muri_opt", "replay", trace, "--policy", "srtf,srsf", "--clock", "muri"]
    argv += ["--cluster", "1x4", "--folder", str(tmp_path / "study"), "--jobs", "1"]
    ended = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=900, check=False)
    os.close(theirs)
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    assert ended.returncode == 0
    assert "\x1b" not in ended.stdout
    for over in range(3):
        assert f"] {over} of 2 runs" in told
    assert told.endswith("\r\x1b[K")


def test_an_interrupt_leaves_a_folder_that_goes_on(run, here, tmp_path):
    # So many runs that none of the machines this is tried on ends before it is interrupted.
    work, lines = "generate:tiresias?jobs=30&most-gpus=4", tmp_path / "study" / "results.jsonl"
    argv = [sys.executable, "-m", "muri_opt", "replay", work, "--cluster", "1x4", "--seeds", "5000", "--jobs", "2"]
    argv += ["--folder", str(tmp_path / "study")]
    with subprocess.Popen(
        argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        while not lines.exists() or lines.read_bytes().count(b"\n") < 3:
            assert running.poll() is None
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=900)
    assert (running.returncode, out, err) == (130, b"", b"")
    done = lines.read_bytes().splitlines()
    assert 3 <= len(done) < 5_000
    code, out, _ = run("replay", work, "--seeds", 3, "--json", *here)
    assert code == 0
    assert [row["seed"] for row in json.loads(out)["runs"]] == [0, 1, 2]
    assert len(lines.read_bytes().splitlines()) <= len(done) + 1
