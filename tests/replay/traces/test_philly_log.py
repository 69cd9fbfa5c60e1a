"""Philly's log of jobs: what is kept, what is left out and under which reason, and what is refused."""

from datetime import datetime

import pytest
from trace_writers import attempt, clock, philly_job, philly_text

from muri_opt.errors import InputError
from muri_opt.replay.traces import Attempt, TraceJob, parse_trace, read_trace


def counts(found):
    return {one.reason: (one.count, one.example) for one in found}


def test_all_of_a_job(tmp_path):
    path = tmp_path / "log"
    path.write_text(
        philly_text(
            philly_job(
                attempts=[attempt(60, 100, {"m1": 8, "m2": 4}), attempt(500, 900, {"m3": 12})],
                status="Killed",
            )
        )
    )
    trace = read_trace(path)
    assert trace.epoch == datetime(2017, 10, 9, 7, 0, 0)
    assert trace.jobs == (
        TraceJob(
            id="a1",
            submitted=0.0,
            gpus=12,
            tenant="vision",
            user="u1",
            status="killed",
            attempts=(
                Attempt(start=60.0, end=100.0, placement={"m1": 8, "m2": 4}),
                Attempt(start=500.0, end=900.0, placement={"m3": 12}),
            ),
            duration=840.0,
        ),
    )
    job = trace.jobs[0]
    assert (job.first_start, job.last_end, job.queueing_delay, job.run_time) == (60, 900, 60, 840)
    assert job.service_seconds == 440
    assert [a.seconds for a in job.attempts] == [40, 400]


def test_a_last_attempt_without_an_end_is_running():
    (job,) = parse_trace(philly_text(philly_job(attempts=[attempt(60, None, {"m1": 2})], status="Failed"))).jobs
    assert (job.status, job.duration, job.run_time, job.service_seconds) == ("running", None, None, None)
    assert job.attempts[0].seconds is None


@pytest.mark.parametrize("nothing", [None, "None", "", "null"])
def test_words_for_no_time(nothing):
    raw = attempt(60, 100, {"m1": 2}) | {"end_time": nothing}
    assert parse_trace(philly_text(philly_job(attempts=[raw]))).jobs[0].status == "running"


def test_no_tenant_and_no_user():
    without = {name: value for name, value in philly_job().items() if name not in ("vc", "user")}
    (job, other) = parse_trace(philly_text(without, philly_job(jobid="a2", vc=None, user="None"))).jobs
    assert (job.tenant, job.user, other.tenant, other.user) == (None,) * 4


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"submitted_time": "None"}, "no-submission-time"),
        ({"attempts": []}, "no-attempt"),
        ({"attempts": [attempt(None, 100, {"m1": 1})]}, "no-attempt"),
        ({"attempts": [attempt(60, None, {"m1": 1}), attempt(None, 100, {"m1": 1})]}, "no-attempt"),
        ({"attempts": [attempt(60, 100, {})]}, "no-gpu"),
        ({"attempts": [attempt(60, 100, {"m1": 0})]}, "no-gpu"),
        ({"attempts": [attempt(60, 100, {"m1": 1}), attempt(200, 199, {"m1": 1})]}, "end-before-start"),
        ({"attempts": [attempt(-1, 100, {"m1": 1})]}, "start-before-submission"),
        ({"attempts": [attempt(60, 100, {"m1": 1}), attempt(99, 200, {"m1": 1})]}, "overlapping-attempts"),
        ({"attempts": [attempt(60, None, {"m1": 1}), attempt(59, 200, {"m1": 1})]}, "overlapping-attempts"),
        ({"jobid": "a1"}, "duplicate-id"),
    ],
)
def test_left_out(changes, reason):
    text = philly_text(philly_job(), philly_job(**{"jobid": "bad"} | changes), philly_job(jobid="a3"))
    trace = parse_trace(text)
    name = changes.get("jobid", "bad")
    assert counts(trace.report.left_out) == {reason: (1, f"job 2 ({name})")}
    assert [job.id for job in trace.jobs] == ["a1", "a3"]
    assert (trace.report.rows, trace.report.kept) == (3, 2)


def test_attempts_without_times():
    raw = [
        attempt(None, 50, {"m1": 4}),
        attempt(60, None, {"m1": 2}),
        attempt(70, 100, {"m1": 2}),
        attempt(120, None, {"m1": 2}),
        attempt(None, None, {"m1": 2}),
    ]
    trace = parse_trace(philly_text(philly_job(attempts=raw)))
    (job,) = trace.jobs
    assert counts(trace.report.noted) == {
        "attempt-without-start": (2, "job 1 (a1)"),
        "attempt-without-end": (2, "job 1 (a1)"),
    }
    assert job.gpus == 4  # of the first attempt, with or without its times
    assert [(a.start, a.end) for a in job.attempts] == [(60, None), (70, 100)]
    assert (job.duration, job.status, job.service_seconds) == (40, "passed", None)


def test_what_is_odd_is_kept_and_noted(tmp_path):
    (tmp_path / "machines").write_text("m1,2, 24GB\n")
    (tmp_path / "log").write_text(
        philly_text(
            philly_job(attempts=[attempt(60, 100, {"m1": 1, "m9": 1}), attempt(200, 300, {"m1": 2})]),
            philly_job(jobid="a2", attempts=[attempt(60, 100, {"m1": 3})]),
            philly_job(
                jobid="a3",
                attempts=[attempt(60, 100, {}) | {"detail": [{"ip": "m1", "gpus": ["gpu0", "gpu0"]}]}],
            ),
            philly_job(jobid="a4", status="Lost"),
            philly_job(jobid="a5", status=None),
        )
    )
    trace = read_trace(tmp_path / "log", machines=tmp_path / "machines")
    assert counts(trace.report.noted) == {
        "unlisted-machine": (1, "job 1 (a1) on m9"),
        "too-few-gpus": (1, "job 2 (a2) on m1"),
        "repeated-gpu": (1, "job 3 (a3)"),
        "unknown-status": (2, "job 4 (a4)"),
    }
    assert [a.placement for a in trace.jobs[0].attempts] == [{}, {"m1": 2}]
    assert [job.gpus for job in trace.jobs] == [2, 3, 1, 2, 2]
    assert [job.status for job in trace.jobs] == ["passed"] * 3 + ["unknown"] * 2


def test_a_machine_named_twice_in_an_attempt():
    parts = [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m1", "gpus": ["gpu1"]}, {"ip": "m2", "gpus": []}]
    (job,) = parse_trace(philly_text(philly_job(attempts=[attempt(60, 100, {}) | {"detail": parts}]))).jobs
    assert job.attempts[0].placement == {"m1": 2}


@pytest.mark.parametrize(
    ("changes", "field", "found", "allowed"),
    [
        ({"jobid": 7}, "line 24: job 2.jobid", "'7'", "a string"),
        ({"jobid": ""}, "job 2.jobid", "''", "a name"),
        ({"attempts": {}}, "line 24: job 2 (bad).attempts", "'{}'", "a list"),
        ({"attempts": [3]}, "line 24: job 2 (bad).attempts[0]", "'3'", "an object"),
        ({"submitted_time": 5.5}, "line 24: job 2 (bad).submitted_time", "'5.5'", "a string or null"),
        ({"submitted_time": "soon"}, "job 2 (bad).submitted_time", "'soon'", "a time such as"),
        ({"submitted_time": "2017-W41-1 07:00:00"}, "job 2 (bad).submitted_time", "'2017-W41", "a time such as"),
        ({"submitted_time": "2017-02-30 07:00:00"}, "job 2 (bad).submitted_time", "'2017-02", "a time such as"),
        ({"submitted_time": "1017-02-03 07:00:00"}, "job 2 (bad).submitted_time", "'1017", "from 1990 to 2049"),
        (
            {"attempts": [attempt(60, 100, {"m1": 1}), attempt(200, 300, {"m1": 1}) | {"end_time": "x"}]},
            "job 2 (bad).attempts[1].end_time",
            "'x'",
            "a time such as",
        ),
        (
            {"attempts": [attempt(60, 100, {}) | {"detail": [{"ip": "m1", "gpus": 2}]}]},
            "line 24: job 2 (bad).attempts[0].detail[0].gpus",
            "'2'",
            "a list",
        ),
        (
            {"attempts": [{"start_time": clock(1), "end_time": clock(2)}]},
            "line 24: job 2 (bad).attempts[0].detail",
            "nothing",
            "the field detail",
        ),
    ],
)
def test_mixed_types_and_bad_times_are_refused(changes, field, found, allowed):
    with pytest.raises(InputError) as caught:
        parse_trace(philly_text(philly_job(), philly_job(**{"jobid": "bad"} | changes)))
    assert caught.value.field == field
    assert caught.value.found.startswith(found)
    assert allowed in caught.value.allowed


@pytest.mark.parametrize(
    ("text", "field", "found"),
    [
        ('{"jobs": []}', "file", "'{\"jobs\": []}'"),
        ("[1,\n 2 3]", "job 1", "a number"),
        ("[{]", "line 1, column 3", "text that is not JSON in '[{]'"),
        ("[\n\n[", "job 1", "a list"),
        ('[{"jobid": "a"', "line 1", 'the end of the file inside the JSON, after \'[{"jobid": "a"\''),
        ('[{"jobid": "\\ud800"}]', "line 1", "the end of the file inside the JSON"),
        ("[{}] x", "job 1.jobid", "nothing"),
        ("[] x", "line 1, column 5", "text that is not JSON in '[] x'"),
        ('[{"other": ' + "[" * 100_000, "file", "JSON nested too deep"),
    ],
)
def test_what_is_no_list_of_jobs_is_refused(text, field, found):
    with pytest.raises(InputError) as caught:
        parse_trace(text)
    assert caught.value.field == field
    assert caught.value.found.startswith(found)


def test_too_many_gpus_are_refused(monkeypatch):
    monkeypatch.setattr("muri_opt.replay.traces.philly_json.MAX_GPUS", 3)
    with pytest.raises(InputError, match=r"job 1 \(a1\).attempts\[0\]: found 4 GPUs; allowed: at most 3 GPUs"):
        parse_trace(philly_text(philly_job(attempts=[attempt(60, 100, {"m1": 4})])))


def test_an_empty_list_is_an_empty_trace():
    trace = parse_trace("[]")
    assert (trace.jobs, trace.epoch, trace.report.rows) == ((), None, 0)
