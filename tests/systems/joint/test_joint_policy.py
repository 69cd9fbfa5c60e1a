"""The policies: what they refuse, when they ask again, which jobs mix, what stays, and what a move must gain."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from joint_rounds import SPECS, joint_round
from msgspec.structs import replace
from seeds import seed_by_seed

from muri_opt import (
    Cluster,
    Guarantee,
    InputError,
    Job,
    Limits,
    Node,
    Plan,
    RefusalError,
    Round,
    Tenant,
    Together,
    Within,
    policy_from,
    solve_round,
)
from muri_opt.rounds import after
from muri_opt.systems import JobHistory
from muri_opt.verify import broken_rules, decision_value

STAGES = ("storage", "gpu", "network")


def round_of(*jobs, gpus=4, **more):
    return Round(cluster=Cluster(nodes=(Node(id="n0", gpus=gpus),), **more), jobs=jobs, resources=STAGES)


def job(name, **fields):
    return Job(**{"id": name, "gpus": 1, "iteration_seconds": 1.0, "remaining_iterations": 10, **fields})


@pytest.mark.parametrize(
    ("policy", "fields", "field"),
    [
        ("joint-s", {"remaining_iterations": None}, "remaining_iterations"),
        ("joint-s", {"iteration_seconds": None}, "iteration_seconds"),
        ("joint-s", {"iteration_seconds": 0.0}, "iteration_seconds"),
        ("joint-s", {"gpus": 0}, "gpus"),
        ("joint-s", {"stage_seconds": (0.0, 0.0, 0.0)}, "stage_seconds"),
        ("joint-s", {"scaling": {2: 1.0}}, "scaling"),
        ("joint-s", {"gpus": 3, "iteration_seconds": None, "stage_seconds": (1.0,) * 3, "scaling": {1: 1.0}}, "gpus"),
        ("joint-l", {}, "attained_gpu_seconds"),
    ],
)
def test_a_job_that_says_too_little_is_refused_by_name(policy, fields, field):
    with pytest.raises(InputError, match=rf"jobs\[1\] \('b'\)\.{field}"):
        policy_from(policy).decide(round_of(job("a", attained_gpu_seconds=0.0), job("b", **fields)), 0)


def test_a_job_whose_plans_all_break_its_promise_or_need_no_gpu_is_refused():
    slow, idle = Plan(name="p", gpus=1, throughput=1.0), Plan(name="c", gpus=0, cpus=2, throughput=9.0)
    with pytest.raises(InputError, match=r"jobs\[0\] \('a'\)\.plans"):
        policy_from("joint-s").check(round_of(job("a", plans=(slow, idle), guarantee=Guarantee(throughput=2.0))))


@pytest.mark.parametrize("text", ["joint-s:group=5", "joint-s:sharing=free", "joint-s:horizon=0", "joint-s:kappa=-1"])
def test_settings_that_are_not_allowed_are_refused(text):
    with pytest.raises(InputError):
        policy_from(text)


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("joint-s:power=1", "power"),
        ("joint-l:samples=120", "samples"),
        ("joint-s:kappa=2,power=1,weights=pow", "kappa"),
        ("joint-l:horizon=60,restarts=ignore", "horizon"),
        ("joint-s:again=60", "again"),
    ],
)
def test_settings_that_would_change_nothing_are_refused_by_name(text, setting):
    with pytest.raises(InputError, match=setting):
        policy_from(text)


def test_a_place_that_is_only_preferred_is_refused():
    nodes = (Node(id="n0", gpus=4, rack="r"),)
    wish = job("a", within=Within(level="rack", required=False))
    with pytest.raises(RefusalError, match=r"within\.required"):
        solve_round(Round(cluster=Cluster(nodes=nodes), jobs=(wish,)), "joint-s", "heuristic")


def test_where_stops_cost_a_running_job_is_not_stopped_for_one_that_is_worth_little_more():
    runs = {"state": "running", "placement": {"n0": 1}, "restart_seconds": 260.0}
    left = {"longer": 1100, "shorter": 1000, "long": 9000}
    longer, shorter, long = (job(name, remaining_iterations=count) for name, count in left.items())
    jobs = [replace(longer, **runs), shorter, long]
    served = {}
    for restarts in ("pay", "stops"):
        decision = policy_from(f"joint-s:restarts={restarts}").decide(round_of(*jobs, gpus=1), 0)
        (served[restarts],) = (one.jobs for one in decision.assignments)
    # worth 2 and 3 jobs: going on saves 260 of 600 seconds, but 2 x 860 / 600 is less than 3
    assert served == {"pay": ("shorter",), "stops": ("shorter",)}
    more = [*jobs, *(job(f"more{k}", remaining_iterations=9900) for k in range(3))]
    decision = policy_from("joint-s:restarts=stops").decide(round_of(*more, gpus=1), 0)
    assert [one.jobs for one in decision.assignments] == [("longer",)]  # 5 x 860 / 600 is more than 6


def test_measured_rates_are_refused_as_they_do_not_say_on_how_many_gpus():
    said = {"stage_seconds": (0.5, 0.2, 0.3), "attained_gpu_seconds": 0.0}
    round_ = round_of(job("a", model="x", **said), job("b", model="y", **said))
    measured = replace(round_, together=(Together(models=("x", "y"), rates=(0.9, 0.8)),), format="muri-opt/round/2")
    for policy in ("joint-s", "joint-l"):
        with pytest.raises(RefusalError, match=r"round\.together.*muri-s:run=free"):
            solve_round(measured, policy, "heuristic")


def test_where_lengths_are_guesses_chance_is_usual_and_stops_are_everywhere():
    usual = policy_from("joint-l")
    assert usual == policy_from("joint-l:weights=chance,restarts=stops")
    assert policy_from("joint-s") == policy_from("joint-s:weights=rank,restarts=stops")
    assert (usual.spec, usual.rules["weights"], usual.rules["restarts"]) == ("joint-l", "chance", "stops")
    by_rank = policy_from("joint-l:weights=rank,restarts=pay")
    assert by_rank.spec == "joint-l:restarts=pay,weights=rank"
    assert by_rank.rules == {**policy_from("joint-s:restarts=pay").rules, "lengths": "attained"}
    assert policy_from("joint-s:restarts=pay").spec == "joint-s:restarts=pay"


def test_only_unknown_lengths_ask_again():
    none = JobHistory(gpus=np.zeros(0, dtype=np.int64), attained=np.zeros(0), executed=np.zeros(0), waited=np.zeros(0))
    assert policy_from("joint-s").wakes(none, none) == inf
    assert policy_from("joint-l:again=60").wakes(none, none) == 60


def test_jobs_of_every_kind_mix_in_one_round():
    stages = {"stage_seconds": (0.5, 0.2, 0.3)}
    curve = {"scaling": {1: 1.0, 2: 1.9, 4: 3.5}}
    jobs = (
        job("gpus-only"),
        job("stages", **stages),
        job("curve", **curve),
        job("both", **stages, **curve),
        job("two", gpus=2, stage_seconds=(0.1, 0.6, 0.3)),
        job("plans", plans=(Plan(name="dp1", gpus=1, throughput=1.0), Plan(name="dp3", gpus=3, throughput=2.5))),
    )
    round_ = round_of(*jobs, gpus=4)
    result = solve_round(round_, "joint-s", "auto", Limits(seconds=None))
    assert result.certificate.feasible
    assert result.value == result.bound
    for one in result.decision.assignments:
        assert len(one.jobs) == 1 or not {"gpus-only", "curve", "plans"} & set(one.jobs)
        assert (one.plan is not None) == (one.jobs == ("plans",))


@seed_by_seed(24, 60)
def test_decisions_keep_every_rule_and_are_worth_no_less_than_going_on(seed):
    round_, policy = joint_round(seed, most_jobs=9), policy_from(SPECS[seed % len(SPECS)])
    decision = policy.decide(round_, 0)
    assert not broken_rules(round_, policy.rules, decision)
    then = after(round_, decision)
    again = policy.decide(then, 0)
    assert decision_value(then, policy.rules, again) >= decision_value(then, policy.rules, decision)


def test_a_job_moves_only_where_that_gains_more_than_its_restart():
    grows = {"scaling": {1: 1.0, 2: 1.2}, "state": "running", "placement": {"n0": 1}}
    for policy, restart, left, gpus in (
        ("joint-s", 10.0, 9000, 2),
        ("joint-s", 400.0, 9000, 1),
        ("joint-s", 10.0, 10, 1),  # it would end after 18 s instead of 10
        ("joint-s", 10.0, 61, 2),  # after 10 + 61 / 1.2 = 60.8 s
        ("joint-s", 10.0, 59, 1),  # it would end after 59.2 s
        ("joint-s:horizon=49", 10.0, 61, 1),
        ("joint-s", 60.0, 10, 1),
        ("joint-s:restarts=pay", 10.0, 9000, 2),
        ("joint-s:restarts=pay", 400.0, 9000, 1),
        ("joint-s:restarts=pay", 10.0, 73, 2),  # in the 73 / 1.2 s that it needs at best it does more all the same
        ("joint-s:restarts=pay", 10.0, 71, 1),
        ("joint-s:restarts=pay,horizon=59", 10.0, 73, 1),
        ("joint-s:restarts=ignore", 400.0, 10, 2),
    ):
        grown = job("a", restart_seconds=restart, remaining_iterations=left, **grows)
        (one,) = policy_from(policy).decide(round_of(grown, gpus=2), 0).assignments
        assert dict(one.gpus) == {"n0": gpus}, (policy, restart, left)


def test_a_job_whose_restart_is_too_short_to_count_goes_on_where_that_is_worth_as_much():
    equal = {"gpus": 1, "scaling": {1: 4.0, 2: 4.0}, "iteration_seconds": 1.0, "attained_gpu_seconds": 0.0}
    runs = Job(id="runs", **{**equal, "gpus": 2}, state="running", placement={"n0": 2})
    round_ = Round(
        cluster=Cluster(nodes=(Node(id="n0", gpus=2), Node(id="n1", gpus=1))), jobs=(Job(id="new", **equal), runs)
    )
    for spec in ("joint-l", "joint-l:weights=rank", "joint-l:restarts=pay"):
        decision = policy_from(spec).decide(round_, 0)
        assert {one.jobs: dict(one.gpus) for one in decision.assignments} == {("new",): {"n1": 1}, ("runs",): {"n0": 2}}


def test_quotas_cpus_and_memory_are_kept():
    tenants = (Tenant(id="t", quota_gpus=2),)
    nodes = (Node(id="n0", gpus=4, cpus=4, memory_gib=8), Node(id="n1", gpus=4, cpus=4, memory_gib=8))
    curve = {1: 1.0, 8: 6.0}
    jobs = tuple(
        job(f"j{k}", tenant="t" if k % 2 else None, cpus=2, memory_gib=2, scaling=curve, remaining_iterations=k + 1)
        for k in range(6)
    )
    round_ = Round(cluster=Cluster(nodes=nodes, tenants=tenants), jobs=jobs, resources=STAGES)
    policy = policy_from("joint-s")
    decision = policy.decide(round_, 0)
    assert not broken_rules(round_, policy.rules, decision)
    assert sum(sum(one.gpus.values()) for one in decision.assignments) == 4  # two CPUs with each


def test_nothing_there_is_decided_as_nothing():
    assert policy_from("joint-s").decide(round_of(), 0).assignments == ()
    waits = policy_from("joint-s").decide(round_of(job("a"), gpus=0), 0)
    assert [wait.job for wait in waits.waiting] == ["a"]


def test_a_job_larger_than_the_cluster_waits():
    decision = policy_from("joint-s").decide(round_of(job("a", gpus=9), job("b")), 0)
    assert [wait.job for wait in decision.waiting] == ["a"]
    assert replace(decision, waiting=()).running == {"b"}


def test_what_may_not_be_touched_goes_on_and_what_may_not_start_waits():
    nodes = (Node(id="n0", gpus=2), Node(id="n1", gpus=2, state="drain"), Node(id="n2", gpus=2, state="down"))
    stages = {"stage_seconds": (0.5, 0.2, 0.3), "remaining_iterations": 10}
    runs = {"state": "running", "gpus": 1}
    jobs = (
        Job(id="fixed", placement={"n0": 1}, preemptible=False, **runs, **stages),
        Job(id="beside", placement={"n0": 1}, preemptible=False, **runs, **stages),
        Job(id="draining", placement={"n1": 1}, **runs, **stages),
        Job(id="lost", placement={"n2": 1}, **runs, **stages),
        Job(id="held", gpus=1, held="asked", **stages),
        Job(id="later", gpus=1, not_before=1e6, **stages),
        Job(id="waits", gpus=1, **stages),
    )
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=jobs, resources=STAGES)
    for group in "41":
        result = solve_round(round_, f"joint-s:group={group}", "auto", Limits(seconds=None))
        assert result.certificate.feasible
        assert {"fixed", "beside", "draining"} <= result.decision.running
        reasons = {wait.job: wait.reason for wait in result.decision.waiting}
        assert (reasons["held"], reasons["later"]) == ("held", "not-before")
        assert not {"n1", "n2"} & {
            node for one in result.decision.assignments for node in one.gpus if one.jobs != ("draining",)
        }


def test_four_jobs_share_where_there_are_four_stages():
    stages = [(1.0, 0.01, 0.01, 0.01), (0.01, 1.0, 0.01, 0.01), (0.01, 0.01, 1.0, 0.01), (0.01, 0.01, 0.01, 1.0)]
    jobs = tuple(
        Job(id=f"j{at}", gpus=1, stage_seconds=some, remaining_iterations=100) for at, some in enumerate(stages)
    )
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=jobs, resources=tuple("abcd"))
    for method in ("heuristic", "auto"):
        result = solve_round(round_, "joint-s:group=4", method, Limits(seconds=None))
        assert [sorted(one.jobs) for one in result.decision.assignments] == [["j0", "j1", "j2", "j3"]]
