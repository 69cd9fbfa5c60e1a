"""Studies: rows in the order of the runs wherever they are done, nothing done twice, nothing lost."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from replay_traces import write_trace

from muri_opt import __version__
from muri_opt.errors import InputError
from muri_opt.replay.metrics.summary import summary
from muri_opt.replay.run import replay
from muri_opt.replay.studies.cluster_text import cluster_from
from muri_opt.replay.studies.files import opened
from muri_opt.replay.studies.outcome_files import load_outcome, outcome_bytes
from muri_opt.replay.studies.runs import StudyRun
from muri_opt.replay.studies.study import StudyError, outcomes_of, run_study
from muri_opt.replay.workloads.files import read_workload

POLICIES = ("srtf", "srsf", "tiresias", "muri-s:preset=authors")
TIMES = ("decision_seconds", "run_seconds")


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return write_trace(tmp_path / "trace.csv")


def runs(trace: str, *, cluster: str = "1x4", clock: str = "muri", policies=POLICIES) -> list[StudyRun]:
    return [StudyRun(workload=trace, cluster=cluster, policy=policy, clock=clock) for policy in policies]


def without_times(rows) -> list[dict]:
    return [{name: value for name, value in row.as_dict().items() if name not in TIMES} for row in rows]


def here(study, folder, **more):
    """Run a study in this process; return its rows and how many runs were done, not found done."""
    told = []
    rows = run_study(study, folder=folder, engine="here", progress=lambda over, _: told.append(over), **more)
    return rows, len(told) - 1


def test_rows_are_the_figures_of_the_replays(trace, tmp_path):
    rows, done = here(runs(trace), tmp_path / "study")
    assert done == 4
    assert [row.run.policy for row in rows] == list(POLICIES)
    for row in rows:
        outcome = replay(read_workload(trace), cluster_from("1x4"), row.run.policy, clock="muri")
        assert {name: value for name, value in row.figures.items() if name not in TIMES} == {
            name: value for name, value in summary(outcome).as_dict().items() if name not in TIMES
        }
    assert len({row.figures["mean"] for row in rows}) > 1


def test_processes_give_the_same_rows_in_the_same_order(trace, tmp_path):
    long = write_trace(tmp_path / "long.csv", jobs=60)
    study = [*runs(long, policies=POLICIES[3:]), *runs(trace)]  # the first run ends after others that begin later
    alone, _ = here(study, tmp_path / "here")
    beside = run_study(study, folder=tmp_path / "processes", engine="processes", jobs=2)
    assert without_times(beside) == without_times(alone)


def test_any_executor_gives_the_same_rows(trace, tmp_path):
    alone, _ = here(runs(trace), tmp_path / "here")
    with ThreadPoolExecutor(2) as threads:
        assert without_times(run_study(runs(trace), folder=tmp_path / "a", engine=threads)) == without_times(alone)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        beside = run_study(runs(trace), folder=tmp_path / "b", engine=pool, jobs=1)
    assert without_times(beside) == without_times(alone)


@pytest.mark.ray
def test_ray_gives_the_same_rows_and_says_what_is_bad_input(trace, tmp_path):
    alone, _ = here(runs(trace), tmp_path / "here")
    beside = run_study(runs(trace), folder=tmp_path / "ray", engine="ray", jobs=2)
    assert without_times(beside) == without_times(alone)
    with pytest.raises(InputError):
        run_study(runs(trace, policies=("srtf", "fifo")), folder=tmp_path / "bad", engine="ray", jobs=2)


def test_what_is_done_is_not_done_again(trace, tmp_path):
    folder = tmp_path / "study"
    first, done = here(runs(trace)[:2], folder)
    assert done == 2
    both, done = here(runs(trace), folder)
    assert done == 2
    assert both[:2] == first
    lines = (folder / "results.jsonl").read_bytes()
    assert here(runs(trace), folder) == (both, 0)
    assert (folder / "results.jsonl").read_bytes() == lines
    assert [json.loads(line)["run"]["policy"] for line in lines.splitlines()[1:]] == list(POLICIES)


def test_the_same_run_twice_is_one(trace, tmp_path):
    rows, done = here(runs(trace) + runs(trace), tmp_path / "study")
    assert (len(rows), done) == (4, 4)


def test_a_run_is_known_by_what_its_texts_stand_for(trace, tmp_path):
    folder, cluster = tmp_path / "study", tmp_path / "cluster.json"
    cluster.write_text('{"nodes": [{"id": "n0", "gpus": 4}]}')
    here(runs(trace), folder)
    rows, done = here(runs(trace, cluster=str(cluster)), folder)
    assert done == 0
    assert [row.run.cluster for row in rows] == [str(cluster)] * 4
    write_trace(Path(trace), slower=1)
    again, done = here(runs(trace), folder)
    assert done == 4
    assert all(new.figures["mean"] > old.figures["mean"] for new, old in zip(again, rows, strict=True))


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": "las"},
        {"method": "auto"},
        {"clock": "muri"},
        {"interval": 60.0},
        {"seed": 1},
        {"round_seconds": 1.0},
        {"round_work": 1.0},
        {"fast": True},
        {"verify": False},
        {"on_bad": "count"},
        {"cluster": "2x4"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_whatever_is_set_makes_another_run(trace, tmp_path, changes):
    plain = {"workload": trace, "cluster": "1x4", "policy": "srtf"}
    study = [StudyRun(**plain), StudyRun(**{**plain, **changes})]
    assert len({row.fingerprint for row in here(study, tmp_path / "study")[0]}) == 2


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_torn_last_line_is_done_again(trace, tmp_path, cut):
    folder = tmp_path / "study"
    whole, _ = here(runs(trace), folder)
    lines = folder / "results.jsonl"
    before = lines.read_bytes()
    lines.write_bytes(before[:-cut])
    rows, done = here(runs(trace), folder)
    assert done == 1
    assert without_times(rows) == without_times(whole)
    assert lines.read_bytes().splitlines()[:-1] == before.splitlines()[:-1]
    assert here(runs(trace), folder)[1] == 0


@pytest.mark.parametrize("text", [b"", b'{"format":"muri-opt/stu'])
def test_a_file_without_a_whole_line_is_a_new_one(trace, tmp_path, text):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "results.jsonl").write_bytes(text)
    assert here(runs(trace), folder)[1] == 4
    header = json.loads((folder / "results.jsonl").read_bytes().splitlines()[0])
    assert header == {"format": "muri-opt/study/1", "version": __version__}


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        (0, b'{"format":"muri-opt/study/1","version":"0.0.1"}', "found results of version '0.0.1'; allowed: those of"),
        (0, b'{"format":"muri-opt/study/9","version":"0.1.0"}', "format: found 'muri-opt/study/9'"),
        (0, b"policy,mean", "line 1: found b'policy,mean'"),
        (1, b'{"fingerprint": 3}', "line 2: found"),
        (2, b"\xff\x00", "line 3: found"),
    ],
)
def test_results_that_are_none_are_refused_and_left_alone(trace, tmp_path, line, text, said):
    folder = tmp_path / "study"
    here(runs(trace), folder)
    path = folder / "results.jsonl"
    lines = path.read_bytes().splitlines()
    lines[line] = text
    path.write_bytes(b"\n".join(lines) + b"\n{torn")
    before = path.read_bytes()
    with pytest.raises(InputError) as refusal:
        here(runs(trace), folder)
    assert said in str(refusal.value)
    assert "results.jsonl" in str(refusal.value)
    assert path.read_bytes() == before


def test_a_folder_belongs_to_one_study_at_a_time(trace, tmp_path):
    with opened(tmp_path / "study"), pytest.raises(InputError, match="a study that runs now"):
        here(runs(trace), tmp_path / "study")
    assert here(runs(trace), tmp_path / "study")[1] == 4


def test_a_folder_that_is_none_is_refused(trace):
    with pytest.raises(InputError, match="a folder that can be written"):
        here(runs(trace), trace)


def test_outcomes_are_kept_where_they_are_asked_for(trace, tmp_path):
    folder = tmp_path / "study"
    rows, _ = here(runs(trace), folder)
    assert not (folder / "outcomes").exists()
    kept, done = here(runs(trace), folder, keep_outcomes=True)
    assert done == 4
    assert without_times(kept) == without_times(rows)
    for row, outcome in zip(kept, outcomes_of(kept, folder), strict=True):
        assert (outcome.workload, outcome.policy, outcome.cluster) == ("trace", row.run.policy, "1x4")
        assert summary(outcome).as_dict() == dict(row.figures)
    (folder / "outcomes" / f"{kept[1].fingerprint}.npz").unlink()
    again, done = here(runs(trace), folder, keep_outcomes=True)
    assert done == 1
    assert without_times(again) == without_times(kept)
    assert len((folder / "results.csv").read_text().splitlines()) == 5


def test_an_outcome_reads_back_as_it_was(tmp_path):
    workload = read_workload("generate:philly?jobs=6&gap=1&most-gpus=8")
    outcome = replay(workload, cluster_from("2x4"), "srtf", label="2x4")
    (tmp_path / "one.npz").write_bytes(outcome_bytes(outcome))
    read = load_outcome(tmp_path / "one.npz")
    for name in type(outcome).__slots__:
        if name not in ("jobs", "timeline"):
            assert getattr(read, name) == getattr(outcome, name)
    for part in ("jobs", "timeline"):
        old, new = getattr(outcome, part), getattr(read, part)
        for name in type(old).__slots__:
            if name in ("ids", "tenants"):
                assert getattr(new, name) == getattr(old, name)
            else:
                np.testing.assert_array_equal(getattr(new, name), getattr(old, name), strict=True)


@pytest.mark.parametrize("data", [b"", b"text", b"PK\x03\x04 no zip", None])
def test_a_file_that_is_no_outcome_is_refused(tmp_path, data):
    path = tmp_path / "bad.npz"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=r"bad\.npz"):
        load_outcome(path)
    np.savez(path, words=np.frombuffer(b"{}", dtype=np.uint8))
    with pytest.raises(InputError, match="something else"):
        load_outcome(path)


def test_a_run_that_fails_does_not_keep_others_from_being_done(trace, tmp_path):
    """Without stages there is nothing for muri-s to interleave: its decision cannot be made."""
    gangs = "generate:tiresias?jobs=3&most-gpus=4"
    study = runs(gangs, policies=("srtf", "muri-s", "fifo"), clock="own")
    with pytest.raises(StudyError, match="under muri-s") as failed:
        here(study, tmp_path / "study")
    error = failed.value
    assert [row.run.policy for row in error.rows] == ["srtf", "fifo"]
    ((run, found),) = error.failures
    assert (run.policy, found.cause) == ("muri-s", "policy")
    (saved,) = (tmp_path / "study" / "bad-rounds").rglob("*.json")
    assert str(saved) in found.message
    with (tmp_path / "study" / "results.csv").open() as file:
        assert [row["policy"] for row in csv.DictReader(file)] == ["srtf", "fifo"]
    with pytest.raises(StudyError):
        here(study, tmp_path / "study")


def test_an_error_of_ours_in_one_run_is_said_and_the_rest_is_done(trace, tmp_path, monkeypatch):
    def broken(outcome):
        if outcome.policy == "srsf":
            raise ZeroDivisionError("by zero")
        return summary(outcome)

    monkeypatch.setattr("muri_opt.replay.studies.runs.summary", broken)
    with pytest.raises(StudyError, match="ZeroDivisionError: by zero") as failed:
        here(runs(trace), tmp_path / "study")
    assert len(failed.value.rows) == 3
    assert [found.cause for _, found in failed.value.failures] == ["error"]


@pytest.mark.parametrize("engine", ["here", "processes"])
def test_bad_input_that_only_a_run_can_see_is_raised(trace, tmp_path, engine):
    with pytest.raises(InputError, match="policy of the clock 'muri'"):
        run_study(runs(trace, policies=("srtf", "fifo")), folder=tmp_path / "study", engine=engine)


def test_bad_input_makes_no_folder(trace, tmp_path):
    folder = tmp_path / "study"
    for workload, cluster, said in [(trace, "8x", "'8x'"), ("gone.csv", "1x4", "gone.csv"), (trace, "1x2", "at most")]:
        with pytest.raises(InputError, match=said):
            here(runs(workload, cluster=cluster), folder)
    with pytest.raises(InputError, match="engine"):
        run_study(runs(trace), folder=folder, engine="dask")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy": "fifi"}, "did you mean 'fifo'"),
        ({"policy": "fifo:nods=any"}, "did you mean 'nodes'"),
        ({"method": "exat"}, "did you mean 'exact"),
        ({"clock": "mury"}, "did you mean 'muri'"),
        ({"on_bad": "ignore"}, "on_bad: found 'ignore'"),
        ({"interval": 0.0}, "interval: found 0"),
        ({"interval": float("nan")}, "interval: found nan"),
        ({"seed": -1}, "seed: found -1"),
        ({"round_seconds": float("inf")}, "round_seconds: found inf"),
        ({"clock": "muri", "seed": 1}, "seed: found 1; allowed: 0 with the clock 'muri'"),
        ({"clock": "afs", "interval": 60.0}, "interval: found 60.0; allowed: None with the clock 'afs'"),
        ({"clock": "muri", "method": "exact"}, "method: found 'exact'"),
        ({"clock": "afs", "method": "exact"}, "method: found 'exact'"),
        ({"fast": True, "method": "exact"}, "'heuristic' in a fast replay"),
    ],
)
def test_a_run_that_cannot_be_is_refused(changes, said):
    with pytest.raises(InputError) as refusal:
        StudyRun(**{"workload": "trace.csv", "cluster": "8x8", "policy": "fifo", **changes})
    assert said in str(refusal.value)
