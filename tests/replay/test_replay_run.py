"""What ``replay()`` is told: clocks, methods, functions as policies, bad decisions, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs
from replay_watch import cluster_of, job, work_of

from muri_opt import Assignment, Decision, Limits, Node, Plan, Round, Tenant, solve_round
from muri_opt.errors import InputError
from muri_opt.replay.engine import engine as engine_module
from muri_opt.replay.engine.bad_decisions import ReplayError
from muri_opt.replay.engine.failures import Failures
from muri_opt.replay.run import replay
from muri_opt.rounds import Cluster, Waiting, WaitingReason, read_round
from muri_opt.systems import policy_from
from muri_opt.systems.gangs import GangPolicy

TWO = work_of(job("a", 0, 10), job("b", 2, 5))
ONE_GPU = cluster_of(1)


def wait(name: str) -> Waiting:
    return Waiting(job=name, reason=WaitingReason.CAPACITY, detail="", remedy="")


def first_listed(round_: Round) -> Decision:
    """Run the first job of the round on one GPU of the first node."""
    first, *others = round_.jobs
    alone = Assignment(jobs=(first.id,), gpus={"n0": 1}, period_seconds=first.iteration_seconds)
    return Decision(assignments=(alone,), waiting=tuple(wait(other.id) for other in others))


def overfull(round_: Round) -> Decision:
    """Run all jobs on the first node, however small it is."""
    return Decision(
        assignments=tuple(
            Assignment(jobs=(one.id,), gpus={"n0": one.gpus}, period_seconds=one.iteration_seconds)
            for one in round_.jobs
        )
    )


def nothing(round_: Round) -> Decision:
    return Decision(waiting=tuple(wait(one.id) for one in round_.jobs))


def always(given: object):
    def function(round_: Round) -> object:
        return given

    return function


def test_any_function_can_be_the_policy():
    found = replay(TWO, ONE_GPU, first_listed)
    assert found.policy == "test_replay_run:first_listed"
    assert found.jobs.ended.tolist() == [10.0, 15.0]


def test_a_policy_can_be_given_as_an_object():
    found = replay(TWO, ONE_GPU, policy_from("srtf"))
    assert (found.policy, found.jobs.ended.tolist()) == ("srtf", [15.0, 7.0])


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_rounds_can_be_solved_exactly(method):
    work = work_of(job("a", 0, 4, 2), job("b", 0, 6, 2), job("c", 0, 3, 1))
    found = replay(work, cluster_of(3), "fifo", method=method, limits=Limits(seconds=600), seed=3)
    assert found.jobs.ended.tolist() == [4.0, 10.0, 3.0]
    assert found.seed == 3


@pytest.mark.parametrize("clock", ["muri", "afs"])
def test_clocks_of_the_authors_are_found_by_name(clock):
    work = work_of(
        job("a", 0, 100, stage_seconds=(0.0, 0.5, 0.5, 0.0), scaling={1: 1.0}),
        job("b", 2, 5, stage_seconds=(0.0, 0.5, 0.5, 0.0), scaling={1: 1.0}),
    )
    found = replay(work, ONE_GPU, "srtf", clock=clock, label="small")
    assert (found.clock, found.cluster) == (clock, "small")
    assert found.jobs.ended[1] < found.jobs.ended[0]
    with pytest.raises(InputError, match="the text of a policy"):
        replay(work, ONE_GPU, first_listed, clock=clock)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"clock": "wall"}, "clock"),
        ({"on_bad": "laugh"}, "on_bad"),
        ({"interval": 0.0}, "interval"),
        ({"launch_seconds": -1.0}, "launch_seconds"),
        ({"restart_seconds": -1.0}, "restart_seconds"),
        ({"verify_as": "magic"}, "policy"),
    ],
)
def test_settings_are_checked(settings, field):
    with pytest.raises(InputError) as caught:
        replay(TWO, ONE_GPU, first_listed, **settings)
    assert caught.value.field == field


UNHEEDED = {
    "method": "exact",
    "interval": 60.0,
    "verify": False,
    "verify_as": "muri-s",
    "on_bad": "count",
    "failures": Failures(jobs={}),
    "launch_seconds": 1.0,
    "restart_seconds": 1.0,
    "rack_speed": 0.5,
    "any_speed": 0.5,
    "fast": True,
}


@pytest.mark.parametrize("clock", ["muri", "afs"])
@pytest.mark.parametrize("field", UNHEEDED)
def test_what_a_clock_of_the_authors_does_not_know_is_refused(clock, field):
    with pytest.raises(InputError, match=f"with the clock '{clock}'") as caught:
        replay(TWO, ONE_GPU, "srtf", clock=clock, **{field: UNHEEDED[field]})
    assert caught.value.field == field


def test_a_seed_where_nothing_is_left_to_chance_and_a_method_where_nothing_is_solved_are_refused():
    with pytest.raises(InputError, match="seed: found 1; allowed: 0 with the clock 'muri'"):
        replay(TWO, ONE_GPU, "srtf", clock="muri", seed=1)
    with pytest.raises(InputError, match="method: found 'exact'; allowed: 'heuristic' in a fast replay"):
        replay(TWO, ONE_GPU, "srtf", fast=True, method="exact")


def test_a_function_is_not_fast_and_a_large_job_is_refused():
    with pytest.raises(InputError, match="fast replay"):
        replay(TWO, ONE_GPU, first_listed, fast=True)
    with pytest.raises(InputError, match="at most the 1 GPUs"):
        replay(work_of(job("a", 0, 1, 2)), ONE_GPU, "fifo")


def test_a_decision_that_breaks_rules_stops_the_replay_and_is_saved(tmp_path):
    with pytest.raises(ReplayError) as caught:
        replay(TWO, ONE_GPU, overfull, save=tmp_path / "bad")
    assert "at 2 s, round 2" in str(caught.value)
    assert "gpu-capacity (n0): 2 GPUs in use; the node has 1" in str(caught.value)
    assert caught.value.round_file == tmp_path / "bad" / "round-2.json"
    assert str(caught.value.round_file) in str(caught.value)
    saved = read_round(caught.value.round_file)
    assert overfull(saved) == Decision(
        assignments=tuple(Assignment(jobs=(name,), gpus={"n0": 1}, period_seconds=1.0) for name in "ab")
    )
    first, second = saved.jobs
    assert (saved.now, first.state, first.placement, second.state) == (2.0, "running", {"n0": 1}, "waiting")
    assert (first.remaining_iterations, first.executed_seconds, first.attained_gpu_seconds) == (8, 2.0, 2.0)


def test_an_error_of_the_policy_stops_the_replay_and_is_saved(tmp_path):
    def angry(round_: Round) -> Decision:
        raise ZeroDivisionError("no idea")

    with pytest.raises(ReplayError, match="raised ZeroDivisionError: no idea") as caught:
        replay(TWO, ONE_GPU, angry, save=tmp_path)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert len(read_round(tmp_path / "round-1.json").jobs) == 1
    with pytest.raises(ReplayError) as caught:
        replay(TWO, ONE_GPU, angry)
    assert caught.value.round_file is None


def test_a_policy_that_refuses_the_round_is_named():
    with pytest.raises(ReplayError, match=r"policy 'muri-s' raised InputError: .*stage_seconds"):
        replay(TWO, ONE_GPU, "muri-s")


def test_bad_decisions_can_be_counted_and_placements_stay(tmp_path):
    found = replay(TWO, ONE_GPU, overfull, on_bad="count", save=tmp_path)
    # Alone, each job may run; while both are there, the one that has the GPU keeps it.
    assert found.jobs.ended.tolist() == [10.0, 15.0]
    assert found.counted == 1
    assert [path.name for path in tmp_path.iterdir()] == ["round-2.json"]
    assert replay(TWO, ONE_GPU, "fifo", on_bad="count").counted == 0


@pytest.mark.parametrize(
    ("gpus", "jobs", "told"),
    [
        ({"n0": 1}, ("nobody",), "job 'nobody' is not there"),
        ({"moon": 1}, ("a",), "node 'moon' is not there"),
        ({"n0": 2}, ("a",), "nothing says how it runs on 2"),
        ({}, ("a",), "nothing says how it runs on 0"),
        ({"n0": 1}, ("a", "b"), "without a period"),
    ],
)
def test_without_verification_what_cannot_be_carried_out_is_refused(gpus, jobs, told):
    work = work_of(job("a", 0, 10), job("b", 0, 5))
    given = Decision(assignments=(Assignment(jobs=jobs, gpus=gpus),))
    with pytest.raises(ReplayError, match=told):
        replay(work, ONE_GPU, always(given), verify=False)


def test_without_verification_nodes_are_not_overfull_either():
    with pytest.raises(ReplayError, match="at 2 s: node 'n0' has 1 GPUs, and 2 are given"):
        replay(TWO, ONE_GPU, overfull, verify=False)
    with pytest.raises(ReplayError, match="found NoneType; allowed: a Decision"):
        replay(TWO, ONE_GPU, always(None))
    twice = Assignment(jobs=("a",), gpus={"n0": 1})
    with pytest.raises(ReplayError, match="two placements"):
        replay(TWO, cluster_of(4), always(Decision(assignments=(twice, twice))), verify=False)
    plan = Decision(assignments=(Assignment(jobs=("a",), gpus={"n0": 1}, plan="dp"),))
    with pytest.raises(ReplayError, match="no plan 'dp' on 1 GPUs of 1 nodes"):
        replay(TWO, ONE_GPU, always(plan), verify=False)
    with pytest.raises(ReplayError, match="no decision"):
        replay(TWO, ONE_GPU, "fifo", method="exact", limits=Limits(seconds=0.0))


def test_rounds_that_are_proved_are_settled():
    found = replay(TWO, ONE_GPU, "fifo", method="exact", limits=Limits(seconds=60))
    assert found.settled == found.rounds > 0
    assert replay(TWO, ONE_GPU, "fifo").settled == 0
    assert replay(TWO, ONE_GPU, "fifo", fast=True).settled == 0


def test_what_a_solver_returns_is_verified_too():
    class Careless(GangPolicy):
        def decide(self, round_: Round, seed: int) -> Decision:
            return overfull(round_)

    with pytest.raises(ReplayError, match="gpu-capacity"):
        replay(TWO, ONE_GPU, Careless(name="las"), method="heuristic")
    found = replay(TWO, ONE_GPU, Careless(name="las"), method="auto", limits=Limits(seconds=60))
    assert found.jobs.ended.tolist() == replay(TWO, ONE_GPU, "las", method="auto").jobs.ended.tolist()


def test_functions_are_verified_by_the_rules_that_are_named():
    def sharing(round_: Round) -> Decision:
        result = solve_round(round_, "muri-s", "heuristic")
        assert result.decision is not None
        return result.decision

    stages = (0.0, 0.5, 0.5, 0.0)
    work = work_of(job("a", 0, 10, stage_seconds=stages), job("b", 0, 20, stage_seconds=stages))
    assert replay(work, ONE_GPU, sharing, verify_as="muri-s").jobs.ended.tolist() == [15.0, 25.0]
    with pytest.raises(ReplayError, match="group-size"):
        replay(work, ONE_GPU, sharing)


def test_nobody_waits_for_ever(monkeypatch):
    with pytest.raises(ReplayError, match=r"after 2 s: nothing runs or arrives, and 2 wait \('a', 'b'\) for ever"):
        replay(TWO, ONE_GPU, nothing)
    many = work_of(*(job(f"j{at}", 0, 1) for at in range(5)))
    with pytest.raises(ReplayError, match=r"5 wait \('j0', 'j1', 'j2', \.\.\.\) for ever"):
        replay(many, ONE_GPU, nothing)
    monkeypatch.setattr(engine_module, "PATIENCE", 20)
    with pytest.raises(ReplayError, match="20 rounds have changed nothing: 0 jobs run and 2 wait"):
        replay(TWO, ONE_GPU, nothing, interval=5)
    # The two take turns, and a restart takes longer than a turn.
    with pytest.raises(ReplayError, match="20 rounds have changed nothing: 1 jobs run and 1 wait"):
        replay(work_of(job("a", 0, 10), job("b", 0, 10)), ONE_GPU, "las", interval=1, restart_seconds=2)
    assert replay(work_of(job("a", 0, 200)), ONE_GPU, "las", interval=1).rounds == 200
    later = work_of(job("a", 0, 100), job("b", 90, 200))  # there is more work left after 90 s than before
    assert replay(later, ONE_GPU, "las:nodes=fewest", interval=1).rounds == 300


def test_rounds_are_what_a_validated_round_would_be():
    """The jobs are made without the checks of a job: made anew, with them, they are the same."""
    seen: list[Round] = []

    def looking(round_: Round) -> Decision:
        seen.append(round_)
        result = solve_round(round_, "rubick:gate=0", "heuristic")
        assert result.decision is not None
        return result.decision

    plans = (Plan(name="dp1", gpus=1, throughput=1 / 3), Plan(name="dp2", gpus=2, throughput=0.55))
    work = work_of(
        *(
            job(f"j{at}", at / 7, 7 + at, plans=plans, plan="dp1", iteration_seconds=3.0, restart_seconds=at / 3)
            for at in range(6)
        )
    )
    replay(work, cluster_of(1, 2), looking, verify_as="rubick:gate=0")
    assert {one.state for round_ in seen for one in round_.jobs} == {"running", "waiting"}
    for round_ in seen:
        assert tuple(structs.replace(one) for one in round_.jobs) == round_.jobs
        assert all(one.remaining_iterations >= 1 for one in round_.jobs)


def test_another_plan_on_the_same_gpus_is_a_restart():
    plans = tuple(Plan(name=name, gpus=1, throughput=rate) for name, rate in (("slow", 1.0), ("fast", 2.0)))

    def later_fast(round_: Round) -> Decision:
        given = [
            Assignment(jobs=(one.id,), gpus={f"n{at}": 1}, plan="slow" if round_.now < 5 else "fast")
            for at, one in enumerate(round_.jobs)
        ]
        return Decision(assignments=tuple(given))

    work = work_of(job("a", 0, 15, plans=plans, restart_seconds=3), job("b", 5, 10, plans=plans))
    found = replay(work, cluster_of(1, 1), later_fast, verify_as="rubick")
    assert found.jobs.ended.tolist() == [5 + 3 + 5.0, 10.0]
    assert (found.jobs.restarts.tolist(), found.jobs.migrations.tolist()) == ([1, 0], [0, 0])


def test_a_plan_for_cpus_only_makes_progress_without_gpus():
    plans = (Plan(name="cpu-p1-w1", gpus=0, cpus=2, throughput=0.5),)
    cluster = Cluster(nodes=(Node(id="n0", gpus=0, cpus=4),))
    work = work_of(job("a", 0, 10, 0, plans=plans, plan="cpu-p1-w1"))
    found = replay(work, cluster, "aiturbo")
    assert (found.jobs.ended.tolist(), found.jobs.gpu_seconds.tolist()) == ([20.0], [0.0])
    idle = Assignment(jobs=("a",), gpus={"n0": 0})
    with pytest.raises(ReplayError, match="to make progress without GPUs"):
        replay(work, cluster, always(Decision(assignments=(idle,))), verify=False)


def test_tenants_go_through_a_replay_under_philly():
    draw = np.random.default_rng(5)
    tenants = (Tenant(id="t", quota_gpus=4), Tenant(id="u", quota_gpus=4))
    nodes = tuple(Node(id=f"n{at}", gpus=4, rack=f"r{at // 2}") for at in range(2))
    work = work_of(
        *(
            job(
                f"j{at}",
                float(draw.integers(0, 200)),
                int(draw.integers(10, 2000)),
                int(draw.choice([1, 2, 4])),
                tenant="tu"[at % 2],
                restart_seconds=20.0,
            )
            for at in range(14)
        )
    )
    found = replay(work, Cluster(nodes=nodes, tenants=tenants), "philly:backoff=60,migrate=8")
    waited = found.jobs.fairness + found.jobs.fragmentation + found.jobs.capacity
    np.testing.assert_allclose(found.jobs.completion, found.jobs.held + waited, atol=1e-6)
    assert np.isfinite(found.jobs.ended).all()
