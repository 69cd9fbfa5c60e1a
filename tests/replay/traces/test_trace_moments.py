"""The round of a moment: who is there, who runs and where, and how long each has run and waited."""

import pytest
from hypothesis import given, strategies as st
from trace_writers import attempt, kept_jobs, philly_job, philly_of, philly_text

from muri_opt import Cluster, Limits, Node, Tenant, parse_round, solve_round
from muri_opt.errors import InputError
from muri_opt.replay.traces import EXAMPLES, parse_trace
from muri_opt.rounds import canonical_json

HOUR = 3600.0
CLUSTER = Cluster(nodes=(Node(id="m1", gpus=8), Node(id="m2", gpus=8), Node(id="m3", gpus=2)))


def philly():
    return parse_trace(EXAMPLES["philly"], nodes=CLUSTER.nodes)


def reasons(moment):
    return {one.reason: (one.count, one.example) for one in moment.given_as_waiting}


def test_an_hour_after_the_beginning():
    moment = philly().moment_at(HOUR)
    round_ = moment.round
    assert (round_.name, round_.now) == ("philly/at-3600", HOUR)
    assert {job.id: job.placement for job in round_.jobs} == {
        "application_1": {"m1": 8},
        "application_2": {"m2": 4},
        "application_4": None,
        "application_5": {"m3": 1},
        "application_6": None,
    }
    assert reasons(moment) == {"not-in-cluster": (1, "job application_6")}
    assert [tenant.id for tenant in round_.cluster.tenants] == ["speech", "vision"]
    assert {tenant.quota_gpus for tenant in round_.cluster.tenants} == {None}
    first, second, fourth, fifth = (round_.jobs[round_.job_index[f"application_{k}"]] for k in (1, 2, 4, 5))
    assert (first.state, first.executed_seconds, first.waiting_seconds) == ("running", 59 * 60, 60)
    assert (first.remaining_iterations, first.iteration_seconds) == (7200 - 59 * 60, 1.0)
    assert (first.tenant, first.user, first.submitted, first.restarts) == ("vision", "u1", 0, 0)
    assert (second.executed_seconds, second.waiting_seconds, second.restarts) == (40 * 60, 15 * 60, 1)
    assert second.remaining_iterations == 12_600 - 40 * 60
    assert second.attained_gpu_seconds == 4 * 40 * 60
    assert (fourth.state, fourth.executed_seconds, fourth.waiting_seconds) == ("waiting", 0, 40 * 60)
    assert (fifth.remaining_iterations, fifth.iteration_seconds, fifth.executed_seconds) == (None, None, 1200)


@pytest.mark.parametrize(
    ("seconds", "present"),
    [(0, [1]), (299, [1]), (300, [1, 2]), (7259, [1, 2, 4, 5]), (7260, [2, 4, 5]), (10**6, [5])],
)
def test_jobs_come_with_their_submission_and_leave_with_their_end(seconds, present):
    assert [job.id for job in philly().round_at(seconds).jobs] == [f"application_{k}" for k in present]


def test_a_pause_between_attempts_is_waiting():
    (job,) = (job for job in philly().round_at(40 * 60).jobs if job.id == "application_2")
    assert (job.state, job.executed_seconds, job.waiting_seconds) == ("waiting", 1800, 300)


def test_jobs_without_attempts_are_there_for_their_duration():
    trace = parse_trace(EXAMPLES["philly-csv"])
    (job,) = (job for job in trace.round_at(659, CLUSTER).jobs if job.id == "line-4")
    assert (job.executed_seconds, job.waiting_seconds, job.remaining_iterations, job.restarts) == (0, 59, 120, 0)
    assert "line-4" not in {job.id for job in trace.round_at(720, CLUSTER).jobs}
    assert trace.moment_at(659, CLUSTER).given_as_waiting == ()


def test_pods_run_somewhere():
    trace = parse_trace(EXAMPLES["openb"])
    moment = trace.moment_at(1000, CLUSTER)
    assert reasons(moment) == {"no-placement": (3, "job pod-0")}
    assert moment.round.cluster.tenants == ()
    assert moment.round.jobs[0].memory_gib == 256


def test_a_middle_attempt_without_an_end_counts_no_time():
    raw = [attempt(60, None, {"m1": 2}), attempt(100, 200, {"m1": 2})]
    (job,) = parse_trace(philly_text(philly_job(attempts=raw))).jobs
    assert (job.executed_by(90), job.executed_by(150), job.executed_by(900)) == (0, 50, 100)
    assert job.attempt_at(90) is None
    assert job.attempt_at(150) == job.attempts[1]
    assert job.attempt_at(200) is None


def test_no_room_and_other_gpus():
    log = philly_text(
        philly_job(attempts=[attempt(0, 100, {"m1": 6})]),
        philly_job(jobid="a2", attempts=[attempt(0, 100, {"m1": 3})]),
        philly_job(jobid="a3", attempts=[attempt(0, 1, {"m1": 1}), attempt(2, 100, {"m1": 2})]),
        philly_job(jobid="a4", attempts=[attempt(0, 100, {"m1": 2})]),
    )
    moment = parse_trace(log).moment_at(50, CLUSTER)
    assert reasons(moment) == {"other-gpus": (1, "job a3"), "no-room": (1, "job a2")}
    assert [job.state for job in moment.round.jobs] == ["running", "waiting", "waiting", "running"]


def test_quotas_and_racks():
    round_ = philly().round_at(HOUR, quotas={"vision": 18}, racks={"r1": ["m1", "m2"], "r2": {"m3"}})
    assert round_.cluster.tenants == (Tenant(id="speech"), Tenant(id="vision", quota_gpus=18))
    assert [node.rack for node in round_.cluster.nodes] == ["r1", "r1", "r2"]
    assert [node.rack for node in philly().round_at(0, racks={"r1": ["m2"]}).cluster.nodes] == [None, "r1", None]
    given_tenants = Cluster(nodes=CLUSTER.nodes, tenants=(Tenant(id="vision", quota_gpus=4), Tenant(id="other")))
    assert philly().round_at(0, given_tenants, quotas={"other": 3}).cluster.tenants == (
        Tenant(id="vision", quota_gpus=4),
        Tenant(id="other", quota_gpus=3),
        Tenant(id="speech"),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seconds": -1}, "seconds: found -1; allowed: a finite number"),
        ({"seconds": float("nan")}, "seconds: found nan"),
        ({"seconds": "1"}, "seconds: found '1'"),
        ({"cluster": 8}, "cluster: found 8; allowed: a Cluster"),
        ({"quotas": {"vision": 19}}, "quotas[vision]: found 19 GPUs; allowed: at most the 18 GPUs of the cluster"),
        ({"quotas": {"vison": 1}}, "quotas: found 'vison' (did you mean 'vision'?)"),
        ({"quotas": {"vision": -1}}, "quotas[vision]: found -1"),
        ({"quotas": 3}, "quotas: found 3; allowed: a mapping"),
        ({"racks": {"r1": []}}, "racks[r1]: found no node; allowed: at least one node"),
        ({"racks": {"r1": ["m8"]}}, "racks[r1]: found 'm8'; allowed: a node of the cluster: m1, m2, m3"),
        ({"racks": {"r1": ["m1"], "r2": ["m1"]}}, "racks[r2]: found 'm1', in rack 'r1' already"),
        ({"racks": {"r1": "m1"}}, "racks[r1]: found 'm1'; allowed: a list"),
        ({"racks": {"r1": [["m1"]]}}, "racks[r1]: found ['m1']; allowed: a string"),
        ({"racks": {7: ["m1"]}}, "rack: found 7; allowed: a string"),
    ],
)
def test_bad_moments(options, message):
    with pytest.raises(InputError) as caught:
        philly().round_at(**{"seconds": HOUR} | options)
    assert message in str(caught.value)


def test_a_trace_without_machines_needs_a_cluster():
    with pytest.raises(InputError, match="cluster: found no machine in the trace; allowed: a list of machines"):
        parse_trace(EXAMPLES["philly"]).round_at(HOUR)


@pytest.mark.parametrize("name", ["philly", "philly-csv", "openb", "helios"])
def test_policies_decide_the_round(name):
    trace = parse_trace(EXAMPLES[name])
    round_ = trace.round_at(1400, CLUSTER)
    result = solve_round(round_, policy="srtf", method="heuristic", limits=Limits(seconds=5))
    assert result.certificate.feasible
    assert result.decision.assignments


@given(kept_jobs(("passed",), placed=True), st.integers(0, 600_000))
def test_every_round_is_a_round(jobs, seconds):
    cluster = Cluster(nodes=(Node(id="m1", gpus=64), Node(id="m2", gpus=64)))
    trace = parse_trace(philly_of(jobs))
    moment = trace.moment_at(seconds, cluster)
    assert parse_round(canonical_json(moment.round)) == moment.round
    by_id = {job.id: job for job in trace.jobs}
    running = 0
    for job in moment.round.jobs:
        source = by_id[job.id]
        assert job.executed_seconds + job.waiting_seconds == seconds - source.submitted
        if job.remaining_iterations is not None:
            assert job.remaining_iterations == max(1, source.service_seconds - job.executed_seconds)
        if job.state == "running":
            running += 1
            assert source.attempt_at(seconds).placement == job.placement
    covered = sum(by_id[job.id].attempt_at(seconds) is not None for job in moment.round.jobs)
    assert covered == running + sum(one.count for one in moment.given_as_waiting)
