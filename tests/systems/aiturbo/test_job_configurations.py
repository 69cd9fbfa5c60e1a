"""Names and neighbours of configurations, and a job's plans from a model of its step time."""

from __future__ import annotations

from math import gcd

import pytest
from configuration_rounds import counts
from hypothesis import given, strategies as st

from muri_opt import InputError, Job, Plan
from muri_opt.profiling.job_length import Configuration, CoreEfficiency, GpuShareFactor, StepTime
from muri_opt.profiling.plan_speed import PodNeeds, TaskLimits, configuration_plans
from muri_opt.rounds import JobConfiguration, configurations_of
from muri_opt.verify.plans.next_configurations import tasks_of

STEP = StepTime(
    th0=0.01,
    th1=0.1,
    th23=0.05,
    th4=0.01,
    th5=0.005,
    th6=0.001,
    efficiency=CoreEfficiency(a=-1.0, b=0.8, d=1.0),
    share_factor=GpuShareFactor(b0=0.5, b1=0.0, b2=0.5),
)


def cpu(servers: int, workers: int) -> JobConfiguration:
    return JobConfiguration(kind="cpu", servers=servers, workers=workers)


def gpu(servers: int, workers: int, share: int = 1) -> JobConfiguration:
    return JobConfiguration(kind="gpu", servers=servers, workers=workers, share=share)


@pytest.mark.parametrize(
    ("configuration", "name", "gpus", "service"),
    [
        (cpu(1, 2), "cpu-p1-w2", 0, 15),
        (cpu(10, 12), "cpu-p10-w12", 0, 110),
        (gpu(1, 2), "gpu-p1-w2-s1", 2, 35),
        (gpu(3, 2, 4), "gpu-p3-w2-s4", 8, 105),
    ],
)
def test_a_name_tells_the_configuration(configuration: JobConfiguration, name: str, gpus: int, service: int) -> None:
    assert (configuration.name, configuration.gpus, configuration.service) == (name, gpus, service)
    assert JobConfiguration.of_name(name) == configuration
    assert (tasks_of(name), tasks_of(name).units) == (counts(name), service)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "cpu",
        "dp4",
        "cpu-p1",
        "cpu-p1-w0",
        "cpu-p0-w1",
        "cpu-p01-w1",
        "cpu-p1-w1-s1",
        "gpu-p1-w1",
        "gpu-p1-w1-s0",
        "gpu-p1-w1-s-1",
        "gpu-w1-p1-s1",
        "tpu-p1-w1-s1",
        "gpu-p1-w1-s1@2",
        "gpu-p1-w1-s\N{ARABIC-INDIC DIGIT TWO}",
        "cpu-p1-w1000001",
        "cpu-p1-w" + "9" * 5000,
    ],
)
def test_both_sides_refuse_other_names(name: str) -> None:
    for read in (JobConfiguration.of_name, tasks_of):
        with pytest.raises(InputError) as refused:
            read(name)
        assert refused.value.field == "name"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"workers": 0}, "workers"),
        ({"servers": 0}, "servers"),
        ({"servers": 1.0}, "servers"),
        ({"share": -1}, "share"),
        ({"kind": "gpu"}, "share"),
        ({"share": 1}, "share"),
        ({"kind": "tpu"}, "kind"),
    ],
)
def test_no_worker_negative_shares_and_unknown_kinds_are_refused(fields: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as refused:
        JobConfiguration(**{"kind": "cpu", "servers": 1, "workers": 1, **fields})
    assert refused.value.field == field


def test_a_job_has_at_most_six_neighbours() -> None:
    assert gpu(2, 2, 2).additions(switch=False) == (gpu(3, 2, 2), gpu(2, 3, 2), gpu(2, 2, 3))
    assert gpu(2, 2, 2).removals(switch=True) == (gpu(1, 2, 2), gpu(2, 1, 2), gpu(2, 2, 1))
    assert gpu(1, 1).removals(switch=False) == ()
    assert gpu(1, 1).removals(switch=True) == (cpu(1, 1),)
    assert cpu(1, 2).additions(switch=False) == (cpu(2, 2), cpu(1, 3))
    assert cpu(1, 2).additions(switch=True) == (cpu(2, 2), cpu(1, 3), gpu(1, 2))
    assert cpu(1, 2).removals(switch=True) == (cpu(1, 1),)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_being_neighbours_is_mutual(servers: int, workers: int, share: int, switch: bool) -> None:
    here = JobConfiguration(kind="gpu" if share else "cpu", servers=servers, workers=workers, share=share)
    for more in here.additions(switch=switch):
        assert here in more.removals(switch=switch)
        assert more.service > here.service
    for less in here.removals(switch=switch):
        assert here in less.additions(switch=switch)


def test_plans_are_all_configurations_within_limits_on_nodes_that_divide_them() -> None:
    limits = TaskLimits(servers=4, workers=4, share=2, shares_per_gpu=4, nodes=3)
    needs = PodNeeds(server_cpus=2, cpu_worker_cpus=4, gpu_worker_cpus=0.5, server_memory_gib=1, worker_memory_gib=2)
    plans = configuration_plans(STEP, batch=32, limits=limits, pods=needs)
    found = {(plan.name, plan.nodes) for plan in plans}
    assert len(found) == len(plans)
    assert found == {
        (at.name, nodes)
        for p in range(1, 5)
        for w in range(1, 5)
        for at in (cpu(p, w), gpu(p, w, 1), gpu(p, w, 2))
        for nodes in (1, 2, 3)
        if gcd(p, w) % nodes == 0
    }
    one = {(plan.name, plan.nodes): plan for plan in plans}
    on_cpus, on_gpus = one["cpu-p2-w4", 2], one["gpu-p2-w4-s2", 1]
    assert (on_cpus.gpus, on_cpus.cpus, on_cpus.memory_gib) == (0, 20, 10)
    assert (on_gpus.gpus, on_gpus.cpus, on_gpus.memory_gib) == (8, 6, 10)
    at = Configuration(ps=2, workers=4, cores=4)
    assert on_cpus.throughput == 1 / STEP.seconds_per_step(at, 32)
    at = Configuration(ps=2, workers=4, share=0.5)
    assert on_gpus.throughput == 1 / STEP.seconds_per_step(at, 32)
    Job(id="a", gpus=0, plans=plans)


def test_plans_of_one_kind() -> None:
    plans = configuration_plans(STEP, batch=8, limits=TaskLimits(servers=1, workers=2, kinds=("gpu",)))
    assert [(plan.name, plan.gpus, plan.cpus) for plan in plans] == [("gpu-p1-w1-s1", 1, 6), ("gpu-p1-w2-s1", 2, 7)]


@pytest.mark.parametrize(
    ("make", "fields", "field"),
    [
        (TaskLimits, {"workers": 0}, "workers"),
        (TaskLimits, {"nodes": -1}, "nodes"),
        (TaskLimits, {"share": 2}, "share"),
        (TaskLimits, {"kinds": ()}, "kinds"),
        (TaskLimits, {"kinds": ("tpu",)}, "kinds"),
        (PodNeeds, {"server_cpus": -1.0}, "server_cpus"),
        (PodNeeds, {"worker_memory_gib": float("nan")}, "worker_memory_gib"),
    ],
)
def test_limits_and_needs_that_cannot_be_are_refused(make: type, fields: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as refused:
        make(**fields)
    assert refused.value.field == field


def test_plans_are_read_by_name_and_gpus() -> None:
    plans = (
        Plan(name="cpu-p2-w2", gpus=0, throughput=1.0),
        Plan(name="gpu-p1-w2-s1", gpus=2, throughput=1.0),
        Plan(name="cpu-p2-w2", gpus=0, nodes=2, throughput=1.0),
    )
    assert configurations_of(Job(id="a", gpus=0, plans=plans)) == {
        p.name: JobConfiguration.of_name(p.name) for p in plans
    }
    wrong = Plan(name="gpu-p1-w2-s1", gpus=1, throughput=1.0)
    with pytest.raises(InputError) as refused:
        configurations_of(Job(id="a", gpus=0, plans=(plans[0], wrong)))
    assert (refused.value.field, refused.value.found) == ("plans[1].gpus", "1")
    with pytest.raises(InputError) as refused:
        configurations_of(Job(id="a", gpus=0, plans=(plans[0], Plan(name="dp4", gpus=1, throughput=1.0))))
    assert refused.value.field == "plans[1].name"
