"""Optimus with parameter servers on rounds worked out by hand, and what it keeps on any round."""

from __future__ import annotations

import pytest
from configuration_rounds import configuration_rounds, counts, is_known, job, plan, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from plan_rounds_for_policies import faults

from muri_opt import Node, Round
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions


def placed(round_: Round, policy: str = "optimus-ps") -> dict[str, tuple[str, list[str]]]:
    """Return configuration and nodes of each job that runs."""
    decision = policy_from(policy).decide(round_, 0)
    assert faults(round_, policy_from(policy).plan_rules, decision) == []
    return {one.jobs[0]: (one.plan, list(one.gpus)) for one in decision.assignments}


def given_(round_: Round, policy: str = "optimus-ps") -> dict[str, str]:
    return {name: at for name, (at, _) in placed(round_, policy).items()}


def test_one_server_and_one_worker_each_in_the_order_of_arrival() -> None:
    """Three CPUs each of eight: two jobs start, though the third has most to do, and two CPUs are left for tasks."""
    jobs = [
        job(f"j{j}", {"cpu-p1-w1": 1.0, "cpu-p2-w1": 1.1}, submitted=float(-j % 3), remaining_iterations=10 ** (j + 1))
        for j in range(3)
    ]
    assert given_(round_of([(0, 8.0)], *jobs)) == {"j0": "cpu-p2-w1", "j2": "cpu-p2-w1"}
    assert given_(round_of([(0, 6.0)], *jobs)) == {"j0": "cpu-p1-w1", "j2": "cpu-p1-w1"}


def test_the_task_that_saves_most_by_its_size_is_added() -> None:
    """A worker of two CPUs saves 50 of 100 seconds, a server of one CPU 16.7: 25 and 16.7 for a CPU."""
    speeds = {"cpu-p1-w1": 1.0, "cpu-p1-w2": 2.0, "cpu-p2-w1": 1.2}
    assert given_(round_of([(0, 5.0)], job("a", speeds))) == {"a": "cpu-p1-w2"}
    # a server that saves 37.5 is better
    assert given_(round_of([(0, 5.0)], job("a", speeds | {"cpu-p2-w1": 1.6}))) == {"a": "cpu-p2-w1"}


def test_of_equal_gains_the_server_comes_first_and_then_the_earlier_job() -> None:
    """Of 12 seconds a worker saves 8 for two CPUs, a server 4 for one."""
    speeds = {"cpu-p1-w1": 0.25, "cpu-p1-w2": 0.75, "cpu-p2-w1": 0.375}
    assert given_(round_of([(0, 5.0)], job("a", speeds, remaining_iterations=3))) == {"a": "cpu-p2-w1"}
    both = [job(name, {"cpu-p1-w1": 1.0, "cpu-p2-w1": 2.0}) for name in "ab"]
    assert given_(round_of([(0, 7.0)], *both)) == {"a": "cpu-p2-w1", "b": "cpu-p1-w1"}


def test_the_first_choice_that_does_not_fit_ends_it() -> None:
    """One CPU is left: the worker of a does not fit, and the server of b, which would, is never asked for."""
    a, b = job("a", {"cpu-p1-w1": 1.0, "cpu-p1-w2": 4.0}), job("b", {"cpu-p1-w1": 1.0, "cpu-p2-w1": 1.2})
    assert given_(round_of([(0, 7.0)], a, b)) == {"a": "cpu-p1-w1", "b": "cpu-p1-w1"}
    assert given_(round_of([(0, 9.0)], a, b)) == {"a": "cpu-p1-w2", "b": "cpu-p2-w1"}


def test_tasks_that_gain_nothing_are_not_added() -> None:
    speeds = {"cpu-p1-w1": 1.0, "cpu-p1-w2": 1.0, "cpu-p2-w1": 0.5}
    assert given_(round_of([(0, 20.0)], job("a", speeds))) == {"a": "cpu-p1-w1"}


def test_the_dominant_resource_is_what_the_task_takes_the_largest_part_of() -> None:
    """A GPU worker takes half of the GPUs and saves 30 seconds, a CPU worker a tenth of the CPUs and saves 10.

    By their parts that is 60 and 100, so the CPU job grows first, and takes the last CPUs.
    """
    on_gpus = job("g", {"gpu-p1-w1-s1": 1.0, "gpu-p1-w2-s1": 100 / 70})
    on_cpus = job("c", {"cpu-p1-w1": 1.0, "cpu-p1-w2": 100 / 90})
    assert given_(round_of([(2, 20.0)], on_gpus, on_cpus)) == {"g": "gpu-p1-w2-s1", "c": "cpu-p1-w2"}
    tight = round_of([(2, 7.0)], on_gpus, on_cpus)
    # of seven CPUs a CPU worker takes 2/7: 35 against 60
    assert given_(tight) == {"g": "gpu-p1-w2-s1", "c": "cpu-p1-w1"}


def test_few_tasks_are_placed_first_evenly_on_the_fewest_nodes_with_the_most_free_cpus() -> None:
    """Six CPUs of a fit no node whole, so its servers and workers are halved; b comes first, on the freest node."""
    wide = (plan("cpu-p2-w2", 1.0), plan("cpu-p2-w2", 1.0, nodes=2))
    a, b = job("a", wide, predictable=False), job("b", {"cpu-p1-w1": 1.0})
    assert placed(round_of([(0, 4.0), (0, 5.0), (0, 3.0)], a, b)) == {
        "b": ("cpu-p1-w1", ["n1"]),
        "a": ("cpu-p2-w2", ["n0", "n2"]),
    }
    assert placed(round_of([(0, 4.0), (0, 9.0), (0, 6.0)], a, b)) == {
        "b": ("cpu-p1-w1", ["n1"]),
        "a": ("cpu-p2-w2", ["n1"]),
    }


def test_a_job_that_finds_no_nodes_gives_back_what_it_was_given_last() -> None:
    """The cluster has eight CPUs, no node the five of two workers: back to one."""
    one = job("a", {"cpu-p1-w1": 1.0, "cpu-p1-w2": 2.0})
    two = job("b", {"cpu-p1-w1": 1.0})
    assert placed(round_of([(0, 5.0), (0, 3.0)], one)) == {"a": ("cpu-p1-w2", ["n0"])}
    # b has fewer tasks and takes the freest node
    assert placed(round_of([(0, 5.0), (0, 3.0)], one, two)) == {
        "a": ("cpu-p1-w1", ["n1"]),
        "b": ("cpu-p1-w1", ["n0"]),
    }


def test_kind_and_share_stay_and_unpredictable_jobs_keep_what_they_have() -> None:
    speeds = {"cpu-p1-w1": 1.0, "gpu-p1-w1-s1": 9.0, "gpu-p1-w1-s2": 20.0, "cpu-p1-w2": 1.5}
    room = [(4, 20.0)]
    assert given_(round_of(room, job("a", speeds))) == {"a": "cpu-p1-w2"}
    assert given_(round_of(room, job("a", speeds)), "optimus-ps:switch=on") == {"a": "cpu-p1-w2"}
    assert given_(round_of(room, job("a", speeds, plan="gpu-p1-w1-s1"))) == {"a": "gpu-p1-w1-s1"}
    assert given_(round_of(room, job("a", speeds, predictable=False))) == {"a": "cpu-p1-w1"}


def test_nodes_without_a_limit_and_tasks_that_take_nothing() -> None:
    free = (plan("cpu-p1-w1", 1.0), plan("cpu-p2-w1", 2.0, cpus=3.0), plan("cpu-p3-w1", 3.0, cpus=9.0))
    round_ = round_of([(0, 3.0)], job("a", free))
    assert given_(round_) == {"a": "cpu-p2-w1"}
    open_ = Round(cluster=type(round_.cluster)(nodes=(Node(id="n0", gpus=0),)), jobs=round_.jobs)
    assert given_(open_) == {"a": "cpu-p3-w1"}


def test_a_job_that_can_stay_does_not_restart() -> None:
    held = {"state": "running", "placement": {"n0": 0}, "restart_seconds": 10.0}
    round_ = round_of([(0, 3.0)], job("a", {"cpu-p1-w1": 1.0}, **held))
    policy = policy_from("optimus-ps")
    options = PlanOptions.of(round_, policy.plan_rules)
    (chosen,) = policy.choose(round_, options, 0)
    assert options.home[chosen] == 0


@given(configuration_rounds(jobs=6, nodes=4), st.sampled_from(["optimus-ps", "optimus-ps:switch=on"]))
@more_examples(150)
def test_every_decision_keeps_every_rule(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    decision = policy.decide(round_, 0)
    assert faults(round_, policy.plan_rules, decision) == []
    assert policy.decide(round_, 3) == decision
    for one in decision.assignments:
        job_ = round_.jobs[round_.job_index[one.jobs[0]]]
        assert (one.plan[:3], counts(one.plan)[2]) == (job_.plan[:3], counts(job_.plan)[2])
        assert one.plan == job_.plan or is_known(job_)


@pytest.mark.parametrize("jobs", [200])
def test_many_jobs_are_decided_at_once(jobs: int) -> None:
    speeds = {f"cpu-p{p}-w{w}": p * w / (p + w) for p in range(1, 4) for w in range(1, 4)}
    many = [job(f"j{j}", speeds, remaining_iterations=100 + j) for j in range(jobs)]
    assert len(given_(round_of([(0, 32.0)] * 50, *many))) == jobs
